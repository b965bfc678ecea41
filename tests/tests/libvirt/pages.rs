//! Huge pages of this machine, reserved for a test and given back exactly.
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

const POOL: &str = "/sys/kernel/mm/hugepages/hugepages-2048kB";

/// Reserves as many more as its argument says, tells how many there are, and gives them back when its input ends:
/// however the test ends.
const KEEPER: &str = r#"f=$1/nr_hugepages; read -r old <"$f"; trap '' HUP INT TERM; trap 'echo "$old" >"$f"' EXIT
echo $((old + $2)) >"$f"; cat "$f"; read -r _; exit 0"#;

/// Pages that are reserved.
pub struct Reserved {
    keeper: Child,
    before: u64,
}

/// Pages of 2 MiB: all, and those that nobody has.
pub fn pages() -> (u64, u64) {
    let number = |name: &str| {
        let text = fs::read_to_string(Path::new(POOL).join(name)).unwrap();
        text.trim().parse::<u64>().unwrap()
    };
    (number("nr_hugepages"), number("free_hugepages").saturating_sub(number("resv_hugepages")))
}

/// Whether this machine has huge pages to be reserved; loud where not.
pub fn can() -> bool {
    let there = Path::new(POOL).is_dir();
    if !there {
        eprintln!("NOT TESTED: this kernel has no huge pages of 2 MiB");
        assert!(std::env::var_os("CI").is_none(), "CI must have huge pages");
    }
    there
}

impl Reserved {
    /// Reserves more.
    pub fn more(count: u64) -> Self {
        let before = pages().0;
        let mut command = Command::new("setsid");
        command.args(["sh", "-c", KEEPER, "keeper", POOL, &count.to_string()]);
        let mut keeper = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(keeper.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let reserved = Self { keeper, before };
        assert_eq!(line.trim(), (before + count).to_string(), "this machine has no memory in one piece");
        reserved
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
        if !std::thread::panicking() {
            assert_eq!(pages().0, self.before, "the pages are not given back");
        }
    }
}
