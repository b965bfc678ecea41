//! Time limits, deaths, callers that go away.
use crate::{INTERPRETERS, open, run};
use std::time::{Duration, Instant};
use tunerun::transport::{Identity, LinkErrorKind, Script};

fn is_alive(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[tokio::test]
async fn a_time_limit_ends_the_processes() {
    for interpreter in INTERPRETERS {
        let host = open(interpreter).await;
        let file = format!("/tmp/tunerun-limit-{}", std::process::id());
        let script =
            Script::new(format!("sh -c 'trap \"\" TERM; echo $$ > {file}; while :; do sleep 1; done'"));
        let error =
            host.run(&Identity::Login, &script.timeout(Duration::from_millis(500))).await.unwrap_err();
        let after = Duration::from_millis(500);
        assert_eq!(*error.kind, LinkErrorKind::CommandTimeout { after, ended: true }, "{interpreter}");
        assert_eq!(error.to_string(), "here (local): timed out after 500ms: its processes were ended");
        let pid = std::fs::read_to_string(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        assert!(!is_alive(pid.trim()), "{interpreter}");
        assert_eq!(run(&host, "exit 3").await.rc, 3, "{interpreter}");
    }
}

#[tokio::test]
async fn a_shell_that_dies_says_so_at_once() {
    for interpreter in INTERPRETERS {
        let host = open(interpreter).await;
        let begun = Instant::now();
        let file = format!("/tmp/tunerun-died-{}", std::process::id());
        let script = format!("sh -c 'echo $PPID' > {file}; echo begun; kill -9 $$; exec sleep 30");
        let script = Script::new(script);
        let error = host.run(&Identity::Login, &script).await.unwrap_err();
        assert!(error.to_string().contains("ended in the middle of a script (ended by signal 9)"), "{error}");
        assert!(begun.elapsed() < Duration::from_secs(5), "{interpreter}");
        let left = std::fs::read_to_string(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        assert_eq!(
            run(&host, &format!("kill -9 {}", left.trim())).await.rc,
            0,
            "{interpreter}: what it left still runs"
        );
        assert_eq!(run(&host, "exit 4").await.rc, 4, "{interpreter}");
    }
}

#[tokio::test]
async fn a_caller_that_goes_away_leaves_no_process_and_no_answer() {
    let host = open("sh").await;
    let file = format!("/tmp/tunerun-gone-{}", std::process::id());
    let script = Script::new(format!("sh -c 'echo $$ > {file}; exec sleep 60'; echo stale"));
    let run_it = host.run(&Identity::Login, &script);
    assert!(tokio::time::timeout(Duration::from_millis(500), run_it).await.is_err());
    let answer = run(&host, "echo fresh").await;
    assert_eq!(answer.rest.stdout.text(), "fresh\n");
    tokio::time::sleep(Duration::from_millis(200)).await;
    let pid = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    assert!(!is_alive(pid.trim()));
}

#[tokio::test]
async fn an_interpreter_that_is_not_there_is_named() {
    let host = open("no-such-shell").await;
    let error = host.run(&Identity::Login, &Script::new(":")).await.unwrap_err();
    assert!(error.to_string().contains("no shell was started (exit status 127)"), "{error}");
    assert!(error.to_string().contains("no-such-shell"), "{error}");
}

#[tokio::test]
async fn a_script_with_a_nul_is_refused() {
    let host = open("sh").await;
    assert!(host.run(&Identity::Login, &Script::new("echo \0")).await.is_err());
    assert_eq!(run(&host, "exit 2").await.rc, 2);
}
