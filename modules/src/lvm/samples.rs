//! Hosts in memory with disks, groups and volumes, as LVM shows them.
use super::report::{answer, nothing, rows};
use super::wanted;
use crate::block::device;
use crate::host::Host;
use crate::module::Sample;
use crate::vocabulary::{Output, Read, Row, Seen};
use serde_json::{Value as Json, json};

/// An empty disk of 1 TiB that is nobody's.
pub(super) fn empty_disk(host: Host, disk: &str) -> Host {
    let answers = device::made(disk, 1 << 40);
    let host = answers.into_iter().fold(host, |mut host, (read, seen)| {
        host.set(&read, seen);
        host
    });
    host.answer(rows::pv(disk), nothing(&format!("  Failed to find physical volume \"{disk}\".\n")))
        .answer(rows::pv_used(disk), nothing(&format!("  Failed to find physical volume \"{disk}\".\n")))
}

/// A physical volume of a group, or of none.
pub(super) fn volume(host: Host, disk: &str, group: &str) -> Host {
    let host = empty_disk(host, disk);
    host.answer(rows::pv(disk), answer(&[("pv_fmt", "lvm2"), ("vg_name", group)]))
        .answer(rows::pv_used(disk), answer(&[("pv_name", disk), ("pv_used", "0")]))
        .answer(device::content(disk), Seen::Output(Output::ok("LVM2_member\n")))
        .answer(
            device::signatures(disk),
            Seen::Output(Output::ok("# offset,uuid,label,type\n0x218,x,,LVM2_member\n")),
        )
}

fn room(all: u64, free: u64) -> Seen {
    answer(&[
        ("vg_extent_count", &all.to_string()),
        ("vg_free_count", &free.to_string()),
        ("vg_missing_pv_count", "0"),
        ("vg_exported", ""),
    ])
}

/// A group on these disks.
pub(super) fn group(host: Host, group: &str, extent: u64, (all, free): (u64, u64), disks: &[&str]) -> Host {
    let names: Vec<String> = disks.iter().map(|disk| format!("LVM2_PV_NAME={disk}")).collect();
    let host = disks.iter().fold(host, |host, disk| volume(host, disk, group));
    host.answer(rows::vg(group), answer(&[("vg_extent_size", &extent.to_string()), ("vg_tags", "")]))
        .answer(rows::room(group), room(all, free))
        .answer(rows::tags(group), Seen::Output(Output::ok("")))
        .answer(rows::disks(group), Seen::Output(Output::ok(format!("  {}\n", names.join(" ")))))
        .answer(
            Row::new("lvm-vg-names", Vec::<String>::new()),
            Seen::Output(Output::ok(format!("  {group}\n"))),
        )
}

/// A group that is not there.
pub(super) fn no_group(host: Host, group: &str) -> Host {
    let none = nothing(&format!("  Volume group \"{group}\" not found\n"));
    let host = [rows::vg(group), rows::room(group), rows::tags(group)]
        .into_iter()
        .fold(host, |host, row| host.answer(row, none.clone()));
    host.answer(rows::disks(group), Seen::Output(Output::ok("")))
        .answer(Row::new("lvm-vg-names", Vec::<String>::new()), Seen::Output(Output::ok("  root_vg\n")))
}

/// A volume that is not there.
pub(super) fn no_volume(host: Host, target: &str) -> Host {
    let none = nothing(&format!("  Failed to find logical volume \"{target}\"\n"));
    [rows::lv(target), rows::read_ahead(target), rows::live(target), rows::pool(target)]
        .into_iter()
        .fold(host, |host, row| host.answer(row, none.clone()))
}

/// A volume: its layout, size, pool and origin.
pub(super) fn made(host: Host, target: &str, (layout, size, pool, origin): (&str, u64, &str, &str)) -> Host {
    host.answer(rows::lv(target), shape(layout, size, pool, origin))
        .answer(rows::read_ahead(target), answer(&[("lv_read_ahead", "auto")]))
        .answer(rows::live(target), live("131072"))
}

