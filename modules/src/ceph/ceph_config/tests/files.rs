//! Options in files: recorded ones, each as its note says.
use crate::ceph::CephConfig;
use crate::ceph::ceph_config::conf::{Conf, Edited};
use crate::ceph::ceph_config::typed::loosely_alike;
use crate::host::Host;
use crate::trial::{planned, refusal};
use crate::vocabulary::{Act, Content, Image};
use serde_json::json;

macro_rules! conf {
    ($name:literal) => {
        include_str!(concat!("../../../../../tests/data/corpus/ceph/", $name))
    };
}

/// The lines that an edit took away and brought.
fn edited(text: &str, section: &str, name: &str, value: &str) -> (Edited, Vec<String>) {
    let mut conf = Conf::parse(text);
    assert_eq!(conf.text(), text, "what is read is written again");
    let done = conf.set(section, name, value, |now| loosely_alike(now, value));
    let after = conf.text();
    let (old, new): (Vec<&str>, Vec<&str>) = (text.lines().collect(), after.lines().collect());
    let gone = old.iter().filter(|line| !new.contains(line)).map(|line| format!("-{line}"));
    let come = new.iter().filter(|line| !old.contains(line)).map(|line| format!("+{line}"));
    (done, gone.chain(come).collect())
}

#[test]
fn one_line_is_added_to_its_section() {
    let text = conf!("01-global-osd-mon-rgw.conf");
    let (done, lines) = edited(text, "osd", "osd_memory_target", "8589934592");
    assert_eq!((done, lines), (Edited::Changed, vec!["+osd_memory_target = 8589934592".to_owned()]));
    let mut conf = Conf::parse(text);
    conf.set("osd", "osd_memory_target", "1", |_| false);
    assert!(conf.text().contains("osd_journal_size = 81920\nosd_memory_target = 1\n\n[mon.controller2]"));
    assert_eq!(
        Conf::parse(text).value("client.radosgw.gateway", "rgw_frontends").unwrap(),
        "civetweb port=192.0.2.12:8080"
    );
}

#[test]
fn blanks_in_names_are_the_same_name() {
    let text = conf!("02-client-spaces-metavariables.conf");
    assert_eq!(edited(text, "client", "rbd_cache", "true"), (Edited::Same, vec![]));
    let (_, lines) = edited(text, "client", "rbd_cache", "false");
    assert_eq!(lines, ["-    rbd cache = true", "+    rbd cache = false"], "its indentation stays");
    assert_eq!(Conf::parse(text).value("client", "log_file").unwrap(), "/var/log/qemu/qemu-guest-$pid.log");
    assert_eq!(Conf::parse(text).value("client", "admin_socket"), None, "it is commented out");
}

#[test]
fn comments_behind_values_are_no_part_of_them() {
    let text = conf!("03-secure-modes-inline-comments.conf");
    let conf = Conf::parse(text);
    assert_eq!(conf.value("global", "ms_cluster_mode").unwrap(), "secure");
    assert_eq!(conf.value("global", "ms_service_mode").unwrap(), "secure crc");
    let (_, lines) = edited(text, "global", "ms_client_mode", "secure crc");
    assert_eq!(lines[1], "+ms_client_mode = secure crc         ; a semicolon comment");
    let (_, lines) = edited(text, "global", "ms_service_mode", "secure");
    assert_eq!(lines.len(), 2, "{lines:?}");
}

#[test]
fn two_spellings_become_one() {
    let text = conf!("04-same-option-two-spellings.conf");
    let (done, _) = edited(text, "osd", "osd_memory_target", "6442450944");
    assert_eq!(done, Edited::MadeOne);
    let mut conf = Conf::parse(text);
    conf.set("osd", "osd_memory_target", "6442450944", |_| false);
    assert_eq!(conf.settings("osd", "osd_memory_target").len(), 1);
    assert!(!conf.text().contains("8076326604"), "no other value remains");
    let host = Host::new().file("/etc/ceph/ceph.conf", text);
    let args =
        json!({ "file": "/etc/ceph/ceph.conf", "who": "osd", "name": "osd_memory_target", "value": "6G" });
    let change = planned::<CephConfig>(&host, args);
    assert!(change.notes[0].contains("more than once"), "{:?}", change.notes);
}

#[test]
fn comments_stay_with_their_settings() {
    let text = conf!("05-scrub-tuning-long-comments.conf");
    let (_, lines) = edited(text, "global", "osd_scrub_min_interval", "86400");
    assert_eq!(lines, ["-osd_scrub_min_interval = 345600", "+osd_scrub_min_interval = 86400"]);
    assert_eq!(Conf::parse(text).value("global", "public_network").unwrap(), "192.0.2.0/24, 198.51.100.0/24");
}

#[test]
fn a_daemons_section_is_not_its_kinds() {
    let text = conf!("06-osd-sections-uppercase.conf");
    let conf = Conf::parse(text);
    assert_eq!(conf.value("osd", "OSD_DEVICE"), None);
    assert_eq!(conf.value("osd.1", "OSD_DEVICE").unwrap(), "sda2");
    let mut conf = Conf::parse(text);
    conf.set("osd.3", "osd_max_backfills", "2", |_| false);
    assert!(conf.text().ends_with("HOSTNAME = compute-0\nosd_max_backfills = 2\n"), "{}", conf.text());
}

#[test]
fn lines_go_on_and_quotes_hold() {
    let text = "[osd]\r\na = \"x # y\" ; z\r\nb = 1 \\\r\n 2\r\n";
    let conf = Conf::parse(text);
    assert_eq!(conf.value("osd", "a").unwrap(), "x # y");
    assert_eq!(conf.value("osd", "b").unwrap(), "1  2");
    let mut conf = Conf::parse(text);
    conf.set("osd", "c", "3", |_| false);
    assert_eq!(conf.text(), format!("{text}c = 3\r\n"));
    let mut conf = Conf::parse("[osd]\na =\n");
    conf.set("osd", "a", "1", |_| false);
    assert_eq!(conf.text(), "[osd]\na = 1\n");
}

#[test]
fn a_file_is_edited_in_its_bytes_alone() {
    let text = "[global]\nfsid = x\n[osd]\nosd memory target = 4G ; half\n";
    let host = Host::new().file("/etc/ceph/ceph.conf", text);
    let args = |value: &str| json!({ "file": "/etc/ceph/ceph.conf", "who": "osd", "name": "osd_memory_target", "value": value });
    assert!(planned::<CephConfig>(&host, args("4294967296")).is_empty(), "4G is 4294967296");
    let change = planned::<CephConfig>(&host, args("8G"));
    let Act::Put { image: Image::File { content: Content::Bytes(bytes), .. }, .. } = &change.steps[0].act
    else {
        panic!()
    };
    assert_eq!(bytes.text().unwrap(), "[global]\nfsid = x\n[osd]\nosd memory target = 8G ; half\n");
    assert_eq!(change.cluster, None);
}

#[test]
fn a_file_knows_no_masks_and_is_not_made() {
    let host = Host::new().file("/etc/ceph/ceph.conf", "[osd]\n");
    let args = json!({ "file": "/etc/ceph/ceph.conf", "who": "osd/class:ssd", "name": "a", "value": 1 });
    assert!(refusal::<CephConfig>(&host, args).contains("no masks"));
    let args = json!({ "file": "/etc/ceph/other.conf", "who": "osd", "name": "a", "value": 1 });
    assert!(refusal::<CephConfig>(&host, args).contains("not there"));
}
