//! What the kernel takes for a setting, and how it prints what it took.
//!
//! Ranges are those of Linux 6.x (kernel/sysctl.c, mm/*, block/blk-sysfs.c, kernel/irq/proc.c). A key that is not in
//! the table takes values of the shape it has: whole numbers stay whole numbers, a choice stays one of its words.

/// Why a write is refused, by the number the kernel answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// EINVAL: not a value of this setting.
    Invalid,
    /// EACCES: the setting cannot be written.
    ReadOnly,
}

/// What a setting takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// Nothing.
    Fixed,
    /// Anything, and forgets it: settings that are orders, such as `drop_caches`.
    Order,
    /// Any text.
    Text,
    /// One of the words that it lists, printed with brackets round the chosen one.
    Choice,
    /// So many whole numbers at most, each from the first to the last of a range.
    Numbers(usize, i128, i128),
    /// A set of processors as a hexadecimal mask.
    Mask,
    /// A set of processors as a list such as `0-3,8`.
    Cpus,
}

/// Ranges by the end of the setting's path.
const RANGES: [(&str, i128, i128); 51] = [
    ("vm/swappiness", 0, 200),
    ("vm/dirty_ratio", 0, 100),
    ("vm/dirty_background_ratio", 0, 100),
    ("vm/dirty_bytes", 8192, i64::MAX as i128),
    ("vm/dirty_background_bytes", 1, i64::MAX as i128),
    ("vm/dirty_expire_centisecs", 0, i32::MAX as i128),
    ("vm/dirty_writeback_centisecs", 0, i32::MAX as i128),
    ("vm/dirtytime_expire_seconds", 0, i32::MAX as i128),
    ("vm/overcommit_memory", 0, 2),
    ("vm/overcommit_ratio", 0, i32::MAX as i128),
    ("vm/vfs_cache_pressure", 0, i32::MAX as i128),
    ("vm/zone_reclaim_mode", 0, i32::MAX as i128),
    ("vm/min_free_kbytes", 0, i32::MAX as i128),
    ("vm/watermark_scale_factor", 1, 3000),
    ("vm/watermark_boost_factor", 0, i32::MAX as i128),
    ("vm/max_map_count", 0, i32::MAX as i128),
    ("vm/compaction_proactiveness", 0, 100),
    ("vm/page-cluster", 0, 31),
    ("vm/panic_on_oom", 0, 2),
    ("vm/min_unmapped_ratio", 0, 100),
    ("vm/min_slab_ratio", 0, 100),
    ("vm/numa_stat", 0, 1),
    ("vm/laptop_mode", 0, i32::MAX as i128),
    ("kernel/numa_balancing", 0, 4),
    ("kernel/sched_autogroup_enabled", 0, 1),
    ("kernel/sched_rt_runtime_us", -1, i32::MAX as i128),
    ("kernel/sched_rt_period_us", 1, i32::MAX as i128),
    ("kernel/sched_schedstats", 0, 1),
    ("kernel/sched_energy_aware", 0, 1),
    ("kernel/pid_max", 301, 4_194_304),
    ("kernel/threads-max", 1, i32::MAX as i128),
    ("kernel/timer_migration", 0, 1),
    ("kernel/nmi_watchdog", 0, 1),
    ("kernel/soft_watchdog", 0, 1),
    ("kernel/watchdog", 0, 1),
    ("kernel/watchdog_thresh", 0, 60),
    ("kernel/hung_task_timeout_secs", 0, i64::MAX as i128 / 250),
    ("kernel/io_uring_disabled", 0, 2),
    ("kernel/kptr_restrict", 0, 2),
    ("kernel/dmesg_restrict", 0, 1),
    ("fs/nr_open", 8, 0x3fff_ffc0),
    ("fs/aio-max-nr", 0, u64::MAX as i128),
    ("fs/file-max", 0, i64::MAX as i128),
    ("fs/suid_dumpable", 0, 2),
    ("fs/pipe-max-size", 4096, i32::MAX as i128),
    ("queue/nr_requests", 4, 65_536),
    ("queue/read_ahead_kb", 0, u32::MAX as i128),
    ("queue/rq_affinity", 0, 2),
    ("queue/nomerges", 0, 2),
    ("queue/wbt_lat_usec", -1, i64::MAX as i128 / 1000),
    ("/nr_hugepages", 0, i64::MAX as i128),
];

