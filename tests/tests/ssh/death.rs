//! Hosts that die, hang, or lose their network in the middle of a script.
use crate::{connect, run};
use std::process::Command;
use std::time::{Duration, Instant};
use tests::sshd::{Setup, Sshd};
use tunerun::transport::{Identity, LinkErrorKind, Script};

fn signal(name: &str, pids: &[u32]) {
    for pid in pids {
        let _ = Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status();
    }
}

#[tokio::test]
async fn a_server_that_dies_in_the_middle() {
    let server = Sshd::start(&Setup::default());
    let host = connect(server.way()).await;
    run(&host, ":").await;
    let script = Script::new("echo begun; sleep 30");
    let begun = Instant::now();
    let (answer, ()) = tokio::join!(host.run(&Identity::Login, &script), async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        signal("KILL", &server.sessions());
    });
    let error = answer.unwrap_err();
    assert!(matches!(*error.kind, LinkErrorKind::Closed(_)), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert!(!host.is_open());
    let error = host.run(&Identity::Login, &Script::new(":")).await.unwrap_err();
    assert!(matches!(*error.kind, LinkErrorKind::Closed(_)), "{error}");
}

#[tokio::test]
async fn a_server_that_hangs_is_found_by_the_keepalive() {
    let server = Sshd::start(&Setup::default());
    let mut way = server.way();
    way.keepalive = Some(Duration::from_millis(300));
    way.keepalive_max = 2;
    let host = connect(way).await;
    run(&host, ":").await;
    let stopped = server.sessions();
    signal("STOP", &stopped);
    let begun = Instant::now();
    let error = host.run(&Identity::Login, &Script::new(":")).await.unwrap_err();
    signal("CONT", &stopped);
    assert!(matches!(*error.kind, LinkErrorKind::Closed(_)), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_shell_that_is_killed_leaves_the_connection() {
    let server = Sshd::start(&Setup::default());
    let host = connect(server.way()).await;
    let error = host.run(&Identity::Login, &Script::new("kill -9 $$; sleep 9")).await.unwrap_err();
    assert!(error.to_string().contains("ended in the middle of a script"), "{error}");
    assert_eq!(run(&host, "exit 4").await.rc, 4);
}

#[tokio::test]
async fn a_time_limit_ends_the_processes_on_the_host() {
    let server = Sshd::start(&Setup::default());
    let host = connect(server.way()).await;
    let script =
        Script::new("sh -c 'trap \"\" TERM; while :; do sleep 1; done'").timeout(Duration::from_millis(500));
    let error = host.run(&Identity::Login, &script).await.unwrap_err();
    let after = Duration::from_millis(500);
    assert_eq!(*error.kind, LinkErrorKind::CommandTimeout { after, ended: true }, "{error}");
    assert_eq!(run(&host, "exit 4").await.rc, 4);
}

#[tokio::test]
async fn dropping_ends_the_sessions_on_the_host() {
    let server = Sshd::start(&Setup::default());
    let host = connect(server.way()).await;
    run(&host, ":").await;
    drop(host);
    let begun = Instant::now();
    while !server.sessions().is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", server.sessions());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn closing_ends_the_sessions_on_the_host() {
    let server = Sshd::start(&Setup::default());
    let host = connect(server.way()).await;
    run(&host, ":").await;
    assert!(!server.sessions().is_empty());
    host.close().await;
    let begun = Instant::now();
    while !server.sessions().is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", server.sessions());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
