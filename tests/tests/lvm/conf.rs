//! Settings of LVM, judged by LVM itself.
use crate::bed::Bed;

const TASK: &str = "
- lvm_conf:
    settings:
      allocation/thin_pool_chunk_size: 4M
      allocation/thin_pool_zero: false
";

#[test]
fn settings_count_and_come_back() {
    let Some(bed) = Bed::new(&["100M"]) else { return };
    bed.play(TASK).ended(0);
    let counts = "lvmconfig --type full allocation/thin_pool_chunk_size allocation/thin_pool_zero";
    assert_eq!(bed.sh(counts), "thin_pool_chunk_size=4096\nthin_pool_zero=0");
    bed.same(TASK);
    bed.undo().ended(0);
    bed.sh("test ! -e /etc/lvm/lvmlocal.conf");
    // A file that is there keeps its other bytes.
    let text = "# ours\nallocation {\n\t# thin_pool_chunk_size = 64\n\tmaximise_cling=1 # kept\n}\n";
    bed.sh(&format!("printf '%s' '{text}' > /etc/lvm/lvmlocal.conf"));
    bed.play(TASK).ended(0);
    assert_eq!(
        bed.sh("cat /etc/lvm/lvmlocal.conf"),
        text.replace("= 64\n", "= 64\n\tthin_pool_chunk_size = 4096\n")
            .replace("kept\n", "kept\n\tthin_pool_zero = 0\n")
            .trim()
    );
    bed.undo().ended(0);
    assert_eq!(bed.sh("cat /etc/lvm/lvmlocal.conf"), text.trim());
}

#[test]
fn what_lvm_does_not_take_is_never_written() {
    let Some(bed) = Bed::new(&["100M"]) else { return };
    let task = |setting: &str| format!("- lvm_conf: {{settings: {{{setting}}}}}\n");
    bed.play(&task("thin_pool_chunk_size: 4096"))
        .ended(1)
        .says(&["stands in no section", "write `allocation/thin_pool_chunk_size`"]);
    bed.play(&task("allocation/thin_pool_chunksize: 4096"))
        .ended(1)
        .says(&["did you mean `allocation/thin_pool_chunk_size`"]);
    bed.play(&task("allocation/thin_pool_zero: [1, 2]"))
        .ended(1)
        .says(&["`validate` does not accept", "invalid type"]);
    assert_eq!(bed.sh("ls /etc/lvm/lvmlocal.conf 2>/dev/null || true"), "");
    bed.sh("printf 'allocation { thin_pool_zero = 1 }\\n' > /etc/lvm/lvmlocal.conf");
    bed.play("- lvm_conf: {settings: {allocation/thin_pool_zero: false}, file: lvm}\n")
        .ended(1)
        .says(&["wins over"]);
}
