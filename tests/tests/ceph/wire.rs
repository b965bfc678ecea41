//! What of a client's data can be read on the wire: the loopback is listened to while an object is written.
use super::cluster::Cluster;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

/// Reads all that passes the loopback until its standard input ends, and prints the connections, by their two ports, in
/// which the word was seen.
const LISTENER: &str = r#"
import select, socket, struct, sys, time
word = sys.argv[1].encode()
ears = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
ears.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)
ears.bind(("lo", 0))
ears.setblocking(False)
print("ready", flush=True)
seen, packets, ending = set(), 0, None
while ending is None or time.monotonic() < ending:
    ready = select.select([ears] if ending else [ears, sys.stdin], [], [], 0.5)[0]
    if ears in ready:
        frame = ears.recv(1 << 18)
        packets += 1
        if word in frame:
            head = 14 + (frame[14] & 15) * 4
            seen.add(struct.unpack("!HH", frame[head:head + 4]))
    if sys.stdin in ready and not sys.stdin.buffer.read():
        ending = time.monotonic() + 1
print(packets)
for ports in sorted(seen):
    print("%d %d" % ports)
"#;

/// The connections, by their two ports, in which the text of an object was seen while a client wrote it.
pub fn seen(cluster: &Cluster, pool: &str, word: &str) -> BTreeSet<String> {
    let mut listener = Command::new("python3")
        .args(["-c", LISTENER, word])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(listener.stdout.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert_eq!(line.trim(), "ready", "nobody listens to the loopback");
    let text = cluster.dir.join(format!("{word}.txt"));
    std::fs::write(&text, format!("{word} ").repeat(20)).unwrap();
    cluster.rados(&["-p", pool, "put", word, &text.to_string_lossy()]);
    drop(listener.stdin.take());
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    assert!(listener.wait().unwrap().success());
    let mut lines = rest.lines();
    let packets: u64 = lines.next().unwrap().parse().unwrap();
    assert!(packets > 0, "nothing at all passed the loopback");
    lines.map(str::to_owned).collect()
}

/// A load that runs until it is dropped: one client that stays connected.
pub struct Load {
    client: Child,
    log: std::path::PathBuf,
    pool: String,
}

impl Load {
    /// Begins to write, with options of the client such as `--ms_client_mode=crc`.
    pub fn begin(cluster: &Cluster, pool: &str, options: &[&str]) -> Self {
        let log = cluster.dir.join(format!("load-{}.txt", options.len()));
        let out = std::fs::File::create(&log).unwrap();
        // It ends with this test, however that ends.
        let client = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "rados", "--conf"])
            .arg(cluster.conf())
            .args(options)
            .args(["-p", pool, "bench", "900", "write", "-t", "1", "-b", "1024", "-O", "1048576"])
            .args(["--no-cleanup", "--run-name", &format!("load{}", options.len())])
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let load = Self { client, log, pool: pool.to_owned() };
        let until = std::time::Instant::now() + std::time::Duration::from_secs(30);
        while load.written() == 0 {
            assert!(std::time::Instant::now() < until, "{} does not take any writes", load.pool);
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        load
    }

    /// How many writes have ended: the fourth column of the lines that it prints each second.
    pub fn written(&self) -> u64 {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let row = |line: &str| {
            let words: Vec<u64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
            words.get(3).copied()
        };
        text.lines().filter_map(row).max().unwrap_or(0)
    }

    /// It still writes: it would have ended at its first error.
    #[track_caller]
    pub fn goes_on(&mut self) {
        let before = self.written();
        let until = std::time::Instant::now() + std::time::Duration::from_secs(30);
        while self.written() <= before {
            let ended = self.client.try_wait().unwrap();
            assert!(ended.is_none(), "the load ended: {ended:?}");
            assert!(std::time::Instant::now() < until, "the load hangs after {before} writes");
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        let _ = self.client.kill();
        let _ = self.client.wait();
    }
}
