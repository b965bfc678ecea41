//! The root of one host: its own size-limited layer over the shared one, and the files that are its alone.
use super::failed;
use super::keys::Pair;
use super::refused;
use super::skeleton::{file, overlay};
use super::spec::LabHost;
use crate::diagnostic::Diagnostic;
use nix::mount::{MsFlags, mount};
use std::fs;
use std::path::{Path, PathBuf};

/// Makes the root of a host and returns where it is mounted.
pub(super) fn make(
    fs_dir: &Path,
    skel: &Path,
    host: &LabHost,
    key: &Pair,
    upper_mib: u64,
) -> Result<PathBuf, Box<Diagnostic>> {
    let home = fs_dir.join("hosts").join(&host.name);
    fs::create_dir_all(&home).map_err(failed(format!("make {}", home.display())))?;
    // A tmpfs for each host: a full disk on one is no full disk on another.
    let size = format!("size={upper_mib}m,mode=755");
    mount(Some("tunerun-lab"), &home, Some("tmpfs"), MsFlags::empty(), Some(size.as_str()))
        .map_err(refused(format!("mount the disk of {}", host.name)))?;
    let (upper, work, root) = (home.join("upper"), home.join("work"), home.join("root"));
    for folder in [&upper, &work, &root] {
        fs::create_dir(folder).map_err(failed(format!("make {}", folder.display())))?;
    }
    overlay(&root, &[skel, Path::new("/")], &upper, &work)?;
    for (path, text, mode) in [
        ("etc/hostname", format!("{}\n", host.name), 0o644),
        ("etc/machine-id", format!("{}\n", machine_id()), 0o444),
        ("etc/ssh/ssh_host_ed25519_key", key.private.clone(), 0o600),
        ("etc/ssh/ssh_host_ed25519_key.pub", format!("{} {}\n", key.public, host.name), 0o644),
    ] {
        file(&root.join(path), &text, mode)?;
    }
    Ok(root)
}

/// A new machine-id: 32 hexadecimal digits, marked as a random UUID as machine-id(5) asks.
fn machine_id() -> String {
    let id = rand::random::<u128>() & !(0xf << 76) & !(0x3 << 62) | (0x4 << 76) | (0x2 << 62);
    format!("{id:032x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_random_uuids() {
        let id = machine_id();
        assert_eq!((id.len(), &id[12..13]), (32, "4"));
        assert!(matches!(&id[16..17], "8" | "9" | "a" | "b"), "{id}");
        assert_ne!(id, machine_id());
    }
}
