//! A booted host: systemd as its pid 1, started by systemd-nspawn and started again when it asks for a reboot.
use super::knobs::Settings;
use super::spec::LabHost;
use std::path::PathBuf;

/// Where a host sees its own settings.
pub(super) const SETTINGS: &str = "/usr/lib/tunerun-lab/settings";

/// A booted host.
pub(super) struct Booted {
    _host: LabHost,
}

impl Booted {
    /// Starts it.
    pub fn start(
        host: LabHost,
        _root: PathBuf,
        _at: PathBuf,
        _settings: Settings,
        _groups: Vec<PathBuf>,
        _log: PathBuf,
        _program: PathBuf,
    ) -> Self {
        Self { _host: host }
    }

    /// Lets it end for good.
    pub fn stop_watching(&self) {}
}
