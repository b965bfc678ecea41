//! Serves the settings of one host as a file system, on a thread of the supervisor.
use super::rule::{Refused, coupled};
use super::tree::{Kind, Node, Tree};
use super::wire::{Body, DIRECT, LARGEST_WRITE, REQUEST, Request, VERSION, answer, name_length, operation};
use crate::diagnostic::Diagnostic;
use crate::lab::{failed, refused};
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::mount::{MsFlags, mount};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Settings of one host, while they are served.
#[derive(Clone, Debug)]
pub(in crate::lab) struct Settings {
    tree: Arc<Tree>,
    changed: Arc<Mutex<HashMap<u64, String>>>,
    cpus: usize,
}

impl Settings {
    /// Mounts the settings at `at`, a folder that is made if need be, and serves them until the supervisor ends.
    pub fn serve(tree: &Arc<Tree>, at: &Path) -> Result<Self, Box<Diagnostic>> {
        fs::create_dir_all(at).map_err(failed(format!("make {}", at.display())))?;
        let device = File::options()
            .read(true)
            .write(true)
            .open("/dev/fuse")
            .map_err(|error| failed("open /dev/fuse")(error).help("sudo modprobe fuse"))?;
        let options = format!(
            "fd={},rootmode=40755,user_id=0,group_id=0,allow_other,default_permissions",
            device.as_raw_fd()
        );
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
        mount(Some("tunerun-lab"), at, Some("fuse"), flags, Some(options.as_str()))
            .map_err(refused(format!("mount kernel settings at {}", at.display())))?;
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let settings = Self { tree: Arc::clone(tree), changed: Arc::default(), cpus };
        let served = settings.clone();
        std::thread::Builder::new()
            .stack_size(256 * 1024)
            .spawn(move || served.answer_all(device))
            .map_err(failed("serve kernel settings"))?;
        Ok(settings)
    }

    /// Puts every setting back to what it was at the start, as a boot does, and the kernel's command line to `line`.
    pub fn boot(&self, line: &str) {
        let mut changed = self.changed();
        changed.clear();
        if let Some(number) = self.tree.find(super::CMDLINE) {
            changed.insert(number, format!("{}\n", line.trim_end()));
        }
    }

    fn changed(&self) -> MutexGuard<'_, HashMap<u64, String>> {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers until the file system is gone.
    fn answer_all(&self, mut device: File) {
        let mut bytes = vec![0; REQUEST];
        loop {
            let read = match device.read(&mut bytes) {
                Ok(0) => return,
                Ok(read) => read,
                // The request was interrupted before it was read, or a signal came.
                Err(error)
                    if matches!(
                        error.raw_os_error().map(Errno::from_raw),
                        Some(Errno::ENOENT | Errno::EINTR)
                    ) =>
                {
                    continue;
                }
                Err(_) => return,
            };
            let Some(request) = Request::read(&bytes[..read]) else { return };
            if matches!(request.operation, operation::FORGET | operation::BATCH_FORGET | operation::INTERRUPT)
            {
                continue;
            }
            // An answer that nobody waits for any more is refused, which is no loss.
            let _ = device.write(&answer(request.unique, self.outcome(&request)));
            if request.operation == operation::DESTROY {
                return;
            }
        }
    }

    fn outcome(&self, request: &Request) -> Result<Body, Errno> {
        let node = self.tree.node(request.node).ok_or(Errno::ENOENT);
        match request.operation {
            operation::INIT => Ok(welcome()),
            operation::LOOKUP => {
                let found = request.name().and_then(|name| self.tree.child(request.node, name));
                let number = found.ok_or(Errno::ENOENT)?;
                let node = self.tree.node(number).ok_or(Errno::ENOENT)?;
                // node, generation, how long name and attributes hold: names never change
                let entry = Body::default().u64(number).u64(0).u64(3600).u64(3600).zeros(8);
                Ok(attributes(entry, number, node))
            }
            operation::GETATTR => Ok(attributes(Body::default().u64(3600).zeros(8), request.node, node?)),
            operation::SETATTR => set(request, node?),
            operation::OPEN => open(request, node?),
            operation::OPENDIR => Ok(Body::default().zeros(16)),
            operation::READ => self.read(request, node?),
            operation::WRITE => self.write(request, node?),
            operation::READDIR => self.names(request, node?),
            operation::STATFS => Ok(Body::default().zeros(40).u32(4096).u32(255).u32(4096).zeros(28)),
            operation::RELEASE
            | operation::RELEASEDIR
            | operation::FLUSH
            | operation::FSYNC
            | operation::DESTROY => Ok(Body::default()),
            _ => Err(Errno::ENOSYS),
        }
    }

