//! Hosts that say too much.
use crate::{INTERPRETERS, open, run};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tunerun::transport::{Identity, LinkErrorKind, Script, Stream};

/// Resident memory of this process, in KiB.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_line_of_a_hundred_megabytes_is_cut() {
    for interpreter in INTERPRETERS {
        let host = open(interpreter).await;
        run(&host, ":").await;
        let before = resident();
        let answer =
            run(&host, "head -c 100000000 /dev/zero | tr '\\0' x; s long $?; echo next; s next 0").await;
        let long = answer.section("long").unwrap();
        assert_eq!((long.stdout.total(), long.rc), (100_000_000, Some(0)));
        assert_eq!(long.stdout.dropped(), 100_000_000 - (1 << 20));
        assert_eq!(answer.section("next").unwrap().stdout.text(), "next\n");
        assert!(resident() < before + 20 * 1024, "{} KiB, before {before}", resident());
    }
}

#[tokio::test]
async fn an_endless_stream_ends_by_the_time_limit() {
    let host = open("sh").await;
    let (before, begun) = (resident(), Instant::now());
    let script = Script::new("cat /dev/urandom & cat /dev/urandom >&2").timeout(Duration::from_secs(1));
    let error = host.run(&Identity::Login, &script).await.unwrap_err();
    assert_eq!(*error.kind, LinkErrorKind::CommandTimeout { after: Duration::from_secs(1), ended: true });
    assert!(begun.elapsed() < Duration::from_secs(6));
    assert!(resident() < before + 30 * 1024, "{} KiB, before {before}", resident());
    assert_eq!(run(&host, "exit 5").await.rc, 5, "the next script gets a new shell");
}

#[tokio::test]
async fn output_is_seen_while_it_comes() {
    let host = open("sh").await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let count = Arc::new(AtomicUsize::new(0));
    let (log, first) = (Arc::clone(&seen), Arc::clone(&count));
    let begun = Instant::now();
    let script = Script::new("echo early; sleep 1; echo late >&2").watch(Arc::new(move |stream, bytes| {
        if first.fetch_add(1, Ordering::SeqCst) == 0 {
            assert!(begun.elapsed() < Duration::from_millis(900), "the first line came only at the end");
        }
        log.lock().unwrap().push((stream, bytes.to_vec()));
    }));
    host.run(&Identity::Login, &script).await.unwrap();
    let seen = seen.lock().unwrap();
    assert_eq!(*seen, [(Stream::Out, b"early\n".to_vec()), (Stream::Err, b"late\n".to_vec())]);
}

#[tokio::test]
async fn a_flood_between_frames_does_no_harm() {
    let host = open("sh").await;
    run(&host, "(sleep 0.3; head -c 30000000 /dev/zero) &").await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(run(&host, "echo ok; s a 0").await.section("a").unwrap().stdout.text(), "ok\n");
}
