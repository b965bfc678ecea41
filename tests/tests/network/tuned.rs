//! TuneD itself: a profile of one's own beside the host's sysctl files, applied and taken back.
use crate::stage::{Stage, stage_of};
use std::path::Path;
use tunerun::lab::Tier;

/// A booted host on which TuneD runs; none where it is not installed, said loudly.
fn tuned() -> Option<Stage> {
    if !Path::new("/usr/sbin/tuned-adm").is_file() {
        eprintln!("NOT TESTED: profiles of TuneD need the package tuned");
        assert!(std::env::var_os("CI").is_none(), "CI must have tuned");
        return None;
    }
    let stage = stage_of(Tier::Booted, &["a"])?;
    stage.said(
        "a",
        "echo 'net.ipv4.tcp_fin_timeout = 33' >/etc/sysctl.d/90-host.conf && sysctl -q -p /etc/sysctl.d/90-host.conf && \
         systemctl start tuned && tuned-adm profile balanced",
    );
    Some(stage)
}

fn standing(stage: &Stage) -> String {
    stage.said(
        "a",
        "tuned-adm active; cat /proc/sys/net/ipv4/tcp_fin_timeout; find /etc/tuned -type f ! -name '*_profile' ! -name profile_mode | \
         sort | xargs sha256sum",
    )
}

fn has(stage: &Stage, profile: &str, seconds: u32) {
    let standing = standing(stage);
    let wanted = format!("Current active profile: {profile}\n{seconds}\n");
    assert!(standing.starts_with(&wanted), "{standing}");
}

#[test]
fn a_profile_beside_the_hosts_own_settings_is_applied_and_taken_back() {
    let Some(stage) = tuned() else { return };
    let before = standing(&stage);
    has(&stage, "balanced", 33);
    let task = "- tuned_profile: {profile: own, settings: {main: {summary: a test}, sysctl: {net.ipv4.tcp_fin_timeout: 17}}";

    // TuneD applies the host's sysctl files after the profile, and the task says so.
    let play = stage.playbook(&format!("{task}}}"));
    let said = stage.fine(&[&play[..4], &["--check"]].concat());
    assert!(said.contains("reapply_sysctl: false"), "{said}");
    stage.fine(&play);
    has(&stage, "own", 33);
    let first = standing(&stage);

    stage.fine(&stage.playbook(&format!("{task}, reapply_sysctl: false}}")));
    has(&stage, "own", 17);
    let again = ["play", "p.yaml", "-i", "hosts.yaml", "--check", "--detailed-exitcode"];
    stage.fine(&again);
    assert!(stage.fine(&["evidence", "p.yaml", "-i", "hosts.yaml"]).contains("TuneD applies own"));

    stage.fine(&["undo", "last"]);
    assert_eq!(standing(&stage), first);
    stage.fine(&["undo", &stage.first_run()]);
    assert_eq!(standing(&stage), before);
}
