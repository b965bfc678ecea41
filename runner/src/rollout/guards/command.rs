//! `command:` of a guard: a program on the controller that must succeed before and after each host.
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::process::Stdio;
use std::time::Duration;
use tokio::process::Command;

/// The variable of its environment that names the host.
const HOST: &str = "TUNERUN_HOST";

/// A process group that ends with whoever waits for it.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // It may have ended by itself.
            let _ = killpg(group, Signal::SIGKILL);
        }
    }
}

/// Why the command does not succeed for a host; none where it does. What it began ends with it.
pub(super) async fn fails(words: &[String], host: &str, within: Duration) -> Option<String> {
    let (program, arguments) = words.split_first()?;
    let shown = words.join(" ");
    let child = Command::new(program)
        .args(arguments)
        .env(HOST, host)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn();
    let child = match child {
        Ok(child) => child,
        Err(why) => return Some(format!("{host}: `{shown}` cannot be run: {why}")),
    };
    let group = child.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw);
    let _group = Group(group);
    match tokio::time::timeout(within, child.wait_with_output()).await {
        Ok(Ok(output)) if output.status.success() => None,
        Ok(Ok(output)) => {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let last = said.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default();
            let colon = if last.is_empty() { "" } else { ": " };
            Some(format!("{host}: `{shown}` failed ({}){colon}{last}", output.status))
        }
        Ok(Err(why)) => Some(format!("{host}: `{shown}` cannot be run: {why}")),
        Err(_) => Some(format!("{host}: `{shown}` did not end within {} s", within.as_secs())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn of(script: &str, within: u64) -> Option<String> {
        let words = ["sh", "-c", script].map(str::to_owned);
        fails(&words, "h1", Duration::from_secs(within)).await
    }

    #[tokio::test]
    async fn it_knows_the_host_and_its_status_counts() {
        assert_eq!(of("[ \"$TUNERUN_HOST\" = h1 ]", 20).await, None);
        let words = of("echo not now >&2; exit 3", 20).await.unwrap();
        assert!(words.contains("h1: ") && words.contains('3') && words.ends_with(": not now"), "{words}");
        let gone = fails(&["/nowhere/command".to_owned()], "h1", Duration::from_secs(5)).await;
        assert!(gone.unwrap().contains("cannot be run"));
    }

    #[tokio::test]
    async fn what_does_not_end_is_ended_with_what_it_began() {
        let mark = std::env::temp_dir().join(format!("tunerun-guard-{}", std::process::id()));
        let script = format!("sleep 60 & echo $! >{}; wait", mark.display());
        let words = of(&script, 1).await.unwrap();
        assert!(words.contains("did not end within 1 s"), "{words}");
        let pid = std::fs::read_to_string(&mark).unwrap();
        std::fs::remove_file(&mark).unwrap();
        let stat = std::path::PathBuf::from(format!("/proc/{}/stat", pid.trim()));
        let until = std::time::Instant::now() + Duration::from_secs(10);
        let runs = || std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
        while runs() {
            assert!(std::time::Instant::now() < until, "what it began still runs");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}
