//! A program with the arguments of SPDK's `vhost`, that answers as a real one did: for units of a real systemd.
use modules::host::Target;
use modules::vocabulary::HostPath;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::path::Path;
use tests::spdk::Served;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let options: BTreeMap<&str, &str> =
        words.chunks(2).filter_map(|pair| Some((pair.first()?.as_str(), pair.get(1)?.as_str()))).collect();
    let option = |name: &str| options.get(name).copied().unwrap_or_else(|| panic!("{name} is missing"));
    let mask = u64::from_str_radix(option("-m").trim_start_matches("0x"), 16).expect("a mask");
    let cores: Vec<u32> = (0..64).filter(|core| mask >> core & 1 == 1).collect();
    let memory: u64 = option("-s").parse().expect("mebibytes");
    let mut target = Target::new(&cores, memory << 20).device("0000:02:00.0");
    if let Some(config) = options.get("-c") {
        let text = std::fs::read_to_string(config).expect("a list that can be read");
        let list: Json = serde_json::from_str(&text).expect("JSON");
        for part in list["subsystems"].as_array().into_iter().flatten() {
            for entry in part["config"].as_array().into_iter().flatten() {
                let method = entry["method"].as_str().unwrap_or_default();
                if method != "bdev_wait_for_examine" {
                    target.call(method, &entry["params"]).unwrap_or_else(|(code, words)| {
                        eprintln!("{method}: {words} ({code})");
                        std::process::exit(1)
                    });
                }
            }
        }
    }
    let socket = HostPath::new(option("-r")).expect("a path");
    Served::new(Path::new(socket.as_str()), target).wait();
}
