//! Hosts and groups that come while a play runs.
use super::{Paper, ini, paths};
use crate::inventory::{Inventory, InventoryVar};
use crate::source::{Source, Span};
use serde_json::json;

fn here() -> Span {
    Span::new(&Source::new("site.yaml", "- add_host:"), 2, 10)
}

#[test]
fn a_host_is_added_with_its_groups_and_files() {
    let paper = Paper::with(&[
        ("hosts", "[g]\na\n[g:vars]\nv=g\n"),
        ("group_vars/late", "w: late\n"),
        ("host_vars/b", "x: b\n"),
    ]);
    let (before, _) = Inventory::load(&paths(&["hosts"]), &paper, None).unwrap();
    let mut after = before.clone();
    let var = InventoryVar { value: json!("{{ no }}"), origin: here(), trusted: false };
    let vars = [("seen".to_owned(), var)];
    let (host, _) = after.add_host("b:2222", &["g", "late"], vars, &here(), &paper).unwrap();
    assert_eq!(
        after.host_json(host),
        json!({"v": "g", "w": "late", "ansible_port": 2222, "seen": {"__ansible_unsafe": "{{ no }}"}, "x": "b"})
    );
    assert_eq!(after.groups_of(host), ["g", "late"]);
    assert_eq!(after.select("late", None).unwrap(), [host]);
    assert!(before.host("b").is_none(), "a clone does not change what it was made from");
    let (again, _) = after.add_host("b", &[], [], &here(), &paper).unwrap();
    assert_eq!(again, host);
    assert_eq!(after.groups_of(host), ["g", "late"]);
    assert!(after.add_host("c[1:2]", &[], [], &here(), &paper).is_err());
    assert!(after.add_host("c:x", &[], [], &here(), &paper).is_err());
}

#[test]
fn hosts_are_grouped_by_what_was_seen() {
    let mut inventory = ini("a\nb\n");
    let paper = Paper::default();
    let hosts = inventory.select("a", None).unwrap();
    let (group, _) = inventory.add_group("os_debian", &["os", "all"], &hosts, &here(), &paper).unwrap();
    assert_eq!(inventory.hosts_of(group), hosts);
    assert_eq!(inventory.groups_of(hosts[0]), ["os", "os_debian"]);
    assert_eq!(inventory.groups_of(inventory.host("b").unwrap()), ["ungrouped"]);
    assert!(inventory.add_group("os", &["os_debian"], &[], &here(), &paper).is_err(), "a loop");
}

#[test]
fn localhost_that_is_written_is_an_ordinary_host() {
    let mut inventory = ini("a\n");
    assert_eq!(inventory.select("all", None).unwrap().len(), 1);
    let (host, _) = inventory.add_host("localhost", &[], [], &here(), &Paper::default()).unwrap();
    assert!(!inventory.is_implicit(host));
    assert_eq!(inventory.select("all", None).unwrap().len(), 2);
    assert!(inventory.var(host, "ansible_connection").is_none());
}
