//! Every way to log in.
use crate::{OneSecret, connect, refused, whoami};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use tests::sshd::{PASSWORD, Setup, Sshd, keygen, program};
use tunerun::transport::{Connection, Secret};

#[tokio::test]
async fn keys_of_every_kind() {
    let server = Sshd::start(&Setup::default());
    for kind in ["ed25519", "rsa", "ecdsa"] {
        let path = server.folder.join(format!("key_{kind}"));
        keygen(&path, kind, "");
        server.authorize(&server.folder.join(format!("key_{kind}.pub")));
        let mut way = server.way();
        way.keys = vec![server.folder.join("not-there"), path];
        assert_eq!(whoami(&connect(way).await).await, "root", "{kind}");
    }
    let path = server.folder.join("key_pem");
    program("ssh-keygen", &["-q", "-t", "rsa", "-m", "PEM", "-N", "", "-f", &path.to_string_lossy()]);
    server.authorize(&server.folder.join("key_pem.pub"));
    let mut way = server.way();
    way.keys = vec![path];
    assert_eq!(whoami(&connect(way).await).await, "root");
}

#[tokio::test]
async fn an_encrypted_key_asks_for_its_passphrase() {
    let server = Sshd::start(&Setup::default());
    for kind in ["ed25519", "ecdsa"] {
        let path = server.folder.join(format!("locked_{kind}"));
        keygen(&path, kind, "open sesame");
        server.authorize(&server.folder.join(format!("locked_{kind}.pub")));
        let mut way = server.way();
        way.keys = vec![path];
        let error = refused(way.clone()).await;
        assert!(error.contains("it is encrypted, and there is no passphrase"), "{error}");
        let endpoint = Sshd::endpoint(way);
        let wrong = Connection::open(&endpoint, Arc::new(OneSecret("wrong"))).await;
        let error = wrong.map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("the passphrase is wrong"), "{error}");
        let host = Connection::open(&endpoint, Arc::new(OneSecret("open sesame"))).await.unwrap();
        assert_eq!(whoami(&host).await, "root");
    }
}

/// An agent that ends with the test.
struct Agent(Child, std::path::PathBuf);

impl Agent {
    fn start(server: &Sshd) -> Self {
        let socket = server.folder.join("agent");
        let child =
            Command::new("ssh-agent").args(["-D", "-a"]).arg(&socket).stdout(Stdio::null()).spawn().unwrap();
        while !socket.exists() {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        Self(child, socket)
    }

    fn add(&self, key: &std::path::Path) {
        let added =
            Command::new("ssh-add").arg("-q").arg(key).env("SSH_AUTH_SOCK", &self.1).status().unwrap();
        assert!(added.success());
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn the_agents_keys() {
    let server = Sshd::start(&Setup::default());
    let agent = Agent::start(&server);
    for kind in ["ed25519", "rsa"] {
        let path = server.folder.join(format!("agent_{kind}"));
        keygen(&path, kind, "");
        agent.add(&path);
        std::fs::remove_file(&path).unwrap();
    }
    server.authorize(&server.folder.join("agent_rsa.pub"));
    let mut way = server.way();
    way.keys.clear();
    way.agent = Some(server.folder.join("agent"));
    assert_eq!(whoami(&connect(way.clone()).await).await, "root");
    way.identities_only = true;
    let error = refused(way.clone()).await;
    assert!(error.contains("nothing to try"), "{error}");
    way.keys = vec![server.folder.join("agent_rsa.pub")];
    assert_eq!(whoami(&connect(way.clone()).await).await, "root", "a public key names a key of the agent");
    way.agent = Some(server.folder.join("no-agent"));
    let error = refused(way).await;
    assert!(error.contains("no-agent"), "{error}");
}

#[tokio::test]
async fn user_certificates_by_file_and_agent() {
    let folder = std::env::temp_dir().join(format!("tunerun-ca-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    keygen(&folder.join("ca"), "ed25519", "");
    let authority = folder.join("ca.pub");
    let server = Sshd::start(&Setup {
        config: format!("TrustedUserCAKeys {}", authority.display()),
        ..Setup::default()
    });
    for kind in ["ed25519", "rsa"] {
        let path = server.folder.join(format!("certified_{kind}"));
        keygen(&path, kind, "");
        let mut way = server.way();
        way.keys = vec![path.clone()];
        let error = refused(way.clone()).await;
        assert!(error.contains("login denied; tried key"), "{error}");
        let public = format!("{}.pub", path.display());
        let ca = folder.join("ca");
        program("ssh-keygen", &["-q", "-s", &ca.to_string_lossy(), "-I", "test", "-n", "root", &public]);
        assert_eq!(whoami(&connect(way.clone()).await).await, "root", "{kind}");
        let agent = Agent::start(&server);
        agent.add(&path);
        std::fs::remove_file(&path).unwrap();
        way.keys.clear();
        way.agent = Some(server.folder.join("agent"));
        assert_eq!(whoami(&connect(way).await).await, "root", "{kind} by the agent");
        drop(agent);
        let _ = std::fs::remove_file(server.folder.join("agent"));
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[tokio::test]
async fn passwords() {
    for (config, method) in [
        ("UsePAM yes\nPasswordAuthentication yes", "password"),
        ("UsePAM yes\nKbdInteractiveAuthentication yes", "keyboard-interactive"),
        ("PasswordAuthentication yes", "password"),
    ] {
        let server = Sshd::start(&Setup { config: config.into(), ..Setup::default() });
        let mut way = server.way();
        way.keys.clear();
        way.user = "tuner".into();
        let error = refused(way.clone()).await;
        assert!(error.contains(method), "{error}");
        let host =
            Connection::open(&Sshd::endpoint(way.clone()), Arc::new(OneSecret(PASSWORD))).await.unwrap();
        assert_eq!(whoami(&host).await, "tuner", "asked, {config}");
        way.password = Some(Secret::new(PASSWORD));
        assert_eq!(whoami(&connect(way.clone()).await).await, "tuner", "{config}");
        way.password = Some(Secret::new("wrong horse"));
        let error = refused(way).await;
        assert!(error.contains("tried") && error.contains(method) && !error.contains("horse"), "{error}");
    }
}

#[tokio::test]
async fn a_key_and_a_password_together() {
    let config = "UsePAM yes\nPasswordAuthentication yes\nAuthenticationMethods publickey,password";
    let server = Sshd::start(&Setup { config: config.into(), ..Setup::default() });
    let mut way = server.way();
    let error = refused(way.clone()).await;
    assert!(error.contains("(taken, more is wanted)"), "{error}");
    way.password = Some(Secret::new(PASSWORD));
    assert_eq!(whoami(&connect(way).await).await, "root");
}

#[tokio::test]
async fn a_login_shell_that_talks_does_no_harm() {
    let rc = std::env::temp_dir().join(format!("tunerun-rc-{}", std::process::id()));
    std::fs::write(&rc, "echo welcome; echo to the host >&2; head -c 20000 /dev/zero\n").unwrap();
    let server =
        Sshd::start(&Setup { config: format!("SetEnv BASH_ENV={}", rc.display()), ..Setup::default() });
    let mut way = server.way();
    way.user = "loud".into();
    assert_eq!(whoami(&connect(way.clone()).await).await, "loud");
    way.user = "other".into();
    let host = connect(way).await;
    let error =
        host.run(&Default::default(), &tunerun::transport::Script::new(":")).await.unwrap_err().to_string();
    assert!(error.contains("no shell was started"), "{error}");
    assert!(error.contains("not available"), "{error}");
    std::fs::remove_file(&rc).unwrap();
}
