//! The network of a lab: a bridge inside the supervisor's network namespace, with no way out of it.
use super::failed;
use super::refused;
use super::requirement::program;
use crate::diagnostic::Diagnostic;
use crate::lab::spec::LabHost;
use nix::sched::{CloneFlags, setns};
use std::fs::File;
use std::io::Write;
use std::net::Ipv4Addr;
use std::process::{Command, Stdio};

/// The bridge's own address, which programs inside the lab's network come from.
pub(super) const BRIDGE: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);

/// The bridge's own hardware address, fixed for the same reason as the hosts'.
const BRIDGE_MAC: &str = "02:54:52:ff:00:01";

/// Queues of each host's card, so that there is something to steer (XPS, RPS).
const QUEUES: u16 = 4;

/// The address of the host with this number, from 1.
pub(super) fn address(number: u16) -> Ipv4Addr {
    let [high, low] = [(number - 1) / 250 + 1, (number - 1) % 250 + 1];
    Ipv4Addr::new(10, 77, u8::try_from(high).unwrap_or(u8::MAX), u8::try_from(low).unwrap_or(u8::MAX))
}

/// The hosts file: hosts find one another by name.
pub(super) fn names(hosts: &[LabHost]) -> String {
    let hosts = hosts.iter().map(|host| format!("{} {}\n", host.ip, host.name));
    std::iter::once("127.0.0.1 localhost\n".to_owned()).chain(hosts).collect()
}

/// The hardware address of a host: fixed, so that a host that boots anew is found at once.
fn mac(number: u16) -> String {
    format!("02:54:52:00:{:02x}:{:02x}", number >> 8, number & 0xff)
}

/// Sets up the supervisor's own network. IPv6 is off before any card is up: else each greets every other, N² packets.
pub(super) fn bridge() -> Result<(), Box<Diagnostic>> {
    ipv6_off();
    ip(&format!(
        "link set lo up\nlink add br0 address {BRIDGE_MAC} type bridge\naddr add {BRIDGE}/16 dev br0\nlink set br0 up\n"
    ))
}

/// Turns IPv6 off in the caller's network namespace; a kernel without IPv6 has nothing to turn off.
pub(super) fn ipv6_off() {
    for scope in ["all", "default"] {
        let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{scope}/disable_ipv6"), "1");
    }
}

/// Gives each host its card: one end on the bridge, the other in the network of the process `pid`.
///
/// What was known of a neighbour of that address is forgotten, and the fixed MAC put in its place: a question for it
/// would be lost on a host whose card is not up yet, and be asked again after a second only.
pub(super) fn plug(hosts: &[(&LabHost, u32)]) -> Result<(), Box<Diagnostic>> {
    let batch: String = hosts
        .iter()
        .map(|(host, pid)| {
            let (port, mac) = (port(host), mac(host.number));
            format!(
                "link add {port} numtxqueues {QUEUES} numrxqueues {QUEUES} type veth peer name eth0 \
                 address {mac} numtxqueues {QUEUES} numrxqueues {QUEUES} netns {pid}\n\
                 link set {port} master br0 up\nneigh flush dev br0 to {ip}\n\
                 neigh replace {ip} lladdr {mac} nud permanent dev br0\n",
                ip = host.ip,
            )
        })
        .collect();
    ip(&batch)
}

/// The name of a host's port on the bridge; at most 15 bytes whatever the host is called.
fn port(host: &LabHost) -> String {
    format!("h{}", host.number)
}

/// Takes a host's port off the bridge, if it is still there.
pub(super) fn unplug(host: &LabHost) {
    let _ = ip(&format!("link del {}\n", port(host)));
}

/// Sets up the card from inside the caller's network namespace.
pub(super) fn card(host: &LabHost) -> Result<(), Box<Diagnostic>> {
    ip(&format!(
        "link set lo up\naddr add {}/16 dev eth0\nlink set eth0 up\n\
         neigh replace {BRIDGE} lladdr {BRIDGE_MAC} nud permanent dev eth0\n",
        host.ip
    ))
}

/// Runs a batch of `ip` commands in the caller's network namespace.
fn ip(batch: &str) -> Result<(), Box<Diagnostic>> {
    let program = program("ip").ok_or_else(|| Diagnostic::error("`ip` is not installed", None))?;
    let mut child = Command::new(program)
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed("run ip"))?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(batch.as_bytes()).map_err(failed("speak to ip"))?;
    }
    let done = child.wait_with_output().map_err(failed("run ip"))?;
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr).trim().to_owned();
    Err(Diagnostic::error("the lab's network could not be set up", None).note(said).into())
}

/// Does something on a thread that sits in another network namespace; the caller's own thread stays where it is.
pub(super) fn inside<T: Send>(
    network: &File,
    work: impl FnOnce() -> Result<T, Box<Diagnostic>> + Send,
) -> Result<T, Box<Diagnostic>> {
    std::thread::scope(|scope| {
        let there = scope.spawn(|| {
            setns(network, CloneFlags::CLONE_NEWNET).map_err(refused("enter the lab's network"))?;
            work()
        });
        there.join().unwrap_or_else(|_| {
            Err(Diagnostic::error("a thread in the lab's network ended early", None).into())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_macs_never_repeat() {
        let all: std::collections::BTreeSet<_> = (1..=1000).map(|n| (address(n), mac(n))).collect();
        assert_eq!(all.len(), 1000);
        assert_eq!(address(1), Ipv4Addr::new(10, 77, 1, 1));
        assert_eq!(address(250), Ipv4Addr::new(10, 77, 1, 250));
        assert_eq!(address(251), Ipv4Addr::new(10, 77, 2, 1));
        assert!(!all.iter().any(|(ip, _)| *ip == BRIDGE));
    }
}
