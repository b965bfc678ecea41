//! A real OpenSSH server for tests: own keys, own users, own mount namespace, a free port on 127.0.0.1.
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tunerun::transport::endpoint::{Endpoint, SshWay, Way};

/// The password of the user `tuner` and of `root`.
pub const PASSWORD: &str = "right horse";
/// [`PASSWORD`] as /etc/shadow holds it.
const SHADOW: &str =
    "$6$tunerun$2dqQ71go2RPnWBhENhXUi.5G/.jnIE.E9sX/UmDj2WTxw9v1yJgbdUE7g9/vDtP7iudPIJLOsSLVksFHeYlhy1";

/// What a server is to be like.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Further lines of sshd_config.
    pub config: String,
    /// Types of its host keys.
    pub host_keys: Vec<&'static str>,
    /// The text of /etc/sudoers there.
    pub sudoers: String,
    /// The text of /etc/doas.conf there.
    pub doas: String,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            config: String::new(),
            host_keys: vec!["ed25519"],
            sudoers: "root ALL=(ALL:ALL) ALL\n".into(),
            doas: String::new(),
        }
    }
}

/// A running server. Dropping it ends it, its sessions, and its folder.
pub struct Sshd {
    child: Child,
    /// Keys, configuration, log.
    pub folder: PathBuf,
    /// Where it listens on 127.0.0.1.
    pub port: u16,
}

/// A program to its end; panics with its words if it fails.
pub fn program(name: &str, arguments: &[&str]) -> String {
    let output = Command::new(name).args(arguments).stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|error| panic!("{name}: {error}; is its package installed?"));
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{name} {arguments:?}: {out}{err}");
    out.into_owned()
}

/// Makes a key pair without comment, perhaps with a passphrase.
pub fn keygen(path: &Path, kind: &str, passphrase: &str) {
    let path = path.to_string_lossy();
    program("ssh-keygen", &["-q", "-t", kind, "-N", passphrase, "-C", "test", "-f", &path]);
}

