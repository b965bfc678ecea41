//! Asks `ssh -G` for what our own reader does not understand.
use super::Settings;
use std::process::{Command, Stdio};

/// Runs `ssh -G` with arguments for a host. It takes about 5 ms; ask once for what can have the same answer.
pub fn ssh_g(arguments: &[String], host: &str) -> Result<Settings, String> {
    let output =
        Command::new("ssh").arg("-G").args(arguments).args(["--", host]).stdin(Stdio::null()).output();
    let output =
        output.map_err(|error| format!("`ssh -G` cannot be run: {error}; install openssh-client"))?;
    if !output.status.success() {
        return Err(format!("`ssh -G {host}`: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    Ok(Settings::from_ssh_g(&String::from_utf8_lossy(&output.stdout)))
}
