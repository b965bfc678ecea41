//! A running QEMU: its arguments, its linker's environment, what it has mapped, and the CPUs of its threads.
use crate::shape::CpuList;
use crate::vocabulary::{Facts, HostPath, Read, Row, Seen, Stop};

/// What was seen of a running QEMU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Process {
    /// Its arguments, the program first.
    pub(crate) arguments: Vec<String>,
    /// Variables of the linker: `LD_PRELOAD` and the like.
    pub(crate) environment: Vec<(String, String)>,
    /// Files of libraries that are mapped into it.
    pub(crate) libraries: Vec<String>,
    /// Bytes of huge pages that are mapped into it; none where the kernel does not tell.
    pub(super) huge: Option<u64>,
    /// Its threads: number, name, and the CPUs that they may run on.
    pub(super) threads: Vec<Thread>,
}

/// A thread of a QEMU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Thread {
    /// Its name, such as `CPU 0/KVM`.
    pub(super) name: String,
    /// The CPUs that it may run on.
    pub(super) cpus: CpuList,
}

/// The libraries that an `LD_PRELOAD` names by their paths.
pub(crate) fn libraries(value: &str) -> Result<Vec<HostPath>, Stop> {
    let paths = value.split([':', ' ']).filter(|path| path.starts_with('/'));
    paths.map(|path| HostPath::new(path).map_err(|why| Stop::refused("environment", why))).collect()
}

/// The look at a process, by its number or by the file that holds it.
pub(crate) fn look(which: &str) -> Row {
    Row::new("qemu-process", [which])
}

impl Process {
    /// What was seen; none where it does not run, or cannot be looked at.
    ///
    /// # Errors
    /// [`Stop::Unread`], [`Stop::Late`].
    pub(crate) fn of(facts: &Facts, which: &str) -> Result<Option<Self>, Stop> {
        match facts.get(&Read::Ask(look(which)))? {
            Seen::Output(output) if output.status == 0 => Ok(Some(Self::parse(&output.text()))),
            _ => Ok(None),
        }
    }

    fn parse(text: &str) -> Self {
        let mut process = Self::default();
        for line in text.lines() {
            match line.split_once(' ') {
                Some(("arg", text)) => process.arguments.push(text.to_owned()),
                Some(("env", text)) => {
                    let (name, value) = text.split_once('=').unwrap_or((text, ""));
                    process.environment.push((name.to_owned(), value.to_owned()));
                }
                Some(("lib", path)) => process.libraries.push(path.to_owned()),
                Some(("huge", kib)) => {
                    let bytes = kib.trim().parse::<u64>().unwrap_or(0) * 1024;
                    process.huge = Some(process.huge.unwrap_or(0) + bytes);
                }
                Some(("cpus", text)) => process.threads.extend(Thread::parse(text)),
                _ => {}
            }
        }
        process
    }

    /// Whether all threads may run on these CPUs and no others: whether it is so, what was seen.
    pub(super) fn bound(&self, cpus: &CpuList) -> (bool, String) {
        let stray = self.threads.iter().find(|thread| thread.cpus != *cpus);
        match (stray, self.threads.first()) {
            (Some(thread), _) => (false, format!("{} may run on CPU {}", thread.name, thread.cpus)),
            (None, Some(_)) => (true, format!("all {} threads may run on CPU {cpus}", self.threads.len())),
            (None, None) => (false, "its threads are not told".to_owned()),
        }
    }

    /// Whether each library of an `LD_PRELOAD` is mapped: what is told, whether it is so, what was seen.
    pub(crate) fn preloaded(&self, value: &str) -> Vec<(String, bool, String)> {
        let paths = value.split([':', ' ']).filter(|path| !path.is_empty());
        paths
            .map(|path| {
                let mapped = self.library(path);
                let seen = mapped.map_or_else(|| format!("{path} is not mapped"), ToOwned::to_owned);
                (format!("{path} is mapped into QEMU"), mapped.is_some(), seen)
            })
            .collect()
    }

    /// The mapped file of a library, whatever versions its name ends with.
    pub(crate) fn library(&self, path: &str) -> Option<&str> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let stem = name.split(".so").next().unwrap_or(name);
        self.libraries
            .iter()
            .find(|mapped| {
                let other = mapped.rsplit('/').next().unwrap_or(mapped);
                other.strip_prefix(stem).is_some_and(|rest| rest.starts_with(".so"))
            })
            .map(String::as_str)
    }
}

impl Thread {
    /// `NUMBER CPUS NAME`.
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.splitn(3, ' ').skip(1);
        let cpus = CpuList::parse(words.next()?).ok()?;
        Some(Self { name: words.next()?.trim().to_owned(), cpus })
    }
}

#[cfg(test)]
mod tests {
    use super::Process;
    use crate::shape::CpuList;

    #[test]
    fn a_process_is_told_by_its_lines() {
        let process = Process::parse(
            "arg /usr/bin/qemu-system-x86_64\narg -object\narg {\"qom-type\":\"iothread\"}\nenv LD_PRELOAD=/usr/lib64/libtcmalloc.so\nlib /usr/lib64/libtcmalloc.so.4.5.9\nhuge 2048\nhuge 4096\ncpus 12 2-3 qemu-system-x86\ncpus 13 2-3 CPU 0/KVM\n",
        );
        assert_eq!(process.arguments.len(), 3);
        assert_eq!(process.environment, [("LD_PRELOAD".to_owned(), "/usr/lib64/libtcmalloc.so".to_owned())]);
        assert_eq!(process.library("/usr/lib64/libtcmalloc.so"), Some("/usr/lib64/libtcmalloc.so.4.5.9"));
        assert_eq!(process.library("/usr/lib64/libtcmalloc_minimal.so"), None);
        assert_eq!(process.huge, Some(6 << 20));
        assert_eq!(process.threads[1].name, "CPU 0/KVM");
        let of = |text: &str| CpuList::parse(text).unwrap();
        assert!(process.bound(&of("2,3")).0);
        assert_eq!(process.bound(&of("2")), (false, "qemu-system-x86 may run on CPU 2-3".to_owned()));
        assert_eq!(Process::parse("arg x\n").huge, None, "an older kernel does not tell");
    }
}
