//! The playbooks and inventories of this repository: they read without a word of complaint, and say what they bring.
#[path = "playbooks/probes.rs"]
mod probes;

use std::path::{Path, PathBuf};
use tunerun::inventory::{self, Inventory, InventorySource};
use tunerun::playbook::{Disk, Known, Loader, Vocabulary};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All files below a folder of the repository with this ending.
fn below(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(below(&path, ending));
        } else if path.extension().is_some_and(|it| it == ending) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn inventory(name: &str) -> Inventory {
    let path = repository().join("inventories").join(name);
    match Inventory::load(&[InventorySource::Path(path)], &inventory::Disk, None) {
        Ok((inventory, warnings)) => {
            assert_eq!(warnings, [], "{name}");
            inventory
        }
        Err(problems) => panic!("{name}: {problems:#?}"),
    }
}

fn members(inventory: &Inventory, group: &str) -> Vec<String> {
    let group = inventory.group(group).unwrap_or_else(|| panic!("no group {group}"));
    inventory.hosts_of(group).into_iter().map(|host| inventory.host_name(host).to_owned()).collect()
}

#[test]
fn every_inventory_has_the_groups_that_the_playbook_plays() {
    let lab = inventory("lab.yaml");
    assert_eq!(members(&lab, "osds"), ["osd1", "osd2"]);
    assert_eq!(members(&lab, "storage"), ["osd1", "osd2", "client1"]);
    for path in below(&repository().join("inventories"), "yaml") {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let inventory = inventory(&name);
        for group in ["osds", "clients", "hypervisors", "storage"] {
            assert!(!members(&inventory, group).is_empty(), "{name}: {group}");
        }
    }
}

#[test]
fn the_site_playbook_is_free_of_problems_and_warnings() {
    let vocabulary = Vocabulary::new(modules::ALL.iter().map(Known::of));
    let load = |name: &str| {
        let path = repository().join("playbooks").join(name);
        Loader::new(&Disk, &vocabulary, Vec::new())
            .load(&path.to_string_lossy())
            .unwrap_or_else(|problems| panic!("{problems:#?}"))
    };
    let site = load("site.yaml");
    assert_eq!(site.warnings, []);
    // All that the sources say is in it, in their order.
    let mut plays = site.plays.iter().map(|play| play.name.as_str());
    for source in ["ceph-network-cpu.yaml", "lvm-kvm-disk.yaml", "ceph-qemu-librbd.yaml", "spdk-vhost.yaml"] {
        for play in load(source).plays {
            assert_eq!(plays.next(), Some(play.name.as_str()), "{source}");
        }
    }
    assert_eq!(plays.count(), 4, "three of its own, and the boots");
}

#[test]
fn the_grammar_of_rollouts_is_read_without_a_word_of_complaint() {
    let vocabulary = Vocabulary::new(modules::ALL.iter().map(Known::of));
    let path = repository().join("playbooks/example-rollout.yaml");
    let playbook = match Loader::new(&Disk, &vocabulary, Vec::new()).load(&path.to_string_lossy()) {
        Ok(playbook) => playbook,
        Err(problems) => panic!("{problems:#?}"),
    };
    assert_eq!(playbook.warnings, []);
    assert_eq!(playbook.plays.len(), 3);
}

#[test]
fn every_tuning_says_what_its_source_measured() {
    let tunings = ["kernel_args:", "sysctl:", "sysfs:", "hugepages:", "systemd_unit:"];
    for path in below(&repository().join("playbooks/roles"), "yaml") {
        let text = std::fs::read_to_string(&path).unwrap();
        let tasks = text.split("\n- name: ").skip(1);
        for task in tasks.filter(|task| tunings.iter().any(|it| task.contains(&format!("\n  {it}")))) {
            let second = task.lines().nth(1).unwrap_or_default();
            assert!(second.starts_with("  # "), "{}: `{}` has no comment", path.display(), &task[..40]);
        }
    }
}

#[test]
fn every_playbook_names_its_jobs() {
    let vocabulary = Vocabulary::new(modules::ALL.iter().map(Known::of));
    for name in ["ceph-qemu-librbd", "lvm-kvm-disk", "spdk-vhost", "ceph-network-cpu", "ceph-encryption"] {
        let path = repository().join("playbooks").join(name).with_extension("yaml");
        let playbook = match Loader::new(&Disk, &vocabulary, Vec::new()).load(&path.to_string_lossy()) {
            Ok(playbook) => playbook,
            Err(problems) => panic!("{name}: {problems:#?}"),
        };
        assert_eq!(playbook.warnings, [], "{name}");
        let text = std::fs::read_to_string(&path).unwrap();
        // What overwrites, measures or weakens is taken only when it is asked for by name.
        assert!(text.contains("tags: [never, "), "{name}");
        assert!(text.starts_with("# "), "{name} says where it comes from");
    }
}

/// What is said of the sources' own commands, word by word as they were published.
#[test]
#[expect(clippy::too_many_lines, reason = "one story")]
fn the_traps_of_the_sources_are_named() {
    let vocabulary = Vocabulary::new(modules::ALL.iter().map(Known::of));
    let said = |name: &str| -> String {
        let path = repository().join("tests/cases").join(name).with_extension("yaml");
        let playbook = Loader::new(&Disk, &vocabulary, Vec::new()).load(&path.to_string_lossy()).unwrap();
        tunerun::playbook::lints::lints(&playbook).iter().map(|lint| format!("{}\n", lint.message)).collect()
    };
    let expected: [(&str, &[&str]); 4] = [
        (
            "verbatim-librbd",
            &[
                "a password on a command line",
                "listens on every address",
                "does not reach guests of QEMU",
                "2 changes since the last measurement: LD_PRELOAD, iothread",
                "3 changes since the last measurement",
                "one mode of Ceph's connections alone",
                "a file system is made over whatever is there",
            ],
        ),
        (
            "verbatim-spdk",
            &[
                "without an allow list",
                "whether that core runs is known to the target alone",
                "blocks of 8192 bytes with 0 bytes",
                "a tap made by hand is gone",
                "affinity of one process",
            ],
        ),
        (
            "verbatim-lvm",
            &[
                "inside of their section",
                "what another tenant left",
                "written over",
                "`1GB` and `1G` are one size",
                "without cache, and with a write-back cache too",
                "overwrites a whole disk",
            ],
        ),
        (
            "verbatim-network",
            &[
                "`pvsendipi`",
                "nothing sets base_core",
                "held already by `mitigations=off`",
                "known only to vendors' kernels",
                "for one maker's processors",
                "a card that passes broken packets is fast too",
                "numbers of interrupts change over boots",
                "values of queues are gone after a boot",
                "a value written to /proc/sys",
            ],
        ),
    ];
    for (name, traps) in expected {
        let text = said(name);
        for trap in traps {
            assert!(text.contains(trap), "{name}: `{trap}` is not in\n{text}");
        }
    }
}
