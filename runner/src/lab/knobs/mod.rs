//! Kernel settings of one host: writable copies that refuse what the kernel refuses and have no effect.
//!
//! A copy made of plain files takes any value, so it cannot show a refused write. These copies are a file system that
//! the supervisor serves (FUSE): a write is answered by the rule of its key, a read gives what the kernel would print.
mod rule;
mod serve;
mod tree;
mod wire;

pub(super) use serve::Settings;
pub(super) use tree::Tree;

use super::{failed, refused};
use crate::diagnostic::Diagnostic;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use std::fs;
use std::path::{Path, PathBuf};

/// The file among the settings that names what is to be put in place, one path a line.
const LIST: &str = "list";

/// The file among the settings that stands for `/proc/cmdline`.
const CMDLINE: &str = "proc/cmdline";

/// What in `/proc/sys/kernel` stays the kernel's own: it is the host's anyway, or different at each look.
const OWN: [&str; 3] = ["random", "hostname", "domainname"];

/// Copies this machine's settings. `/proc/sys/net` is not among them: each host has its own, and it is real.
pub(super) fn snapshot() -> Tree {
    let mut tree = Tree::new();
    let mut tops: Vec<PathBuf> =
        below(Path::new("/proc/sys")).into_iter().filter(|at| !at.ends_with("net")).collect();
    tops.push("/proc/irq".into());
    tops.extend(
        ["transparent_hugepage", "hugepages", "ksm"].map(|name| Path::new("/sys/kernel/mm").join(name)),
    );
    tops.extend(below(Path::new("/sys/devices/system/node")).into_iter().map(|node| node.join("hugepages")));
    let queues = below(Path::new("/sys/block"))
        .into_iter()
        .filter_map(|disk| fs::canonicalize(disk.join("queue")).ok());
    tops.extend(queues);
    tops.retain(|top| top.is_dir());
    for top in &tops {
        tree.copy(top);
    }
    let list: String = tops.iter().map(|top| format!("{}\n", top.display())).collect();
    tree.fixed(LIST, &list);
    tree.fixed(CMDLINE, &fs::read_to_string("/proc/cmdline").unwrap_or_default());
    tree
}

fn below(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    found.sort();
    found
}

/// Puts the settings of this host over the kernel's own in the root at `root`, from inside the host's namespaces,
/// and makes the rest of `/sys` read-only but for the queues of the host's own cards.
pub(super) fn put_in_place(root: &Path, settings: &Path) -> Result<(), Box<Diagnostic>> {
    let under = |path: &Path| root.join(path.strip_prefix("/").unwrap_or(path));
    let aside = root.join("run/tunerun-lab");
    fs::create_dir_all(&aside).map_err(failed(format!("make {}", aside.display())))?;
    cards(&under(Path::new("/sys")), &aside)?;
    let kernel = under(Path::new("/proc/sys/kernel"));
    bind(&kernel, &aside)?;
    // Else it is covered too when the copy comes, for the two are one to the kernel.
    let apart = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    mount(None::<&str>, &aside, None::<&str>, apart, None::<&str>)
        .map_err(refused("keep the kernel's own settings apart"))?;
    let list = settings.join(LIST);
    let list = fs::read_to_string(&list).map_err(failed(format!("read {}", list.display())))?;
    for top in list.lines().map(Path::new) {
        let copy = settings.join(top.strip_prefix("/").unwrap_or(top));
        bind(&copy, &under(top))?;
    }
    for name in OWN.iter().filter(|name| aside.join(name).exists()) {
        bind(&aside.join(name), &kernel.join(name))?;
    }
    bind(&settings.join(CMDLINE), &under(Path::new("/proc/cmdline")))?;
    umount2(&aside, MntFlags::MNT_DETACH).map_err(refused("let go of the kernel's own settings"))?;
    fs::remove_dir(&aside).map_err(failed(format!("remove {}", aside.display())))
}

/// Makes `/sys` read-only, and in it the host's own cards writable.
fn cards(sys: &Path, aside: &Path) -> Result<(), Box<Diagnostic>> {
    let none = None::<&str>;
    // A mount of its own: the one at /sys may be read-only, or only a part of it.
    mount(Some("tunerun-lab"), aside, Some("sysfs"), MsFlags::empty(), none)
        .map_err(refused("mount sysfs"))?;
    mount(none, aside, none, MsFlags::MS_REMOUNT, none).map_err(refused("make sysfs writable"))?;
    let net = "devices/virtual/net";
    bind(&aside.join(net), &sys.join(net))?;
    umount2(aside, MntFlags::MNT_DETACH).map_err(refused("let go of sysfs"))?;
    mount(none, sys, none, MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY, none)
        .map_err(refused("make /sys read-only"))
}

fn bind(from: &Path, to: &Path) -> Result<(), Box<Diagnostic>> {
    mount(Some(from), to, None::<&str>, MsFlags::MS_BIND | MsFlags::MS_REC, None::<&str>)
        .map_err(refused(format!("put {} in place at {}", from.display(), to.display())))
}
