//! Host keys are strict.
use crate::{connect, refused, whoami};
use std::fs;
use tests::sshd::{Setup, Sshd, keygen, program};
use tunerun::transport::endpoint::NewKeys;

#[tokio::test]
async fn an_unknown_key_is_refused_with_the_way_on() {
    let server = Sshd::start(&Setup::default());
    let mut way = server.way();
    way.known_hosts = vec![server.folder.join("empty")];
    let error = refused(way).await;
    let print = program("ssh-keygen", &["-lf", &server.folder.join("host_ed25519.pub").to_string_lossy()]);
    let print = print.split(' ').nth(1).unwrap();
    for part in
        [print, "ssh-ed25519", &format!("ssh-keyscan -p {} 127.0.0.1", server.port), "accept-new", "/empty"]
    {
        assert!(error.contains(part), "{part} is not in {error}");
    }
    assert!(!server.folder.join("empty").exists());
}

#[tokio::test]
async fn accept_new_writes_the_key_down_once() {
    let server = Sshd::start(&Setup::default());
    let mut way = server.way();
    let file = server.folder.join("new/known_hosts");
    way.known_hosts = vec![file.clone()];
    way.new_keys = NewKeys::Accept;
    assert_eq!(whoami(&connect(way.clone()).await).await, "root");
    assert_eq!(whoami(&connect(way.clone()).await).await, "root");
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text.trim(), server.known_line("ed25519").trim().trim_end_matches(" test"));
    keygen(&server.folder.join("foreign"), "ed25519", "");
    let foreign = fs::read_to_string(server.folder.join("foreign.pub")).unwrap();
    fs::write(&file, format!("# a comment\n[127.0.0.1]:{} {foreign}", server.port)).unwrap();
    let error = refused(way).await;
    assert!(error.contains("ITS KEY HAS CHANGED"), "{error}");
    assert!(error.contains(&format!("{}:2", file.display())), "{error}");
}

#[tokio::test]
async fn a_revoked_key_is_refused() {
    let server = Sshd::start(&Setup::default());
    let known = server.folder.join("known_hosts");
    let line = server.known_line("ed25519");
    let key = line.split_once(' ').unwrap().1;
    fs::write(&known, format!("{line}@revoked * {key}")).unwrap();
    let error = refused(server.way()).await;
    assert!(error.contains("marked as revoked") && error.contains("known_hosts:2"), "{error}");
}

#[tokio::test]
async fn a_host_that_is_known_by_another_type_is_asked_for_that() {
    let server = Sshd::start(&Setup { host_keys: vec!["ed25519", "rsa", "ecdsa"], ..Setup::default() });
    for kind in ["rsa", "ecdsa", "ed25519"] {
        fs::write(server.folder.join("known_hosts"), server.known_line(kind)).unwrap();
        assert_eq!(whoami(&connect(server.way()).await).await, "root", "{kind}");
    }
}

#[tokio::test]
async fn hashed_names_and_a_global_file() {
    let server = Sshd::start(&Setup::default());
    let known = server.folder.join("known_hosts");
    program("ssh-keygen", &["-q", "-H", "-f", &known.to_string_lossy()]);
    assert!(fs::read_to_string(&known).unwrap().starts_with("|1|"));
    let mut way = server.way();
    assert_eq!(whoami(&connect(way.clone()).await).await, "root");
    way.global_known_hosts = std::mem::take(&mut way.known_hosts);
    assert_eq!(whoami(&connect(way.clone()).await).await, "root");
    let damaged = format!("nonsense here\n{}", server.known_line("ed25519"));
    fs::write(&known, damaged).unwrap();
    let warnings = connect(way.clone()).await.warnings().to_vec();
    assert!(warnings.len() == 1 && warnings[0].contains("known_hosts:1: "), "{warnings:?}");
    fs::write(&known, server.known_line("ed25519").replace(&format!("[127.0.0.1]:{}", server.port), "osd1"))
        .unwrap();
    let error = refused(way.clone()).await;
    assert!(error.contains("is not known"), "{error}");
    way.host_key_alias = Some("osd1".into());
    assert_eq!(whoami(&connect(way).await).await, "root");
}

#[tokio::test]
async fn host_certificates() {
    let folder = std::env::temp_dir().join(format!("tunerun-hostca-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    keygen(&folder.join("ca"), "ed25519", "");
    keygen(&folder.join("host"), "ed25519", "");
    let at = |name: &str| folder.join(name).to_string_lossy().into_owned();
    let certify = |names: &str, validity: &str| {
        program(
            "ssh-keygen",
            &["-q", "-s", &at("ca"), "-h", "-I", "x", "-n", names, "-V", validity, &at("host.pub")],
        );
    };
    let authority = fs::read_to_string(at("ca.pub")).unwrap();
    for (names, validity, wanted) in [
        ("127.0.0.1", "+1h", None),
        ("127.0.0.*", "+1h", None),
        ("10.0.0.1", "+1h", Some("it is for 10.0.0.1, not for 127.0.0.1")),
        ("127.0.0.1", "-2h:-1h", Some("it has expired")),
    ] {
        certify(names, validity);
        let config = format!("HostKey {}\nHostCertificate {}", at("host"), at("host-cert.pub"));
        let server = Sshd::start(&Setup { config, host_keys: vec![], ..Setup::default() });
        fs::write(server.folder.join("known_hosts"), format!("@cert-authority [127.0.0.1]:* {authority}"))
            .unwrap();
        match wanted {
            None => assert_eq!(whoami(&connect(server.way()).await).await, "root", "{names} {validity}"),
            Some(why) => {
                let error = refused(server.way()).await;
                assert!(error.contains(why), "{error}");
            }
        }
        let plain = fs::read_to_string(at("host.pub")).unwrap();
        fs::write(server.folder.join("known_hosts"), format!("[127.0.0.1]:{} {plain}", server.port)).unwrap();
        assert_eq!(whoami(&connect(server.way()).await).await, "root", "its plain key is known");
    }
    fs::remove_dir_all(&folder).unwrap();
}
