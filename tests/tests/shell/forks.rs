//! How many processes a frame costs on the host.
use crate::{INTERPRETERS, open, run};
use tunerun::transport::Connection;

/// The number that the next process gets. In a namespace of its own the numbers are in a row.
async fn next_pid(host: &Connection) -> i64 {
    let answer = run(host, "sh -c 'echo $$'").await;
    answer.rest.stdout.text().trim().parse().unwrap_or_else(|_| panic!("{answer:?}"))
}

#[tokio::test]
async fn a_frame_costs_one_fork_and_a_large_one_two() {
    let is_root =
        std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    if !is_root {
        assert!(std::env::var_os("CI").is_none(), "this test needs root, for a pid namespace");
        eprintln!("SKIPPED: counting forks needs root, for a pid namespace");
        return;
    }
    for interpreter in INTERPRETERS {
        let host = open(&format!("unshare --pid --fork --mount-proc {interpreter}")).await;
        let large = format!(": {}", "x".repeat(10_000));
        for (text, forks) in [(":", 1), ("echo a; s a 0; echo b; s b 0", 1), (large.as_str(), 2)] {
            let before = next_pid(&host).await;
            for _ in 0..10 {
                run(&host, text).await;
            }
            // Of the two measurements one is in between: its subshell, and perhaps its program.
            let cost = next_pid(&host).await - before;
            let own = next_pid(&host).await;
            let own = next_pid(&host).await - own;
            assert!(
                cost - own <= 10 * forks,
                "{interpreter}: {} forks for ten frames of {text:.20}",
                cost - own
            );
        }
    }
}
