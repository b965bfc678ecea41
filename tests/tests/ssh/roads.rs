//! Jump hosts, proxy commands, ready-made sockets, hosts that are not there.
use crate::{connect, open, refused, run, whoami};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tests::sshd::{Setup, Sshd};
use tunerun::transport::endpoint::{Dial, Dialer};
use tunerun::transport::{Connection, LinkErrorKind, NoSecrets};

#[tokio::test]
async fn through_two_jump_hosts() {
    let (first, second, last) =
        (Sshd::start(&Setup::default()), Sshd::start(&Setup::default()), Sshd::start(&Setup::default()));
    let mut way = last.way();
    way.jumps = vec![first.way(), second.way()];
    let host = connect(way.clone()).await;
    let begun = Instant::now();
    for _ in 0..10 {
        run(&host, ":").await;
    }
    assert!(
        begun.elapsed() < Duration::from_millis(350),
        "Nagle's delay: {:?} for ten frames",
        begun.elapsed()
    );
    way.jumps[1].port = 1;
    let error = refused(way.clone()).await;
    assert!(error.contains("no way through the proxy"), "{error}");
    way.jumps[1] = second.way();
    way.jumps[1].keys.clear();
    let error = refused(way.clone()).await;
    assert!(error.contains("login denied"), "{error}");
    assert!(error.contains(&format!("at the jump host root@127.0.0.1:{}", second.port)), "{error}");
    way.jumps[1] = second.way();
    way.jumps[1].known_hosts.clear();
    let error = refused(way).await;
    assert!(error.contains("is not known") && error.contains(&second.port.to_string()), "{error}");
}

#[tokio::test]
async fn through_a_proxy_command() {
    let server = Sshd::start(&Setup::default());
    let mut way = server.way();
    way.proxy_command = Some(format!("busybox nc 127.0.0.1 {}", server.port));
    assert_eq!(whoami(&connect(way.clone()).await).await, "root");
    way.proxy_command = Some("sh -c 'echo no road today >&2; exit 1'".into());
    let error = refused(way).await;
    assert!(error.contains("no way through the proxy") && error.contains("no road today"), "{error}");
}

struct ToPort(u16);

impl Dial for ToPort {
    fn dial(
        &self,
    ) -> std::pin::Pin<Box<dyn Future<Output = std::io::Result<tokio::net::TcpStream>> + Send + '_>> {
        Box::pin(tokio::net::TcpStream::connect(("127.0.0.1", self.0)))
    }
}

#[tokio::test]
async fn over_a_ready_made_socket() {
    let server = Sshd::start(&Setup::default());
    let mut way = server.way();
    way.address = "no-such-name.invalid".into();
    way.host_key_alias = Some("osd1".into());
    let known = server.known_line("ed25519").replace(&format!("[127.0.0.1]:{}", server.port), "osd1");
    std::fs::write(server.folder.join("known_hosts"), known).unwrap();
    way.dial = Some(Dialer(Arc::new(ToPort(server.port))));
    assert_eq!(whoami(&connect(way).await).await, "root");
}

#[tokio::test]
async fn hosts_that_are_not_there() {
    let server = Sshd::start(&Setup::default());
    let mut way = server.way();
    way.port = 1;
    let error = open(way.clone()).await.map(|_| ()).unwrap_err();
    assert_eq!(*error.kind, LinkErrorKind::Refused);
    assert_eq!(error.to_string(), "host1 (root@127.0.0.1:1): connection refused");
    way.address = "<mgmt_if_ip>".into();
    let error = open(way.clone()).await.map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("host1 (root@<mgmt_if_ip>:1): the name has no address"), "{error}");
    // A listener that says nothing.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut endpoint = Sshd::endpoint(server.way());
    if let tunerun::transport::endpoint::Way::Ssh(way) = &mut endpoint.way {
        way.port = silent.local_addr().unwrap().port();
    }
    endpoint.connect_timeout = Duration::from_millis(300);
    endpoint.retries = 1;
    let begun = Instant::now();
    let error = Connection::open(&endpoint, Arc::new(NoSecrets)).await.map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("the SSH handshake did not end within 300ms"), "{error}");
    assert!(begun.elapsed() > Duration::from_millis(800), "it is tried again after a pause");
    assert!(begun.elapsed() < Duration::from_secs(4));
}
