//! `slurp`: what a file holds, as base64.
use super::place;
use crate::host::Host;
use crate::vocabulary::{Change, Facts, Kind, Node, Read, Seen, Stop};
use crate::{Module, Sample};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Reads a file of up to 1 MiB and changes nothing. The result's `content` is base64, as in Ansible: use the filter
/// `b64decode`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Slurp {
    /// The file; links are followed.
    pub src: String,
}

impl Module for Slurp {
    const NAME: &'static str = "slurp";
    const EXAMPLE: &'static str = "\
- name: What the kernel was booted with
  slurp:
    src: /proc/cmdline
  register: cmdline
";
    const ALIASES: &'static [(&'static str, &'static str)] = &[("path", "src")];
    const FREE_FORM: Option<&'static str> = None;

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        let asked = place::path("src", &self.src)?;
        let bytes = if asked.is_virtual() {
            match facts.get(&Read::text(&asked))? {
                // A value comes without its last newline.
                Seen::Value(value) => format!("{value}\n").into_bytes(),
                Seen::Absent => return Err(absent(&self.src)),
                _ => return Err(Stop::refused("src", format!("{asked} cannot be read"))),
            }
        } else {
            let path = facts.resolve(&asked)?;
            let Some(node) = facts.node(&path)? else { return Err(absent(&self.src)) };
            self.content(&node)?
        };
        let content = STANDARD.encode(bytes);
        Ok(Change::nothing(json!({ "content": content, "source": self.src, "encoding": "base64" })))
    }

    fn samples() -> Vec<Sample> {
        let sample = |about, args, host| Sample { about, args, host, calls: Vec::new() };
        vec![
            sample(
                "a value of the kernel",
                json!({ "src": "/proc/cmdline" }),
                Host::new().value("/proc/cmdline", "quiet"),
            ),
            sample(
                "bytes behind a link",
                json!({ "src": "/etc/l" }),
                Host::new().link("/etc/l", "a").file("/etc/a", b"\xff\x00"),
            ),
            sample("a folder", json!({ "src": "/etc" }), Host::new().dir("/etc")),
            sample("nothing is there", json!({ "src": "/etc/none" }), Host::new().dir("/etc")),
        ]
    }
}

fn absent(path: &str) -> Stop {
    Stop::refused("src", format!("{path} is not there"))
        .way_out("ask `stat` first, and let `when` decide by `stat.exists`")
}

impl Slurp {
    fn content(&self, node: &Node) -> Result<Vec<u8>, Stop> {
        if node.kind != Kind::File {
            let kind = place::kind_name(&node.kind);
            return Err(Stop::refused("src", format!("{} is {kind}, not a file", self.src)));
        }
        node.bytes().map(|bytes| bytes.as_slice().to_vec()).ok_or_else(|| {
            Stop::refused("src", format!("{} holds {} bytes: at most 1 MiB is read", self.src, node.size))
        })
    }
}
