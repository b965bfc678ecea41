//! What a host did within some seconds: the lines that the row `samples` prints, as typed data.
use std::collections::BTreeMap;

/// What one CPU did, in shares of the time from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct CpuTime {
    /// Programs and the kernel for them.
    pub busy: f64,
    /// Interrupts and what they put off.
    pub interrupts: f64,
    /// Taken away by the hypervisor.
    pub stolen: f64,
}

/// How often something happened, by CPU.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Counts {
    /// The interrupt's number, or the kind.
    pub id: String,
    /// Its controller and name, as /proc/interrupts tells them; empty for kinds.
    pub name: String,
    /// How often in all.
    pub total: u64,
    /// How often on each CPU; what is below half a percent is left out.
    pub by: BTreeMap<u32, u64>,
}

/// One thread that used, or wanted, more than a twentieth of a CPU.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Thread {
    /// Its process.
    pub pid: u32,
    /// Its number.
    pub tid: u32,
    /// The CPU that it was last seen on.
    pub cpu: u32,
    /// Its process's name; empty where the process's first thread was idle and nobody told it.
    pub process: String,
    /// Its name.
    pub name: String,
    /// Whether it is the kernel's.
    pub is_kernel: bool,
    /// The share of one CPU that it used, from 0 to 1.
    pub share: f64,
    /// The share of the time in which it waited for a CPU.
    pub waited: f64,
}

/// One symbol of the profile.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Symbol {
    /// The share of all samples that were not idle, in percent.
    pub share: f64,
    /// The thread's name.
    pub thread: String,
    /// The program or library.
    pub object: String,
    /// The function.
    pub name: String,
    /// Whether it is the kernel's.
    pub is_kernel: bool,
}

/// What a card carried.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Card {
    /// Its name.
    pub name: String,
    /// Bytes received.
    pub rx_bytes: u64,
    /// Packets received.
    pub rx_packets: u64,
    /// Bytes sent.
    pub tx_bytes: u64,
    /// Packets sent.
    pub tx_packets: u64,
}

/// Everything that was seen.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Samples {
    /// How long it was looked at, in seconds.
    pub seconds: f64,
    /// What CPUs did.
    pub cpus: BTreeMap<u32, CpuTime>,
    /// Interrupts.
    pub interrupts: Vec<Counts>,
    /// Work that interrupts put off, by kind.
    pub softirqs: Vec<Counts>,
    /// Threads, the busiest first.
    pub threads: Vec<Thread>,
    /// Pages of memory by node and kind: `numa_miss`, `other_node` …
    pub numa: BTreeMap<(u32, String), u64>,
    /// The share of time in which something waited, by resource and `some` or `full`.
    pub pressure: BTreeMap<(String, String), f64>,
    /// What cards carried.
    pub cards: Vec<Card>,
    /// The profile, the largest share first.
    pub symbols: Vec<Symbol>,
    /// What could not be seen, and why.
    pub unseen: Vec<(String, String)>,
}

/// What an idle CPU runs: it is no work.
const IDLE: [&str; 9] = [
    "native_safe_halt",
    "pv_native_safe_halt",
    "mwait_idle",
    "intel_idle",
    "default_idle",
    "acpi_idle",
    "poll_idle",
    "cpuidle_enter",
    "acpi_safe_halt",
];

