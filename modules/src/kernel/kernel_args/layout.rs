//! Which boot loader a host has, and which files its kernel line is made of.
use super::shell::script::Reading;

/// A `grub-mkconfig` script as read: what it does is in its text, not in the distribution's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mkconfig {
    /// `grub-mkconfig` or `grub2-mkconfig`.
    pub program: &'static str,
    /// Whether it reads `/etc/default/grub.d/*.cfg` (Debian, Ubuntu and newer others).
    pub drop_ins: bool,
    /// Whether it leaves the boot entries alone unless told (`--update-bls-cmdline`, RHEL 9.3 and later).
    pub update_bls_flag: bool,
}

impl Mkconfig {
    /// Reads the script.
    pub fn read(program: &'static str, text: &str) -> Self {
        Self {
            program,
            drop_ins: text.contains("/default/grub.d"),
            update_bls_flag: text.contains("update-bls-cmdline"),
        }
    }
}

/// What was seen that tells the layout.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signs {
    /// The configuration program of GRUB, if there is one.
    pub mkconfig: Option<Mkconfig>,
    /// Whether Debian's `update-grub` is there.
    pub update_grub: bool,
    /// Whether `/etc/default/grub` is there.
    pub default_grub: bool,
    /// The generated configuration that GRUB reads, path and text, if there is one.
    pub grub_cfg: Option<(String, String)>,
    /// How many boot entries there are.
    pub entries: usize,
    /// Whether `/etc/kernel/cmdline` is there.
    pub kernel_cmdline: bool,
    /// Whether Proxmox' `proxmox-boot-tool` syncs the boot partitions.
    pub proxmox: bool,
    /// Unified kernel images, which hold their line inside.
    pub unified: Vec<String>,
}

/// A boot layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layout {
    /// GRUB with a generated configuration: Debian, Ubuntu, SUSE, RHEL 7, Arch.
    Grub {
        /// How the configuration is made again.
        regenerate: Regenerate,
        /// Whether drop-ins are read.
        drop_ins: bool,
    },
    /// GRUB that reads boot entries: RHEL 8 and later, Fedora.
    GrubEntries {
        /// Whether entries stay as they are when the configuration is made again.
        update_bls_flag: bool,
    },
    /// systemd-boot, or another loader that reads boot entries.
    Entries,
    /// Proxmox: `/etc/kernel/cmdline` and the GRUB files, synced by `proxmox-boot-tool`.
    Proxmox {
        /// Whether drop-ins of GRUB are read.
        drop_ins: bool,
    },
}

/// How a generated configuration is made again: a row of the table of programs and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Regenerate {
    /// The row's name.
    pub row: &'static str,
    /// Its arguments.
    pub args: Vec<String>,
}

/// Why no layout can be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unclear {
    /// Nothing that is known was found.
    Nothing,
    /// The line is inside signed or unified images.
    Unified(Vec<String>),
    /// GRUB's files are there but nothing that makes its configuration.
    NoMkconfig,
    /// There is no configuration that GRUB reads, so it cannot be told where one would go.
    NoConfiguration,
}

/// Tells the layout.
///
/// # Errors
/// What is missing or in the way.
pub fn detect(signs: &Signs, reading: &Reading) -> Result<Layout, Unclear> {
    let drop_ins = signs.mkconfig.as_ref().is_some_and(|mkconfig| mkconfig.drop_ins);
    if signs.proxmox {
        return Ok(Layout::Proxmox { drop_ins });
    }
    let bls_asked = reading.value("GRUB_ENABLE_BLSCFG").is_some_and(|value| value.likely() == "true");
    let bls_used = signs.grub_cfg.as_ref().is_some_and(|(_, text)| reads_entries(text));
    match &signs.mkconfig {
        Some(mkconfig) if signs.entries > 0 && (bls_used || (bls_asked && signs.grub_cfg.is_none())) => {
            Ok(Layout::GrubEntries { update_bls_flag: mkconfig.update_bls_flag })
        }
        Some(mkconfig) if signs.default_grub || signs.grub_cfg.is_some() => {
            let regenerate = match (&signs.grub_cfg, signs.update_grub) {
                (_, true) => Regenerate { row: "update-grub", args: Vec::new() },
                (Some((path, _)), false) => Regenerate { row: mkconfig.program, args: vec![path.clone()] },
                (None, false) => return Err(Unclear::NoConfiguration),
            };
            Ok(Layout::Grub { regenerate, drop_ins: mkconfig.drop_ins })
        }
        _ if signs.entries > 0 => Ok(Layout::Entries),
        _ if !signs.unified.is_empty() => Err(Unclear::Unified(signs.unified.clone())),
        None if signs.default_grub => Err(Unclear::NoMkconfig),
        _ => Err(Unclear::Nothing),
    }
}

/// Whether a generated `grub.cfg` takes its entries from `/boot/loader/entries` (the command `blscfg`).
pub fn reads_entries(grub_cfg: &str) -> bool {
    grub_cfg.lines().any(|line| line.trim() == "blscfg" || line.trim().starts_with("blscfg "))
}

/// The kernel lines of a generated `grub.cfg`, recovery entries left out, image path first. Quotes and escapes of
/// GRUB's script are those of a shell for what `grub-mkconfig` writes.
pub fn generated_lines(grub_cfg: &str) -> Vec<String> {
    let mut title = "";
    let mut found = Vec::new();
    for line in grub_cfg.lines().map(str::trim) {
        if line.starts_with("menuentry ") {
            title = line;
        }
        let command = line.split_whitespace().next().unwrap_or("");
        let is_linux = matches!(command, "linux" | "linux16" | "linuxefi");
        let recovery =
            title.contains("recovery mode") || title.contains("-recovery-") || line.ends_with(" single");
        // Another system's entry, found by os-prober, is not ours.
        if is_linux && !recovery && !title.contains("osprober") {
            let rest = line[command.len()..].trim();
            found.extend(rest.split_once(char::is_whitespace).map(|(_, args)| args.trim().to_owned()));
        }
    }
    found
}