/// Settings that are one number in two places, or where setting one clears the other: (written, other, cleared).
const COUPLED: [(&str, &str, bool); 6] = [
    ("vm/dirty_bytes", "vm/dirty_ratio", true),
    ("vm/dirty_ratio", "vm/dirty_bytes", true),
    ("vm/dirty_background_bytes", "vm/dirty_background_ratio", true),
    ("vm/dirty_background_ratio", "vm/dirty_background_bytes", true),
    ("vm/nr_hugepages", "mm/hugepages/hugepages-2048kB/nr_hugepages", false),
    ("mm/hugepages/hugepages-2048kB/nr_hugepages", "vm/nr_hugepages", false),
];

/// What the setting at `path` takes, seen from its mode and its value at the start.
pub(super) fn of(path: &str, mode: u32, value: &str) -> Rule {
    if mode & 0o222 == 0 {
        return Rule::Fixed;
    }
    if mode & 0o444 == 0 {
        return Rule::Order;
    }
    if let Some((_, least, most)) = RANGES.iter().find(|(end, ..)| ends(path, end)) {
        return Rule::Numbers(1, *least, *most);
    }
    if path.starts_with("proc/irq/") {
        let list = path.ends_with("_list");
        return if list { Rule::Cpus } else { Rule::Mask };
    }
    if choices(value).is_some() {
        return Rule::Choice;
    }
    let words: Vec<&str> = value.split_whitespace().collect();
    if !words.is_empty() && words.iter().all(|word| word.parse::<i128>().is_ok()) {
        let least = if words.iter().any(|word| word.starts_with('-')) { i64::MIN } else { i32::MIN as i64 };
        return Rule::Numbers(words.len(), least.into(), u64::MAX.into());
    }
    Rule::Text
}

/// The other setting that a write at `path` changes: the end of its path, and whether it is cleared or follows.
pub(super) fn coupled(path: &str) -> Option<(&'static str, bool)> {
    COUPLED.iter().find(|(end, ..)| ends(path, end)).map(|(_, other, cleared)| (*other, *cleared))
}

/// Whether a path ends with these whole parts.
pub(super) fn ends(path: &str, end: &str) -> bool {
    path.strip_suffix(end).is_some_and(|rest| end.starts_with('/') || rest.ends_with('/'))
}

impl Rule {
    /// What is read back after `written` on a setting that reads `now`; `cpus` is how many processors there are.
    pub fn take(&self, now: &str, written: &str, cpus: usize) -> Result<String, Refused> {
        let text = written.trim_end_matches(['\n', '\0']);
        match self {
            Self::Fixed => Err(Refused::ReadOnly),
            Self::Order => Ok(String::new()),
            Self::Text => Ok(format!("{text}\n")),
            Self::Choice => choose(now, text.trim()),
            Self::Numbers(count, least, most) => numbers(now, text, *count, *least..=*most),
            Self::Mask => {
                let digits = text.trim().trim_start_matches("0x").replace(',', "");
                let mask = u128::from_str_radix(&digits, 16).map_err(|_| Refused::Invalid)?;
                let known = if cpus >= 128 { u128::MAX } else { (1 << cpus) - 1 };
                if mask & known == 0 { Err(Refused::Invalid) } else { Ok(format!("{:x}\n", mask & known)) }
            }
            Self::Cpus => list(text.trim(), cpus),
        }
    }
}

/// The words of a choice and the chosen one, if that is what the text is.
fn choices(text: &str) -> Option<(Vec<&str>, &str)> {
    let chosen = text.split_once('[')?.1.split_once(']')?.0;
    let words: Vec<&str> = text.split_whitespace().map(|word| word.trim_matches(['[', ']'])).collect();
    words.contains(&chosen).then_some((words, chosen))
}

fn choose(now: &str, word: &str) -> Result<String, Refused> {
    let (words, _) = choices(now).ok_or(Refused::Invalid)?;
    if !words.contains(&word) {
        return Err(Refused::Invalid);
    }
    let shown: Vec<String> =
        words.iter().map(|it| if *it == word { format!("[{it}]") } else { (*it).to_owned() }).collect();
    Ok(format!("{}\n", shown.join(" ")))
}