fn shape(layout: &str, size: u64, pool: &str, origin: &str) -> Seen {
    answer(&[("lv_layout", layout), ("lv_size", &size.to_string()), ("pool_lv", pool), ("origin", origin)])
}

fn live(kernel: &str) -> Seen {
    answer(&[("lv_kernel_read_ahead", kernel), ("lv_active", "active")])
}

/// A thin pool that does not zero its chunks.
pub(super) fn pool(host: Host, target: &str, size: u64, chunk: u64, thin: &str) -> Host {
    made(host, target, ("thin,pool", size, "", ""))
        .answer(rows::pool(target), pool_shape(size, chunk, "0", thin))
}

fn pool_shape(size: u64, chunk: u64, zero: &str, thin: &str) -> Seen {
    answer(&[
        ("lv_layout", "thin,pool"),
        ("lv_size", &size.to_string()),
        ("chunk_size", &chunk.to_string()),
        ("zero", zero),
        ("discards", "passdown"),
        ("thin_count", thin),
    ])
}

type Calls = Vec<(Row, Vec<(Read, Seen)>)>;

fn sample(about: &'static str, args: Json, host: Host, calls: Calls) -> Sample {
    Sample { about, args, host, calls }
}

/// Answers of a host for these rows.
fn now(host: &Host, rows: Vec<Row>) -> Vec<(Read, Seen)> {
    rows.into_iter().map(|row| (Read::Ask(row.clone()), host.see(&Read::Ask(row)))).collect()
}

/// What a host answers of a disk.
fn disk_rows(disk: &str) -> Vec<Row> {
    vec![
        rows::pv(disk),
        rows::pv_used(disk),
        device::content(disk),
        device::signatures(disk),
        device::tree(disk),
    ]
}

fn group_rows(group: &str) -> Vec<Row> {
    vec![rows::vg(group), rows::room(group), rows::tags(group), rows::disks(group)]
}

fn volume_rows(target: &str) -> Vec<Row> {
    vec![rows::lv(target), rows::read_ahead(target), rows::live(target), rows::pool(target)]
}

fn device_rows(group: &str, name: &str) -> Vec<Row> {
    let rows = |device: &String| [device::tree(device), device::signatures(device), device::content(device)];
    wanted::paths(group, name).iter().flat_map(rows).collect()
}

/// Trials of `lvm_pv`.
pub(super) fn pv() -> Vec<Sample> {
    let disk = "/dev/nvme1n1p1";
    let (before, after) = (empty_disk(Host::new(), disk), volume(Host::new(), disk, ""));
    let calls = vec![
        (Row::new("pvcreate", [disk]), now(&after, disk_rows(disk))),
        (Row::new("pvremove", [disk]), now(&before, disk_rows(disk))),
    ];
    vec![
        sample("an empty disk", json!({ "devices": disk }), before, calls.clone()),
        sample("a label that goes", json!({ "devices": disk, "state": "absent" }), after, calls),
    ]
}

