//! What a loader is like around a run: stolen time, throttling, memory, and how much of what is read was ever written.
use crate::bench::Source;
use crate::bench::preflight::Surroundings;

/// Tells, in `name value` lines, what the kernel counts, and of each path its bytes and how many of them are allocated.
/// A path whose allocation no one can tell gets `-`.
const LOOK: &str = r#"IFS= read -r l </proc/stat && echo "stat $l"
while read -r k v _; do [ "$k" = MemTotal: ] && { echo "memory $v"; break; }; done </proc/meminfo
for f in /sys/devices/system/cpu/cpu[0-9]*/thermal_throttle/*_throttle_count; do
  [ -r "$f" ] && IFS= read -r l <"$f" && echo "throttled $l"; done
for p; do
  # A file system that compresses allocates less than was written.
  if [ -f "$p" ]; then case $(stat -L -f -c %T "$p") in btrfs|zfs) echo "target - -"; continue;; esac
    found=$(stat -L -c '%s %b %B' "$p") && { set -- $found; echo "target $1 $(($2 * $3))"; }
  elif [ -b "$p" ]; then
    size=$(lsblk --bytes --nodeps --noheadings --output SIZE "$p" 2>/dev/null | tr -d ' ')
    share=$(lvs --noheadings --options data_percent "$p" 2>/dev/null | tr -d ' ')
    echo "target ${size:--} ${share:+%}${share:--}"
  else echo "target - -"; fi
done
echo looked"#;

/// The command that looks.
pub(super) fn look(source: &Source) -> Vec<String> {
    let plain = |path: &String| if path.starts_with('-') { format!("./{path}") } else { path.clone() };
    let head = ["sh", "-c", LOOK, "tunerun"].map(str::to_owned);
    head.into_iter().chain(source.paths.iter().map(plain)).collect()
}

/// What was printed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Looked {
    /// Processor time so far, and what a hypervisor kept of it.
    times: Option<(u64, u64)>,
    /// Bytes of memory.
    memory: Option<u64>,
    /// How often the processor was slowed down, where it tells.
    throttled: Option<u64>,
    /// Bytes of all targets, and how many of them were written; none where one does not tell.
    bytes: Option<f64>,
    written: Option<f64>,
}

impl Looked {
    /// Reads it; nothing where it is not whole.
    pub fn read(printed: &str) -> Option<Self> {
        let mut lines: Vec<&str> = printed.lines().collect();
        if lines.pop() != Some("looked") {
            return None;
        }
        let of = |name: &str| -> Vec<&str> {
            lines.iter().filter_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).collect()
        };
        let (sizes, written): (Vec<Option<f64>>, Vec<Option<f64>>) =
            of("target").iter().map(|line| target(line)).unzip();
        let all = |each: Vec<Option<f64>>| -> Option<f64> {
            let found: Vec<f64> = each.into_iter().collect::<Option<_>>()?;
            (!found.is_empty()).then(|| found.iter().sum())
        };
        let throttled: Vec<u64> = of("throttled").iter().filter_map(|count| count.parse().ok()).collect();
        Some(Self {
            times: of("stat").first().and_then(|line| times(line)),
            memory: of("memory").first().and_then(|kib| Some(kib.parse::<u64>().ok()? * 1024)),
            throttled: (!throttled.is_empty()).then(|| throttled.iter().sum()),
            bytes: all(sizes),
            written: all(written),
        })
    }

    /// What a run met, by a look before it and one after.
    pub fn around(&self, after: &Self, source: &Source) -> Surroundings {
        let steal = self.times.zip(after.times).and_then(|(before, after)| {
            let all = after.0.saturating_sub(before.0);
            (all > 0).then(|| after.1.saturating_sub(before.1) as f64 / all as f64)
        });
        Surroundings {
            target: self.bytes.map(|bytes| bytes as u64),
            cache: self.memory,
            direct: !source.cached,
            written: self
                .bytes
                .zip(self.written)
                .filter(|(bytes, _)| *bytes > 0.0)
                .map(|(all, own)| own / all),
            steal,
            throttled: self.throttled.zip(after.throttled).map(|(before, after)| after > before),
            warmer: None,
        }
    }
}

/// Bytes of a target, and how many of them are written: told in bytes, or as a share behind `%`.
fn target(line: &str) -> (Option<f64>, Option<f64>) {
    let (size, written) = line.split_once(' ').unwrap_or((line, "-"));
    let size: Option<f64> = size.parse().ok();
    let written = match written.strip_prefix('%') {
        Some(share) => size.zip(share.parse::<f64>().ok()).map(|(size, share)| size * share / 100.0),
        None => written.parse().ok(),
    };
    (size, written)
}

/// The first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal; guests' time is in the first
/// two already (proc(5)).
fn times(line: &str) -> Option<(u64, u64)> {
    let numbers: Option<Vec<u64>> =
        line.split_whitespace().skip(1).map(|word| word.parse::<u64>().ok()).collect();
    let numbers = numbers.filter(|numbers| numbers.len() >= 8)?;
    Some((numbers.iter().take(8).sum(), numbers[7]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looked(text: &str) -> Looked {
        Looked::read(&format!("{text}looked\n")).unwrap()
    }

    #[test]
    fn what_a_run_met_is_the_difference_of_two_looks() {
        let before = looked(
            "stat cpu  100 20 30 400 50 6 7 80 0 0\nmemory 1024\nthrottled 1\nthrottled 4\ntarget 1000 400\n",
        );
        let after = looked("stat cpu  150 20 30 440 50 6 7 90 0 0\nthrottled 2\nthrottled 4\n");
        let source = Source { paths: vec!["x".into()], cached: true };
        let met = before.around(&after, &source);
        assert_eq!((met.steal, met.throttled, met.written), (Some(0.1), Some(true), Some(0.4)));
        assert_eq!((met.target, met.cache, met.direct), (Some(1000), Some(1024 * 1024), false));
    }

    #[test]
    fn what_no_one_tells_is_not_known() {
        assert_eq!(Looked::read("stat cpu 1 2 3 4 5 6 7 8\n"), None);
        let blind = looked("stat cpu  1 2 3\ntarget 1000 -\ntarget - -\n");
        assert_eq!(
            blind.around(&blind, &Source::default()),
            Surroundings { direct: true, ..Default::default() }
        );
        let thin = looked("target 1000 %25.00\ntarget 1000 %75.00\n");
        assert_eq!(thin.around(&thin, &Source::default()).written, Some(0.5));
    }

    #[test]
    fn a_sparse_file_is_seen_as_one() {
        let path = std::env::temp_dir().join(format!("tunerun-sparse-{}", std::process::id()));
        std::fs::File::create(&path).unwrap().set_len(1 << 20).unwrap();
        let source = Source { paths: vec![path.to_str().unwrap().to_owned()], cached: false };
        let argv = look(&source);
        let printed = std::process::Command::new(&argv[0]).args(&argv[1..]).output().unwrap();
        std::fs::remove_file(&path).unwrap();
        let own = Looked::read(&String::from_utf8_lossy(&printed.stdout)).unwrap();
        let met = own.around(&own, &source);
        assert_eq!((met.target, met.written), (Some(1 << 20), Some(0.0)));
        assert!(met.cache.is_some() && own.times.is_some());
    }
}