impl Samples {
    /// Reads the lines. One that is not understood is left out: other awks and kernels print what they like.
    pub fn parse(text: &str) -> Self {
        let mut seen = Self::default();
        let mut hz = 100.0;
        for line in text.lines() {
            let words: Vec<&str> = line.split('\t').collect();
            match words.as_slice() {
                ["took", seconds, ticks] => {
                    seen.seconds = seconds.parse().unwrap_or(0.0);
                    hz = ticks.parse::<f64>().ok().filter(|hz| *hz > 0.0).unwrap_or(100.0);
                }
                ["cpu", cpu, times @ ..] => seen.cpu(cpu, times),
                ["irq", rest @ ..] => seen.interrupts.extend(counts(rest)),
                ["softirq", rest @ ..] => seen.softirqs.extend(counts(rest)),
                ["task", rest @ ..] => seen.threads.extend(thread(rest, seen.seconds * hz)),
                ["numa", path, kind, pages] => seen.numa(path, kind, pages),
                ["pressure", path, kind, micros] => seen.pressure(path, kind, micros),
                ["card", rest @ ..] => seen.cards.extend(card(rest)),
                ["perf", rest] => seen.symbols.extend(symbol(rest)),
                ["none", what, why] => seen.unseen.push(((*what).to_owned(), (*why).to_owned())),
                _ => {}
            }
        }
        seen.without_idle();
        seen.threads.sort_by(|one, two| two.share.total_cmp(&one.share));
        seen.symbols.sort_by(|one, two| two.share.total_cmp(&one.share));
        seen
    }

    fn cpu(&mut self, cpu: &str, times: &[&str]) {
        let Ok(cpu) = cpu.parse() else { return };
        let ticks: Vec<f64> = times.iter().map(|time| time.parse().unwrap_or(0.0)).collect();
        let [user, nice, system, idle, wait, irq, softirq, stolen] = ticks[..] else { return };
        let all: f64 = (user + nice + system + idle + wait + irq + softirq + stolen).max(1.0);
        let time = CpuTime {
            busy: (user + nice + system) / all,
            interrupts: (irq + softirq) / all,
            stolen: stolen / all,
        };
        self.cpus.insert(cpu, time);
    }

    fn numa(&mut self, path: &str, kind: &str, pages: &str) {
        let node = path.split('/').find_map(|part| part.strip_prefix("node")?.parse().ok());
        if let (Some(node), Ok(pages)) = (node, pages.parse()) {
            self.numa.insert((node, kind.to_owned()), pages);
        }
    }

    fn pressure(&mut self, path: &str, kind: &str, micros: &str) {
        let resource = path.rsplit('/').next().unwrap_or_default().to_owned();
        if let Ok(micros) = micros.parse::<f64>() {
            self.pressure.insert((resource, kind.to_owned()), micros / 1e6 / self.seconds.max(0.001));
        }
    }

    /// Takes idle CPUs out of the profile: shares are of what was worked.
    fn without_idle(&mut self) {
        let is_idle =
            |symbol: &Symbol| symbol.is_kernel && IDLE.iter().any(|idle| symbol.name.starts_with(idle));
        let idle: f64 = self.symbols.iter().filter(|symbol| is_idle(symbol)).map(|symbol| symbol.share).sum();
        self.symbols.retain(|symbol| !is_idle(symbol));
        let worked = (100.0 - idle).max(1.0);
        self.symbols.iter_mut().for_each(|symbol| symbol.share *= 100.0 / worked);
    }

    /// Whether there is a profile.
    pub fn has_profile(&self) -> bool {
        !self.symbols.is_empty()
    }

    /// Times a second.
    pub fn rate(&self, count: u64) -> f64 {
        count as f64 / self.seconds.max(0.001)
    }

    /// CPUs whose time goes to interrupts alone, at or above a share.
    pub fn interrupted(&self, share: f64) -> Vec<u32> {
        self.cpus.iter().filter(|(_, time)| time.interrupts >= share).map(|(cpu, _)| *cpu).collect()
    }
}

fn counts(words: &[&str]) -> Option<Counts> {
    let [id, total, list, name @ ..] = words else { return None };
    let pair = |text: &str| {
        let (cpu, count) = text.split_once(':')?;
        Some((cpu.parse().ok()?, count.parse().ok()?))
    };
    Some(Counts {
        id: (*id).to_owned(),
        name: name.first().map(|name| name.trim().to_owned()).unwrap_or_default(),
        total: total.parse().ok()?,
        by: list.split(',').filter_map(pair).collect(),
    })
}

