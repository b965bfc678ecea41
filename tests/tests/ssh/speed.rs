//! Round trips, counted by a relay that delays every byte.
use crate::{connect, run};
use std::time::{Duration, Instant};
use tests::sshd::{Setup, Sshd};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// One way of the relay's delay; a round trip is two.
const ONE_WAY: Duration = Duration::from_millis(75);

/// Passes bytes on, late but in any number at once, as a long line does.
async fn late(mut from: tokio::net::tcp::OwnedReadHalf, mut to: tokio::net::tcp::OwnedWriteHalf) {
    let (send, mut receive) = tokio::sync::mpsc::unbounded_channel::<(Instant, Vec<u8>)>();
    tokio::spawn(async move {
        while let Some((at, bytes)) = receive.recv().await {
            tokio::time::sleep_until(at.into()).await;
            if to.write_all(&bytes).await.is_err() {
                break;
            }
        }
    });
    let mut buffer = vec![0; 65536];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        let _ = send.send((Instant::now() + ONE_WAY, buffer[..count].to_vec()));
    }
}

async fn relay(to: u16) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let server = TcpStream::connect(("127.0.0.1", to)).await.unwrap();
            client.set_nodelay(true).unwrap();
            server.set_nodelay(true).unwrap();
            let ((from_client, to_client), (from_server, to_server)) =
                (client.into_split(), server.into_split());
            tokio::spawn(late(from_client, to_server));
            tokio::spawn(late(from_server, to_client));
        }
    });
    port
}

#[tokio::test]
async fn connecting_and_the_first_answer_take_few_round_trips() {
    let server = Sshd::start(&Setup::default());
    let port = relay(server.port).await;
    let known = server.known_line("ed25519").replace(&server.port.to_string(), &port.to_string());
    std::fs::write(server.folder.join("known_hosts"), known).unwrap();
    let mut way = server.way();
    way.port = port;
    let begun = Instant::now();
    let host = connect(way).await;
    let connected = begun.elapsed();
    run(&host, "echo hello").await;
    let answered = begun.elapsed();
    run(&host, "echo again").await;
    let again = begun.elapsed() - answered;
    // TCP's own round trip does not pass the relay.
    let trips = |time: Duration| time.as_secs_f64() / (2.0 * ONE_WAY.as_secs_f64());
    let shown = format!(
        "connect {:.2}, first answer {:.2}, another {:.2} round trips; counted {}",
        trips(connected) + 1.0,
        trips(answered) + 1.0,
        trips(again),
        host.tally().round_trips
    );
    println!("{shown}");
    assert!(trips(answered) + 1.0 < 9.9, "{shown}");
    assert!(trips(again) < 1.5, "{shown}");
}