    fn read(&self, request: &Request, node: &Node) -> Result<Body, Errno> {
        let Kind::Setting(first, _) = &node.kind else { return Err(Errno::EISDIR) };
        let (offset, size) = request.span().ok_or(Errno::EINVAL)?;
        let changed = self.changed();
        let value = changed.get(&request.node).unwrap_or(first).as_bytes();
        let rest = value.get(offset..).unwrap_or_default();
        Ok(Body::default().bytes(&rest[..rest.len().min(size)]))
    }

    fn write(&self, request: &Request, node: &Node) -> Result<Body, Errno> {
        let Kind::Setting(first, rule) = &node.kind else { return Err(Errno::EISDIR) };
        let (offset, _) = request.span().ok_or(Errno::EINVAL)?;
        let bytes = request.written().ok_or(Errno::EINVAL)?;
        let text = std::str::from_utf8(bytes).map_err(|_| Errno::EINVAL)?;
        // A setting is written whole: a second part has no meaning, and the kernel takes none.
        if offset != 0 {
            return Err(Errno::EINVAL);
        }
        let mut changed = self.changed();
        let now = changed.get(&request.node).unwrap_or(first);
        let taken = rule.take(now, text, self.cpus).map_err(|why| match why {
            Refused::Invalid => Errno::EINVAL,
            Refused::ReadOnly => Errno::EACCES,
        })?;
        if let Some((other, cleared)) = coupled(&node.path) {
            let value = if cleared { "0\n".to_owned() } else { taken.clone() };
            changed.extend(self.tree.ending(other).into_iter().map(|number| (number, value.clone())));
        }
        changed.insert(request.node, taken);
        let length = u32::try_from(bytes.len()).map_err(|_| Errno::EINVAL)?;
        Ok(Body::default().u32(length).zeros(4))
    }

    fn names(&self, request: &Request, node: &Node) -> Result<Body, Errno> {
        let Kind::Folder(names) = &node.kind else { return Err(Errno::ENOTDIR) };
        let (offset, size) = request.span().ok_or(Errno::EINVAL)?;
        let dots = [(".", request.node), ("..", node.parent)];
        let all = dots.into_iter().chain(names.iter().map(|(name, number)| (name.as_str(), *number)));
        let mut body = Body::default();
        for ((name, number), next) in all.zip(1..).skip(offset) {
            if body.len() + name_length(name) > size {
                break;
            }
            let folder = matches!(self.tree.node(number).map(|it| &it.kind), Some(Kind::Folder(_)));
            body = body.name(number, next, folder, name);
        }
        Ok(body)
    }
}

/// The answer to the kernel's first word.
fn welcome() -> Body {
    let (major, minor) = VERSION;
    // versions, read-ahead, flags | background requests, congestion | largest write, grain of time | rest
    Body::default().u32(major).u32(minor).u32(0).u32(0).u16(16).u16(12).u32(LARGEST_WRITE).u32(1).zeros(36)
}

fn attributes(body: Body, number: u64, node: &Node) -> Body {
    let kind = if matches!(node.kind, Kind::Folder(_)) { 0o40_000 } else { 0o100_000 };
    // As in /proc: the length is not known before the reading.
    body.attributes(number, 0, kind | node.mode)
}

/// Truncating comes before each write by a shell and means nothing here; owner and mode are not a host's to set.
fn set(request: &Request, node: &Node) -> Result<Body, Errno> {
    const OWNER_OR_MODE: u32 = 0b111;
    if request.first() & OWNER_OR_MODE != 0 {
        return Err(Errno::EPERM);
    }
    Ok(attributes(Body::default().u64(3600).zeros(8), request.node, node))
}

/// Root may open anything, so what cannot be written at all has to be refused here.
fn open(request: &Request, node: &Node) -> Result<Body, Errno> {
    let flags = OFlag::from_bits_truncate(request.first().cast_signed());
    let writes = flags.intersects(OFlag::O_WRONLY | OFlag::O_RDWR);
    if writes && node.mode & 0o222 == 0 {
        return Err(Errno::EACCES);
    }
    Ok(Body::default().u64(0).u32(DIRECT).zeros(4))
}