/// Trials of `lvm_vg`.
#[expect(clippy::too_many_lines, reason = "a table of trials")]
pub(super) fn vg() -> Vec<Sample> {
    let (disk, other, name) = ("/dev/nvme1n1p1", "/dev/sdc", "win_pool");
    let bare = no_group(Host::new(), name);
    let spare = volume(bare.clone(), disk, "");
    let made = |extent: u64| group(empty_disk(Host::new(), other), name, extent, (4096, 4096), &[disk]);
    let rows = || group_rows(name).into_iter().chain(disk_rows(disk)).collect::<Vec<_>>();
    let create = Row::new("vgcreate", ["-s", "268435456b", "--", name, disk]);
    let gone = (Row::new("vgremove", [name]), now(&spare, rows()));
    let fits = |host: Host| host.answer(rows::fits(2 << 20, name), Seen::Output(Output::ok("")));
    let tags = |size: &str| answer(&[("vg_extent_size", size), ("vg_tags", "")]);
    let change = |size: &str| {
        (
            Row::new("vgchange-extent-size", [format!("{size}b"), name.to_owned()]),
            vec![(Read::Ask(rows::vg(name)), tags(size))],
        )
    };
    let both = group(Host::new(), name, 4 << 20, (8192, 8192), &[disk, other]);
    let member = |host: &Host| {
        let mut rows = rows();
        rows.extend(disk_rows(other));
        now(host, rows)
    };
    let alone = volume(made(4 << 20), other, "");
    let wide = json!({ "vg": name, "devices": [disk], "extent_size": "256M" });
    vec![
        sample(
            "a new group on a spare disk",
            wide.clone(),
            spare.clone(),
            vec![(create.clone(), now(&made(256 << 20), rows())), gone.clone()],
        ),
        sample(
            "a new group on an empty disk",
            wide,
            empty_disk(bare, disk),
            vec![
                (Row::new("pvcreate", [disk]), now(&spare, disk_rows(disk))),
                (Row::new("pvremove", [disk]), now(&empty_disk(Host::new(), disk), disk_rows(disk))),
                (create, now(&made(256 << 20), rows())),
                gone,
            ],
        ),
        sample(
            "smaller extents",
            json!({ "vg": name, "extent_size": "2M" }),
            fits(made(4 << 20)),
            vec![change("2097152"), change("4194304")],
        ),
        sample(
            "one disk more",
            json!({ "vg": name, "devices": [disk, other] }),
            alone.clone(),
            vec![
                (Row::new("vgextend", [name, other]), member(&both)),
                (Row::new("vgreduce", [name, other]), member(&alone)),
            ],
        ),
        sample(
            "extents that do not divide",
            json!({ "vg": name, "extent_size": "256M" }),
            {
                let none = Output {
                    status: 5,
                    stdout: "".into(),
                    stderr: "  New extent size is not a perfect fit\n".into(),
                };
                made(4 << 20).answer(rows::fits(256 << 20, name), Seen::Output(none))
            },
            Vec::new(),
        ),
    ]
}

