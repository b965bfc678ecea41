//! Schedulers and read-ahead of real queues, with the rules that udev would apply.
use crate::bed::Bed;

#[test]
fn read_ahead_now_and_by_rule_and_back() {
    let Some(bed) = Bed::new(&["100M"]) else { return };
    let name = bed.disks[0].trim_start_matches("/dev/").to_owned();
    let file = format!("/sys/block/{name}/queue/read_ahead_kb");
    let before = bed.sh(&format!("cat {file}"));
    let task = "- read_ahead: {devices: DISK0, size: none}\n";
    bed.play(task).ended(0);
    assert_eq!(bed.sh(&format!("cat {file}")), "0");
    let rule = bed.sh("cat /etc/udev/rules.d/99-tunerun-block.rules");
    assert!(rule.ends_with(&format!("KERNEL==\"{name}\", ATTR{{queue/read_ahead_kb}}=\"0\"")), "{rule}");
    bed.same(task);
    bed.undo().ended(0);
    assert_eq!(bed.sh(&format!("cat {file}; ls /etc/udev/rules.d")), before);
}

#[test]
fn a_scheduler_now_and_by_rule_and_back() {
    let Some(bed) = Bed::new(&["100M"]) else { return };
    let name = bed.disks[0].trim_start_matches("/dev/").to_owned();
    let shown = bed.sh(&format!("cat /sys/block/{name}/queue/scheduler"));
    let now = shown.split_whitespace().find(|word| word.starts_with('[')).unwrap_or("none");
    let other = shown.split_whitespace().find(|word| !word.starts_with('[')).unwrap_or("none");
    eprintln!("the kernel offers: {shown}");
    let task = format!("- io_scheduler: {{devices: DISK0, scheduler: {other}}}\n");
    bed.play(&task).ended(0);
    if shown.contains(' ') {
        assert!(bed.sh(&format!("cat /sys/block/{name}/queue/scheduler")).contains(&format!("[{other}]")));
    }
    bed.same(&task);
    bed.undo().ended(0);
    assert!(bed.sh(&format!("cat /sys/block/{name}/queue/scheduler")).contains(now));
    bed.play("- io_scheduler: {devices: DISK0, scheduler: cfq}\n").ended(1).says(&["does not offer `cfq`"]);
    bed.play("- io_scheduler: {devices: loop9999, scheduler: none}\n").ended(1).says(&["no whole disk"]);
}
