//! The kernel's command line.
use super::Saying::Argument;
use super::{Tuning, row};
use crate::vocabulary::Effect;

const BOOT: Option<Effect> = Some(Effect::HostReboot);
const FILES: (&str, &str) = ("the files as they were, then a boot", "/proc/cmdline");
const ARGS: super::Saying = Argument("kernel_args", "args");

/// Rows 1 to 15.
pub(super) const ROWS: &[Tuning] = &[
    row(
        1,
        "`init_on_alloc=0`",
        ARGS,
        BOOT,
        FILES,
        "tests/tests/vm/lines.rs::a_line_is_tried_then_made_the_default_and_taken_back_over_a_boot",
    ),
    row(2, "`isolcpus=` the CPUs of the interrupts", Argument("cpu_isolation", "cpus"), BOOT, FILES, "?"),
    row(3, "`nohz_full=` the same list", Argument("cpu_isolation", "nohz_full"), BOOT, FILES, "?"),
    row(4, "`rcu_nocbs=` the same list", Argument("cpu_isolation", "rcu_nocbs"), BOOT, FILES, "?"),
    row(
        5,
        "`mitigations=off`",
        ARGS,
        BOOT,
        FILES,
        "tests/tests/vm/lines.rs::a_line_is_tried_then_made_the_default_and_taken_back_over_a_boot",
    ),
    row(
        6,
        "`nospec_store_bypass_disable`",
        ARGS,
        BOOT,
        FILES,
        "modules/src/kernel/kernel_args/tests/hosts.rs::the_mitigation_list_is_explained",
    ),
    row(
        7,
        "`noibrs`, `noibpb`",
        ARGS,
        BOOT,
        FILES,
        "modules/src/kernel/kernel_args/tests/hosts.rs::the_mitigation_list_is_explained",
    ),
    row(
        8,
        "`spectre_v2=off`",
        ARGS,
        BOOT,
        FILES,
        "modules/src/kernel/kernel_args/tests/hosts.rs::the_mitigation_list_is_explained",
    ),
    row(
        9,
        "`spectre_v2_user=off`",
        ARGS,
        BOOT,
        FILES,
        "modules/src/kernel/kernel_args/tests/hosts.rs::the_mitigation_list_is_explained",
    ),
    row(
        10,
        "`nopti`",
        ARGS,
        BOOT,
        FILES,
        "modules/src/kernel/kernel_args/tests/hosts.rs::the_mitigation_list_is_explained",
    ),
    row(
        11,
        "`l1tf=off`",
        ARGS,
        BOOT,
        FILES,
        "modules/src/kernel/kernel_args/tests/hosts.rs::the_mitigation_list_is_explained",
    ),
    row(
        12,
        "`kvm-intel.vmentry_l1d_flush=never`",
        ARGS,
        BOOT,
        FILES,
        "modules/src/kernel/kernel_args/tests/lines.rs::names_compare_with_dashes_as_underscores",
    ),
    row(
        13,
        "`spec_rstack_overflow=off`",
        ARGS,
        BOOT,
        FILES,
        "modules/src/kernel/kernel_args/tests/hosts.rs::the_mitigation_list_is_explained",
    ),
    row(
        14,
        "`default_hugepagesz=1GB hugepagesz=1G hugepages=64`",
        ARGS,
        BOOT,
        FILES,
        "modules/src/kernel/kernel_args/tests/hosts.rs::a_line_for_huge_pages_is_merged_not_written_over",
    ),
    row(
        15,
        "`GRUB_CMDLINE_LINUX` and `grub-mkconfig`",
        ARGS,
        BOOT,
        ("the files as they were, made again", "the line that GRUB will boot, and /proc/cmdline"),
        "tests/tests/vm/lines.rs::a_line_is_tried_then_made_the_default_and_taken_back_over_a_boot",
    ),
];
