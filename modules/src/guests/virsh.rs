//! Calls of `virsh` with their libvirt: rows whose time is limited.
use crate::vocabulary::Row;

/// A call on one libvirt.
pub(crate) fn call<'a>(uri: &str, name: &str, args: impl IntoIterator<Item = &'a str>) -> Row {
    let mut row = Row::new(name, args);
    row.env = vec![("LIBVIRT_DEFAULT_URI".to_owned(), uri.to_owned())];
    row
}

/// The persistent domains: uuid and name, one a line.
pub(crate) fn list(uri: &str) -> Row {
    call(uri, "virsh-list", [])
}

/// The uuids of the domains that run.
pub(crate) fn active(uri: &str) -> Row {
    call(uri, "virsh-list-active", [])
}

/// The versions of libvirt and QEMU.
pub(super) fn version(uri: &str) -> Row {
    call(uri, "virsh-version", [])
}

/// What a domain is started with next.
pub(crate) fn inactive_xml(uri: &str, uuid: &str) -> Row {
    call(uri, "virsh-xml-inactive", [uuid])
}

/// What a running domain was started with.
pub(super) fn live_xml(uri: &str, uuid: &str) -> Row {
    call(uri, "virsh-xml", [uuid])
}

/// Defines a domain from a text; where `checked`, libvirt compares it with its own schema first.
pub(super) fn define(uri: &str, checked: bool, xml: &str) -> Row {
    let mut row = call(uri, if checked { "virsh-define-checked" } else { "virsh-define" }, []);
    row.stdin = Some(xml.to_owned());
    row
}

/// The versions of libvirt and of QEMU that `virsh version` tells; none where it does not.
pub(super) fn versions(answer: &str) -> (Option<Version>, Option<Version>) {
    let of = |mark: &str| {
        let line = answer.lines().find_map(|line| line.trim().strip_prefix(mark))?;
        Version::parse(line)
    };
    (of("Using library: libvirt "), of("Running hypervisor: QEMU "))
}

/// A version of three numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version(pub(super) u32, pub(super) u32, pub(super) u32);

impl Version {
    fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.trim().split('.').map(|number| number.parse::<u32>().ok());
        Some(Self(numbers.next()??, numbers.next().flatten()?, numbers.next().flatten().unwrap_or(0)))
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}.{}.{}", self.0, self.1, self.2)
    }
}

#[cfg(test)]
mod tests {
    use super::{Version, versions};

    #[test]
    fn versions_are_read_from_what_virsh_says() {
        let answer = "Compiled against library: libvirt 9.0.0\nUsing library: libvirt 9.0.0\nUsing API: QEMU 9.0.0\nRunning hypervisor: QEMU 10.0.2\n";
        assert_eq!(versions(answer), (Some(Version(9, 0, 0)), Some(Version(10, 0, 2))));
        assert_eq!(versions("error: no"), (None, None));
        assert!(Version(3, 4, 0) < Version(10, 0, 0));
    }
}
