//! sudo, su and doas, with and without a password.
use crate::connect;
use tests::sshd::{PASSWORD, Setup, Sshd};
use tunerun::transport::{
    Become, BecomeMethod, Connection, Identity, LinkError, LinkErrorKind, Script, Secret,
};

async fn host(sudoers: &str, doas: &str) -> (Sshd, Connection) {
    for (program, package) in
        [("/usr/bin/sudo", "sudo"), ("/usr/bin/doas", "opendoas"), ("/usr/bin/su", "util-linux")]
    {
        assert!(std::path::Path::new(program).exists(), "these tests need the package {package}");
    }
    let server = Sshd::start(&Setup { sudoers: sudoers.into(), doas: doas.into(), ..Setup::default() });
    let mut way = server.way();
    way.user = "tuner".into();
    let host = connect(way).await;
    (server, host)
}

fn becoming(method: BecomeMethod, user: &str, password: Option<&str>) -> Identity {
    let mut who = Become::new(method, user);
    who.password = password.map(Secret::new);
    Identity::Become(who)
}

async fn name(host: &Connection, identity: &Identity) -> Result<String, LinkError> {
    let answer = host.run(identity, &Script::new("id -un; cat")).await?;
    Ok(answer.rest.stdout.text().trim().to_owned())
}

#[tokio::test]
async fn sudo_without_a_password() {
    let (_server, host) = host("tuner ALL=(ALL) NOPASSWD: ALL\n", "").await;
    assert_eq!(name(&host, &Identity::sudo("root")).await.unwrap(), "root");
    assert_eq!(name(&host, &Identity::sudo("other")).await.unwrap(), "other", "its login shell is nologin");
    assert_eq!(name(&host, &Identity::Login).await.unwrap(), "tuner");
    let given = becoming(BecomeMethod::Sudo, "root", Some(PASSWORD));
    assert_eq!(name(&host, &given).await.unwrap(), "root", "a password that nobody asks for");
    let path = "/tmp/tunerun-root-upload";
    host.upload(&Identity::sudo("root"), path.as_bytes(), vec![1; 300_000], None).await.unwrap();
    use std::os::unix::fs::MetadataExt;
    let owner = std::fs::metadata(path).unwrap().uid();
    std::fs::remove_file(path).unwrap();
    assert_eq!(owner, 0);
}

#[tokio::test]
async fn more_identities_than_channels() {
    let (_server, host) = host("tuner ALL=(ALL) NOPASSWD: ALL\n", "").await;
    for _ in 0..2 {
        for user in ["root", "other", "loud", "daemon", "bin", "sys", "games", "man", "mail", "news", "proxy"]
        {
            assert_eq!(name(&host, &Identity::sudo(user)).await.unwrap(), user);
        }
    }
}

#[tokio::test]
async fn sudo_with_a_password() {
    let (server, host) = host("Defaults timestamp_timeout=0\ntuner ALL=(ALL) ALL\n", "").await;
    let right = becoming(BecomeMethod::Sudo, "root", Some(PASSWORD));
    assert_eq!(name(&host, &right).await.unwrap(), "root");
    let listed = host.run(&right, &Script::new("cat /proc/[0-9]*/cmdline | tr '\\0' ' '")).await.unwrap();
    assert!(listed.rest.stdout.text().contains("sudo"));
    assert!(!listed.rest.stdout.text().contains(PASSWORD), "the password is in an argument list");
    host.upload(&right, b"/tmp/tunerun-sudo-upload", vec![1; 300_000], None).await.unwrap();
    std::fs::remove_file("/tmp/tunerun-sudo-upload").unwrap();
    let wrong = becoming(BecomeMethod::Sudo, "root", Some("wrong horse"));
    let error = name(&host, &wrong).await.unwrap_err();
    let kind = LinkErrorKind::BecomePassword { method: "sudo".into(), user: "root".into(), given: true };
    assert_eq!(*error.kind, kind, "{error}");
    let error = name(&host, &Identity::sudo("root")).await.unwrap_err();
    let kind = LinkErrorKind::BecomePassword { method: "sudo".into(), user: "root".into(), given: false };
    assert_eq!(*error.kind, kind, "{error}");
    assert!(!server.log().contains("horse"));
}

#[tokio::test]
async fn sudo_is_denied() {
    let (_server, host) = host("root ALL=(ALL) ALL\n", "").await;
    for password in [None, Some(PASSWORD)] {
        let error = name(&host, &becoming(BecomeMethod::Sudo, "root", password)).await.unwrap_err();
        match (&*error.kind, password) {
            // Without a password sudo does not tell whether the right one would help.
            (LinkErrorKind::BecomePassword { given: false, .. }, None) => {}
            (LinkErrorKind::BecomeDenied { .. }, _) => {}
            _ => panic!("{error}"),
        }
    }
}

#[tokio::test]
async fn sudo_that_wants_a_terminal() {
    let (_server, host) = host("Defaults requiretty\ntuner ALL=(ALL) NOPASSWD: ALL\n", "").await;
    for password in [None, Some(PASSWORD)] {
        let error = name(&host, &becoming(BecomeMethod::Sudo, "root", password)).await.unwrap_err();
        assert_eq!(*error.kind, LinkErrorKind::BecomeTerminal { method: "sudo".into() }, "{error}");
        assert!(error.help().unwrap().contains("requiretty"));
    }
}

#[tokio::test]
async fn sudo_to_a_user_that_is_not_there() {
    let (_server, host) = host("tuner ALL=(ALL) NOPASSWD: ALL\n", "").await;
    let error = name(&host, &Identity::sudo("nobody-at-all")).await.unwrap_err();
    assert!(
        matches!(&*error.kind, LinkErrorKind::BecomeDenied { said, .. } if said.contains("nobody-at-all")),
        "{error}"
    );
}

#[tokio::test]
async fn su_with_a_password() {
    let (_server, host) = host("", "").await;
    let right = becoming(BecomeMethod::Su, "root", Some(PASSWORD));
    assert_eq!(name(&host, &right).await.unwrap(), "root");
    let error = name(&host, &becoming(BecomeMethod::Su, "root", Some("wrong horse"))).await.unwrap_err();
    let kind = LinkErrorKind::BecomePassword { method: "su".into(), user: "root".into(), given: true };
    assert_eq!(*error.kind, kind, "{error}");
    let error = name(&host, &becoming(BecomeMethod::Su, "root", None)).await.unwrap_err();
    let kind = LinkErrorKind::BecomePassword { method: "su".into(), user: "root".into(), given: false };
    assert_eq!(*error.kind, kind, "{error}");
}

#[tokio::test]
async fn doas_by_rule_only() {
    let (_server, host) = host("", "permit nopass tuner as root\npermit tuner as other\n").await;
    assert_eq!(name(&host, &becoming(BecomeMethod::Doas, "root", None)).await.unwrap(), "root");
    let error = name(&host, &becoming(BecomeMethod::Doas, "other", None)).await.unwrap_err();
    let kind = LinkErrorKind::BecomePassword { method: "doas".into(), user: "other".into(), given: false };
    assert_eq!(*error.kind, kind, "{error}");
    let error = name(&host, &becoming(BecomeMethod::Doas, "tuner", None)).await.unwrap_err();
    assert!(matches!(*error.kind, LinkErrorKind::BecomeDenied { .. }), "{error}");
    let error = name(&host, &becoming(BecomeMethod::Doas, "root", Some(PASSWORD))).await.unwrap_err();
    assert_eq!(*error.kind, LinkErrorKind::BecomeTerminal { method: "doas".into() });
}
