//! Large values by a channel of their own.
use crate::{INTERPRETERS, open};
use std::os::unix::fs::PermissionsExt;
use tunerun::transport::Identity;

#[tokio::test]
async fn bytes_arrive_whole_with_a_private_mode() {
    for interpreter in INTERPRETERS {
        let host = open(interpreter).await;
        for size in [0, 1, 300_000, 3_000_000] {
            let bytes: Vec<u8> = (0..size).map(|at| u8::try_from(at % 251).unwrap()).collect();
            let path = format!("/tmp/tunerun upload '{}", std::process::id());
            host.upload(&Identity::Login, path.as_bytes(), bytes.clone(), None).await.unwrap();
            assert!(std::fs::read(&path).unwrap() == bytes);
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
            std::fs::remove_file(&path).unwrap();
        }
    }
}

#[tokio::test]
async fn what_fails_is_said_in_the_hosts_words() {
    let host = open("sh").await;
    let error = host.upload(&Identity::Login, b"/dev/full", vec![7; 300_000], None).await.unwrap_err();
    assert!(error.to_string().contains("No space left"), "{error}");
    let error =
        host.upload(&Identity::Login, b"/no/such/folder/x", vec![7; 300_000], None).await.unwrap_err();
    assert!(error.to_string().contains("/no/such/folder/x"), "{error}");
    let error = host.upload(&Identity::Login, b"/tmp/a\0b", vec![], None).await.unwrap_err();
    assert!(error.to_string().contains("NUL"), "{error}");
}
