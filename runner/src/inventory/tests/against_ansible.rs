//! Real inventories must give what ansible-core gave for them.
use crate::inventory::{Disk, GroupId, Inventory, InventorySource, Unselection};
use serde_json::Value as Json;
use std::path::{Path, PathBuf};

fn data(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data").join(path)
}

fn expected(path: &str) -> Json {
    serde_json::from_slice(&std::fs::read(data(path)).unwrap()).unwrap()
}

fn load(files: &[&str], playbook_dir: Option<&str>) -> Inventory {
    let sources: Vec<InventorySource> = files.iter().map(|file| InventorySource::Path(data(file))).collect();
    let dir = playbook_dir.map(data);
    let loaded = Inventory::load(&sources, &Disk, dir.as_deref());
    loaded.unwrap_or_else(|problems| panic!("{}", super::shown(&problems))).0
}

#[track_caller]
fn same(inventory: &Inventory, expected: &Json) {
    let got = inventory.list_json();
    for (name, wanted) in expected["list"].as_object().unwrap() {
        assert_eq!(&got[name], wanted, "{name}");
    }
    assert_eq!(got, expected["list"]);
}

#[test]
fn the_corpus_reads_as_ansible_reads_it() {
    for (folder, files) in [
        ("01-ceph-ansible-all-daemons", &["hosts"][..]),
        ("02-ceph-ansible-collocated-no-newline", &["hosts"]),
        ("03-kolla-multinode-shortened", &["multinode"]),
        ("04-kubespray-local", &["hosts.ini"]),
        ("05-seapath-cluster", &["inventory.yaml"]),
        ("06-ceph-ansible-external-clients", &["hosts"]),
        ("07-cephadm-ansible-labels", &["hosts"]),
        ("08-kayobe-groups", &["groups"]),
        ("09-ipu-placeholders", &["inventory.ini"]),
    ] {
        let folder = format!("corpus/inventory/{folder}");
        let files: Vec<String> = files.iter().map(|file| format!("{folder}/{file}")).collect();
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        println!("{folder}");
        same(&load(&files, None), &expected(&format!("{folder}/expected.json")));
    }
}

#[test]
fn no_folder_of_the_corpus_is_left_out() {
    let folders = std::fs::read_dir(data("corpus/inventory")).unwrap();
    let folders = folders.filter(|entry| entry.as_ref().unwrap().path().is_dir()).count();
    assert_eq!(folders, 9, "the table above names each folder");
}

#[test]
fn rules_of_both_forms_hold() {
    for (name, files, playbook_dir) in [
        ("ini-rules", &["ini-rules/hosts"][..], None),
        ("yaml-rules", &["yaml-rules/hosts.yml"], None),
        ("deep-groups", &["deep-groups/hosts.ini"], None),
        ("folder", &["folder"], None),
        ("precedence", &["precedence/inv/hosts"], Some("cases/inventory/precedence/play")),
    ] {
        println!("{name}");
        let files: Vec<String> = files.iter().map(|file| format!("cases/inventory/{file}")).collect();
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        let inventory = load(&files, playbook_dir);
        let expected = expected(&format!("cases/inventory/{name}.json"));
        same(&inventory, &expected);
        assert_eq!(inventory.graph(GroupId::ALL), expected["graph"].as_str().unwrap());
    }
}

#[test]
fn a_group_of_empty_groups_says_that_it_is_empty() {
    let inventory = load(&["corpus/inventory/08-kayobe-groups/groups"], None);
    let empty = inventory.select("compute", None).unwrap_err();
    assert_eq!(empty.kind, Unselection::Empty);
    assert_eq!(empty.problems[0].message, "the host pattern `compute` chooses no host");
}
