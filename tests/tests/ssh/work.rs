//! Scripts, sections, floods and uploads over SSH.
use crate::{connect, run};
use std::time::Duration;
use tests::sshd::{Setup, Sshd};
use tunerun::transport::shell::word::{emit, literal};
use tunerun::transport::{Identity, LinkErrorKind, Script};

#[tokio::test]
async fn a_hundred_sections_are_one_round_trip() {
    let server = Sshd::start(&Setup::default());
    let host = connect(server.way()).await;
    run(&host, ":").await;
    let before = host.tally();
    let text: String = (0..100).map(|at| format!("echo o{at}; echo e{at} >&2; s t{at} {at}\n")).collect();
    let answer = run(&host, &text).await;
    assert_eq!(answer.sections.len(), 100);
    for (at, section) in answer.sections.iter().enumerate() {
        assert_eq!(section.stdout.text(), format!("o{at}\n"));
        assert_eq!(section.stderr.text(), format!("e{at}\n"));
    }
    assert_eq!(host.tally().round_trips - before.round_trips, 1);
    assert_eq!(host.tally().channels, 1);
}

#[tokio::test]
async fn values_survive() {
    let server = Sshd::start(&Setup::default());
    let host = connect(server.way()).await;
    let all: Vec<u8> = (0..=255).cycle().take(200_000).collect();
    let text = format!(
        "b v; {}; s v $?; b w; printf %s {}; s w $?",
        emit(&all),
        literal(b"a'\n$(x)\xff\n").unwrap()
    );
    let answer = run(&host, &text).await;
    assert!(answer.sections[0].stdout.complete().unwrap() == all);
    assert_eq!(answer.sections[1].stdout.complete().unwrap(), b"a'\n$(x)\xff\n");
}

#[tokio::test]
async fn floods_on_one_shell_leave_the_others_alone() {
    let server = Sshd::start(&Setup::default());
    let host = connect(server.way()).await;
    let flood = Script::new("head -c 100000000 /dev/zero; s f $?; cat /dev/urandom >&2")
        .timeout(Duration::from_secs(4));
    let quiet = Identity::sudo("root");
    let (flooded, answers) = tokio::join!(host.run(&Identity::Login, &flood), async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let mut answers = Vec::new();
        for _ in 0..5 {
            answers.push(host.run(&quiet, &Script::new("echo fine")).await.unwrap().rest.stdout.text());
        }
        answers
    });
    assert_eq!(answers, ["fine\n"; 5]);
    let error = flooded.unwrap_err();
    assert_eq!(
        *error.kind,
        LinkErrorKind::CommandTimeout { after: Duration::from_secs(4), ended: true },
        "{error}"
    );
    assert_eq!(run(&host, "exit 3").await.rc, 3);
}

#[tokio::test]
async fn uploads_arrive_whole() {
    let server = Sshd::start(&Setup::default());
    let host = connect(server.way()).await;
    let path = server.folder.join("up 'load");
    let bytes: Vec<u8> = (0..5_000_000u32).map(|at| u8::try_from(at % 253).unwrap()).collect();
    let name = path.to_string_lossy().into_owned();
    host.upload(&Identity::Login, name.as_bytes(), bytes.clone(), None).await.unwrap();
    assert!(std::fs::read(&path).unwrap() == bytes);
    let error = host.upload(&Identity::Login, b"/dev/full", bytes, None).await.unwrap_err().to_string();
    assert!(error.contains("No space left on device"), "{error}");
}

#[tokio::test]
async fn more_shells_than_the_host_allows_wait_their_turn() {
    let server = Sshd::start(&Setup::default());
    let host = connect(server.way()).await;
    let uploads = (0..20).map(|at| {
        let path = format!("{}/part{at}", server.folder.display());
        let host = &host;
        async move { host.upload(&Identity::Login, path.as_bytes(), vec![7; 300_000], None).await }
    });
    let mut pending: Vec<_> = uploads.map(Box::pin).collect();
    // All at once, without a crate for it: poll them in turn until none is left.
    std::future::poll_fn(|cx| {
        pending.retain_mut(|upload| match upload.as_mut().poll(cx) {
            std::task::Poll::Ready(done) => {
                done.unwrap_or_else(|error| panic!("{error}: {}", server.log()));
                false
            }
            std::task::Poll::Pending => true,
        });
        if pending.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    assert_eq!(host.tally().channels, 20);
}