/// Trials of `lvm_lv`.
#[expect(clippy::too_many_lines, reason = "a table of trials")]
pub(super) fn lv() -> Vec<Sample> {
    let (name, extent) = ("win_pool", 256 << 20);
    let base = |free| group(Host::new(), name, extent, (4096, free), &["/dev/nvme1n1p1"]);
    let rows = |lv: &str| {
        let mut all = volume_rows(&format!("{name}/{lv}"));
        all.extend(device_rows(name, lv));
        all.push(rows::room(name));
        all
    };
    let with_devices = |host: Host, lv: &str| {
        let known = wanted::paths(name, lv).into_iter().flat_map(|device| device::made(&device, 100 << 30));
        known.fold(host, |mut host, (read, seen)| {
            host.set(&read, seen);
            host
        })
    };
    let (bare, plain) = (
        no_volume(base(4096), "win_pool/vm1"),
        made(base(3696), "win_pool/vm1", ("linear", 100 << 30, "", "")),
    );
    let silent = with_devices(plain.clone(), "vm1")
        .answer(rows::read_ahead("win_pool/vm1"), answer(&[("lv_read_ahead", "0")]))
        .answer(rows::live("win_pool/vm1"), live("0"));
    let ahead = |word: &str, host: &Host| {
        let rows = vec![rows::read_ahead("win_pool/vm1"), rows::live("win_pool/vm1")];
        (Row::new("lvchange", ["-r", word, "win_pool/vm1"]), now(host, rows))
    };
    let args = json!({ "vg": name, "lv": "vm1", "size": "100G", "read_ahead": "none" });
    let pooled = pool(base(2000), "win_pool/thin", 300 << 30, 4 << 20, "0");
    let thin = made(
        pool(with_devices(base(2000), "vm2"), "win_pool/thin", 300 << 30, 4 << 20, "1"),
        "win_pool/vm2",
        ("thin,sparse", 50 << 30, "thin", ""),
    );
    let snapshot = made(
        pool(thin.clone(), "win_pool/thin", 300 << 30, 4 << 20, "2"),
        "win_pool/before",
        ("thin,sparse", 50 << 30, "thin", "vm2"),
    );
    let pool_rows = |lv: &str| {
        let mut all = rows(lv);
        all.push(rows::pool("win_pool/thin"));
        all
    };
    let no_thin = no_volume(pooled, "win_pool/vm2");
    let no_snapshot = no_volume(thin.clone(), "win_pool/before");
    vec![
        sample(
            "a new volume",
            args.clone(),
            bare.clone(),
            vec![
                (
                    Row::new("lvcreate", ["-n", "vm1", "-l", "400", "-r", "none", name]),
                    now(&silent, rows("vm1")),
                ),
                (Row::new("lvremove-unsigned", ["win_pool/vm1"]), now(&bare, rows("vm1"))),
            ],
        ),
        sample(
            "read-ahead of a volume that is there",
            args,
            plain.clone(),
            vec![ahead("none", &silent), ahead("auto", &plain)],
        ),
        sample(
            "a thin volume",
            json!({ "vg": name, "lv": "vm2", "size": "50G", "thinpool": "thin" }),
            no_thin.clone(),
            vec![
                (
                    Row::new(
                        "lvcreate",
                        ["-n", "vm2", "--type", "thin", "-V", "53687091200b", "--thinpool", "thin", name],
                    ),
                    now(&thin, pool_rows("vm2")),
                ),
                (Row::new("lvremove-unsigned", ["win_pool/vm2"]), now(&no_thin, pool_rows("vm2"))),
            ],
        ),
        sample(
            "a snapshot of a thin volume",
            json!({ "vg": name, "lv": "vm2", "snapshot": "before" }),
            no_snapshot.clone(),
            vec![
                (
                    Row::new("lvcreate", ["-n", "before", "-s", "win_pool/vm2"]),
                    now(&snapshot, pool_rows("before")),
                ),
                (Row::new("lvremove", ["win_pool/before"]), now(&no_snapshot, pool_rows("before"))),
            ],
        ),
        sample(
            "a volume that is larger",
            json!({ "vg": name, "lv": "vm1", "size": "100G" }),
            made(base(3000), "win_pool/vm1", ("linear", 200 << 30, "", "")),
            Vec::new(),
        ),
        sample(
            "a volume that becomes larger",
            json!({ "vg": name, "lv": "vm1", "size": "101G" }),
            plain,
            vec![(
                Row::new("lvextend", ["-l", "404", "win_pool/vm1"]),
                vec![(Read::Ask(rows::lv("win_pool/vm1")), shape("linear", 101 << 30, "", ""))],
            )],
        ),
    ]
}

/// Trials of `lvm_thin_pool`.
pub(super) fn thin_pool() -> Vec<Sample> {
    let (name, target) = ("win_pool", "win_pool/thin");
    let base = |free| group(Host::new(), name, 256 << 20, (4096, free), &["/dev/nvme1n1p1"]);
    let bare = no_volume(base(4096), target);
    let made = pool(base(2800), target, 300 << 30, 4 << 20, "0");
    let zeroed = made.clone().answer(rows::pool(target), pool_shape(300 << 30, 4 << 20, "1", "0"));
    let rows = || vec![rows::pool(target), rows::lv(target), rows::room(name)];
    let args = json!({ "vg": name, "pool": "thin", "size": "300G", "chunk_size": "4M", "zero": false, "tenants": "one", "discards": "passdown" });
    let words = [
        "--type",
        "thin-pool",
        "-n",
        "thin",
        "-l",
        "1200",
        "-c",
        "4096k",
        "-Zn",
        "--discards",
        "passdown",
        name,
    ];
    let zero =
        |word: &str, host: &Host| (Row::new("lvchange", [word, target]), now(host, vec![rows::pool(target)]));
    vec![
        sample(
            "a new pool",
            args.clone(),
            bare.clone(),
            vec![
                (Row::new("lvcreate", words), now(&made, rows())),
                (Row::new("lvremove-unsigned", [target]), now(&bare, rows())),
            ],
        ),
        sample("no more zeroing", args, zeroed.clone(), vec![zero("-Zn", &made), zero("-Zy", &zeroed)]),
        sample(
            "another chunk size",
            json!({ "vg": name, "pool": "thin", "size": "300G", "chunk_size": "1M" }),
            made,
            Vec::new(),
        ),
    ]
}