/// `ticks` is how many a CPU has in all that time.
fn thread(words: &[&str], ticks: f64) -> Option<Thread> {
    let [user, system, waited, pid, tid, cpu, whose, process, name] = words else { return None };
    let used = user.parse::<f64>().ok()? + system.parse::<f64>().ok()?;
    Some(Thread {
        pid: pid.parse().ok()?,
        tid: tid.parse().ok()?,
        cpu: cpu.parse().unwrap_or(0),
        process: (*process).to_owned(),
        name: (*name).to_owned(),
        is_kernel: *whose == "kernel",
        share: used / ticks.max(1.0),
        // The two clocks are read one after the other.
        waited: (waited.parse::<f64>().unwrap_or(0.0) / ticks.max(1.0))
            .min(1.0 - (used / ticks.max(1.0)).min(1.0)),
    })
}

fn card(words: &[&str]) -> Option<Card> {
    let [name, rx_bytes, rx_packets, tx_bytes, tx_packets] = words else { return None };
    let number = |text: &str| text.parse().unwrap_or(0);
    Some(Card {
        name: (*name).to_owned(),
        rx_bytes: number(rx_bytes),
        rx_packets: number(rx_packets),
        tx_bytes: number(tx_bytes),
        tx_packets: number(tx_packets),
    })
}

/// `12.34%;msgr-worker-0;libcrypto.so.3;[.] aesni_gcm_decrypt`.
fn symbol(line: &str) -> Option<Symbol> {
    let mut words = line.splitn(4, ';').map(str::trim);
    let share = words.next()?.strip_suffix('%')?.trim().parse().ok()?;
    let (thread, object, rest) = (words.next()?, words.next()?, words.next()?);
    let (mark, name) = rest.split_once(' ').unwrap_or(("", rest));
    Some(Symbol {
        share,
        thread: thread.to_owned(),
        object: object.to_owned(),
        name: name.trim().to_owned(),
        is_kernel: mark == "[k]",
    })
}

#[cfg(test)]
mod tests {
    use super::Samples;

    #[test]
    fn lines_become_typed_data() {
        let text = "took\t5.00\t100\ncpu\t0\t100\t0\t50\t300\t0\t0\t50\t0\ncpu\t1\tx\n\
            irq\t41\t10000\t3:9900,4:100\tPCI-MSIX-0000:00:03.0 1-edge virtio0-input.0\n\
            softirq\tNET_RX\t5000\t3:5000\t\n\
            task\t300\t190\t0\t10\t12\t3\tuser\tqemu-system-x86\tmsgr-worker-0\n\
            numa\t/sys/devices/system/node/node1/numastat\tother_node\t77\n\
            pressure\t/proc/pressure/memory\tsome\t500000\n\
            card\teth0\t1000000\t2000\t10\t1\n\
            perf\t20.00%;swapper;[kernel.kallsyms];[k] pv_native_safe_halt\n\
            perf\t8.00%;ksoftirqd/3;[kernel.kallsyms];[k] clear_page_erms\n\
            none\tperf\tnot allowed\nnonsense\n";
        let seen = Samples::parse(text);
        assert_eq!((seen.cpus[&0].busy, seen.cpus[&0].interrupts), (0.3, 0.1));
        assert_eq!((seen.interrupts[0].total, seen.interrupts[0].by[&3]), (10000, 9900));
        assert_eq!((seen.threads[0].share, seen.threads[0].name.as_str()), (0.98, "msgr-worker-0"));
        assert_eq!(seen.numa[&(1, "other_node".to_owned())], 77);
        assert!((seen.pressure[&("memory".to_owned(), "some".to_owned())] - 0.1).abs() < 1e-9);
        assert_eq!(seen.symbols.len(), 1);
        assert!((seen.symbols[0].share - 10.0).abs() < 1e-9, "idle CPUs do not work");
        assert_eq!(seen.unseen, [("perf".to_owned(), "not allowed".to_owned())]);
        assert_eq!(seen.rate(seen.cards[0].rx_packets), 400.0);
    }
}