/// Fewer numbers than there are leave the rest as it was, as the kernel does.
fn numbers(
    now: &str,
    text: &str,
    count: usize,
    range: std::ops::RangeInclusive<i128>,
) -> Result<String, Refused> {
    let mut values: Vec<i128> = now.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    values.resize(count, 0);
    let words: Vec<&str> = text.split_whitespace().collect();
    if words.is_empty() || words.len() > count {
        return Err(Refused::Invalid);
    }
    for (value, word) in values.iter_mut().zip(words) {
        *value = number(word).filter(|it| range.contains(it)).ok_or(Refused::Invalid)?;
    }
    let shown: Vec<String> = values.iter().map(i128::to_string).collect();
    Ok(format!("{}\n", shown.join("\t")))
}

/// A number as the kernel reads it: decimal, or hexadecimal after `0x`, or octal after `0`.
fn number(word: &str) -> Option<i128> {
    let (negative, digits) = match word.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, word.strip_prefix('+').unwrap_or(word)),
    };
    let (radix, digits) = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hexadecimal) => (16, hexadecimal),
        None if digits.len() > 1 && digits.starts_with('0') => (8, digits),
        None => (10, digits),
    };
    if !digits.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return None;
    }
    let value = i128::from_str_radix(digits, radix).ok()?;
    Some(if negative { -value } else { value })
}

fn list(text: &str, cpus: usize) -> Result<String, Refused> {
    let mut any = false;
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let first: usize = first.parse().map_err(|_| Refused::Invalid)?;
        let last: usize = last.parse().map_err(|_| Refused::Invalid)?;
        if first > last || last >= 8192 {
            return Err(Refused::Invalid);
        }
        any |= first < cpus;
    }
    if any { Ok(format!("{text}\n")) } else { Err(Refused::Invalid) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(path: &str, now: &str, written: &str) -> Result<String, Refused> {
        of(path, 0o644, now).take(now, written, 2)
    }

    #[test]
    fn ranges_are_the_kernels() {
        assert_eq!(take("proc/sys/vm/swappiness", "60\n", "10\n"), Ok("10\n".into()));
        for wrong in ["201", "-1", "x", "", "1 2", "1x"] {
            assert_eq!(take("proc/sys/vm/swappiness", "60\n", wrong), Err(Refused::Invalid), "{wrong}");
        }
        assert_eq!(take("proc/sys/vm/dirty_bytes", "0\n", "4096"), Err(Refused::Invalid));
        assert_eq!(take("sys/devices/x/queue/nr_requests", "64\n", "0x80"), Ok("128\n".into()));
    }

    #[test]
    fn unknown_keys_keep_their_shape() {
        assert_eq!(take("proc/sys/kernel/printk", "7\t4\t1\t7\n", "3 4"), Ok("3\t4\t1\t7\n".into()));
        assert_eq!(take("proc/sys/kernel/printk", "7\t4\t1\t7\n", "a"), Err(Refused::Invalid));
        assert_eq!(take("proc/sys/kernel/core_pattern", "core\n", "|/bin/x %p\n"), Ok("|/bin/x %p\n".into()));
    }

    #[test]
    fn a_choice_shows_its_brackets() {
        let path = "sys/kernel/mm/transparent_hugepage/enabled";
        let now = "always [madvise] never\n";
        assert_eq!(take(path, now, "never\n"), Ok("always madvise [never]\n".into()));
        assert_eq!(take(path, now, "sometimes"), Err(Refused::Invalid));
    }

    #[test]
    fn processors_must_be_there() {
        assert_eq!(take("proc/irq/5/smp_affinity", "3\n", "2"), Ok("2\n".into()));
        assert_eq!(take("proc/irq/5/smp_affinity", "3\n", "4"), Err(Refused::Invalid));
        assert_eq!(take("proc/irq/5/smp_affinity_list", "0-1\n", "1"), Ok("1\n".into()));
        assert_eq!(take("proc/irq/5/smp_affinity_list", "0-1\n", "7"), Err(Refused::Invalid));
    }

    #[test]
    fn modes_decide_first() {
        assert_eq!(of("proc/sys/vm/swappiness", 0o444, "60\n"), Rule::Fixed);
        assert_eq!(of("proc/sys/vm/compact_memory", 0o200, ""), Rule::Order);
        assert!(
            ends("proc/sys/vm/swappiness", "vm/swappiness")
                && !ends("proc/sys/xvm/swappiness", "vm/swappiness")
        );
    }
}