impl Sshd {
    /// Starts a server and waits until it listens.
    pub fn start(setup: &Setup) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        assert!(Path::new("/usr/sbin/sshd").exists(), "these tests need the package openssh-server");
        assert!(
            program("id", &["-u"]).trim() == "0",
            "these tests need root: they start sshd in a mount namespace"
        );
        let number = COUNT.fetch_add(1, Ordering::SeqCst);
        let folder = PathBuf::from(format!("/tmp/tunerun-sshd-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        for kind in &setup.host_keys {
            keygen(&folder.join(format!("host_{kind}")), kind, "");
        }
        keygen(&folder.join("id_ed25519"), "ed25519", "");
        fs::copy(folder.join("id_ed25519.pub"), folder.join("authorized_keys")).unwrap();
        write_users(&folder, setup);
        let port = free_port();
        write_config(&folder, setup, port);
        let log = fs::File::create(folder.join("log")).unwrap();
        // All that it changes outside its folder, it changes in a mount namespace that ends with it.
        let script = "set -e; d=$1; mount -t tmpfs tmpfs /run; mkdir -p /run/sshd /run/sudo /run/new /run/work; \
            mount -t overlay -o lowerdir=/etc,upperdir=/run/new,workdir=/run/work overlay /etc; \
            for f in passwd shadow group sudoers doas.conf; do cp $d/$f /etc/$f; done; \
            chmod 440 /etc/sudoers; chmod 400 /etc/doas.conf; \
            cp $d/pam /etc/pam.d/sshd; { echo 'auth sufficient pam_rootok.so'; cat $d/pam; } > $d/pam-root; \
            for f in sudo su doas; do cp $d/pam-root /etc/pam.d/$f; done; \
            exec /usr/sbin/sshd -D -e -f $d/sshd_config";
        let child = Command::new("unshare")
            .args(["--mount", "--propagation", "private", "sh", "-c", script, "sh"])
            .arg(&folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let server = Self { child, folder, port };
        server.wait_for_port();
        let known: String = setup.host_keys.iter().map(|kind| server.known_line(kind)).collect();
        fs::write(server.folder.join("known_hosts"), known).unwrap();
        server
    }

    fn wait_for_port(&self) {
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(20), "sshd did not start: {}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The known_hosts line of one of its keys.
    pub fn known_line(&self, kind: &str) -> String {
        let public = fs::read_to_string(self.folder.join(format!("host_{kind}.pub"))).unwrap();
        format!("[127.0.0.1]:{} {public}", self.port)
    }

    /// What it logged.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// Lets a further public key in.
    pub fn authorize(&self, public: &Path) {
        let file = self.folder.join("authorized_keys");
        let text = fs::read_to_string(&file).unwrap() + &fs::read_to_string(public).unwrap();
        fs::write(file, text).unwrap();
    }

    /// A login as root with the server's client key and known host key.
    pub fn way(&self) -> SshWay {
        let mut way = SshWay::new("127.0.0.1", "root");
        way.port = self.port;
        way.keys = vec![self.folder.join("id_ed25519")];
        way.known_hosts = vec![self.folder.join("known_hosts")];
        way
    }

    /// An endpoint of a way.
    pub fn endpoint(way: SshWay) -> Endpoint {
        Endpoint { way: Way::Ssh(Box::new(way)), ..Endpoint::local("host1") }
    }

    /// The processes of its sessions, youngest last.
    pub fn sessions(&self) -> Vec<u32> {
        descendants(self.child.id())
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let mut pids = descendants(self.child.id());
        pids.push(self.child.id());
        for pid in pids {
            let _ = Command::new("kill").args(["-KILL", &pid.to_string()]).stderr(Stdio::null()).status();
        }
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// All processes below one.
pub fn descendants(root: u32) -> Vec<u32> {
    let mut parents = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { continue };
        let Some((_, rest)) = stat.rsplit_once(") ") else { continue };
        parents.push((pid, rest.split(' ').nth(1).and_then(|parent| parent.parse().ok()).unwrap_or(0)));
    }
    let mut found = vec![root];
    let mut at = 0;
    while at < found.len() {
        let parent = found[at];
        found.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
        at += 1;
    }
    found.split_off(1)
}

/// A free port on 127.0.0.1, below the range of ports that the kernel gives to clients, or another test's connection may take it in between.
pub fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let step = NEXT.fetch_add(1, Ordering::SeqCst);
        let port = 20_000 + u16::try_from((std::process::id().wrapping_mul(97) + step) % 12_000).unwrap();
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

fn write_users(folder: &Path, setup: &Setup) {
    let file = |name: &str, text: String, mode: u32| {
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let without_root = |name: &str| -> String {
        let text = fs::read_to_string(name).unwrap();
        text.lines().filter(|line| !line.starts_with("root:")).map(|line| format!("{line}\n")).collect()
    };
    let passwd = without_root("/etc/passwd");
    file(
        "passwd",
        format!(
            "root:x:0:0:root:/root:/bin/sh\n{passwd}tuner:x:4242:4242::/tmp:/bin/sh\nother:x:4243:4243::/tmp:/usr/sbin/nologin\nloud:x:4244:4244::/tmp:/bin/bash\n"
        ),
        0o644,
    );
    let shadow = without_root("/etc/shadow");
    let lines: String = ["tuner", "other", "loud"]
        .iter()
        .map(|user| format!("{user}:{SHADOW}:19000:0:99999:7:::\n"))
        .collect();
    file("shadow", format!("root:{SHADOW}:19000:0:99999:7:::\n{shadow}{lines}"), 0o640);
    let group = fs::read_to_string("/etc/group").unwrap();
    file("group", format!("{group}tuner:x:4242:\nother:x:4243:\nloud:x:4244:\n"), 0o644);
    file("sudoers", setup.sudoers.clone(), 0o440);
    file("doas.conf", setup.doas.clone(), 0o400);
    // Not the machine's PAM files: some of their modules want what a container does not have.
    let pam = "auth required pam_unix.so\naccount required pam_unix.so\nsession required pam_permit.so\n";
    file("pam", pam.into(), 0o644);
}

fn write_config(folder: &Path, setup: &Setup, port: u16) {
    let shown = folder.display();
    let keys: String = setup.host_keys.iter().map(|kind| format!("HostKey {shown}/host_{kind}\n")).collect();
    // The first value of an option counts, so a test's own lines come first.
    let text = format!(
        "{}\nPort {port}\nListenAddress 127.0.0.1\n{keys}AuthorizedKeysFile {shown}/authorized_keys\nPidFile none\n\
         StrictModes no\nUsePAM no\nPermitRootLogin yes\nPasswordAuthentication no\n\
         KbdInteractiveAuthentication no\nPerSourceMaxStartups none\nMaxStartups 100\nLogLevel VERBOSE\n",
        setup.config
    );
    fs::write(folder.join("sshd_config"), text).unwrap();
}
