//! A vhost-user-scsi back end beside the test: what SPDK is to QEMU, without a disk.
use serde_json::Value as Json;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What speaks the protocol.
const PROGRAM: &str = include_str!("vhost_user.py");

/// A back end that serves one guest after the other. It ends with the test, whichever way that ends.
pub struct Backend {
    status: PathBuf,
    child: Child,
}

/// Whether one can be had here; loud where not.
pub fn can() -> bool {
    let there = Path::new("/usr/bin/python3").exists();
    if !there {
        eprintln!("NOT TESTED: a vhost-user back end needs /usr/bin/python3");
        assert!(std::env::var_os("CI").is_none(), "CI must have python3");
    }
    there
}

impl Backend {
    /// Serves a socket.
    pub fn new(socket: &Path) -> Self {
        let status = socket.with_extension("status");
        let log = fs::File::create(socket.with_extension("log")).unwrap();
        let mut command = Command::new("/usr/bin/python3");
        command.args(["-c", PROGRAM]).arg(socket).arg(&status);
        // Its standard input is its lifeline.
        command.stdin(Stdio::piped()).stdout(log.try_clone().unwrap()).stderr(log);
        let child = command.spawn().unwrap();
        let mut backend = Self { status, child };
        let end = Instant::now() + Duration::from_secs(30);
        while !socket.exists() {
            let ended = backend.child.try_wait().unwrap();
            assert!(ended.is_none() && Instant::now() < end, "no back end: {}", backend.log());
            std::thread::sleep(Duration::from_millis(20));
        }
        backend
    }

    /// Waits until the guest's firmware has had answers, and tells how many MiB of memory it shares, rounded: below the
    /// first MiB some of it is the firmware's and the display's.
    #[track_caller]
    pub fn memory_of_a_guest_that_asks(&mut self) -> u64 {
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            let text = fs::read_to_string(&self.status).unwrap_or_default();
            let seen: Json = serde_json::from_str(&text).unwrap_or_default();
            if seen["answered"].as_u64().is_some_and(|count| count > 0) {
                return seen["memory"].as_u64().unwrap_or_default().div_ceil(1 << 20);
            }
            let ended = self.child.try_wait().unwrap();
            let fine = ended.is_none() && Instant::now() < end;
            assert!(fine, "nothing comes through the guest's memory: {text}\n{}", self.log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn log(&self) -> String {
        fs::read_to_string(self.status.with_extension("log")).unwrap_or_default()
    }
}

impl Drop for Backend {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
