//! `rbd_image`: images of guests in a pool.
use super::cluster::{Cluster, Shell};
use crate::host::Host;
use crate::module::{Module, Sample, Scope};
use crate::shape::{Shape, parse_size, size_text};
use crate::vocabulary::{
    Act, Back, Change, Claim, Diff, Effect, Evidence, Facts, Match, Output, Read, Row, Seen, Spoil, Step,
    Stop,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Images of guests in a pool: made, or made larger, never smaller.
///
/// The way back removes an image that this run made, while nobody watches it and it has no snapshots. Growing has no
/// exact way back: what a guest wrote beyond the old end would be lost, so the size stays, and that is said.
///
/// Errors: a smaller size than the image has, a pool that is not there. Source: rbd(8).
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RbdImage {
    /// The pool.
    pub pool: String,
    /// The image.
    pub name: String,
    /// Its size: `6000G`, or bytes.
    pub size: String,
    /// The size of the objects that it is kept in, where it is made: `4M` where nothing is said.
    #[serde(default)]
    pub object_size: Option<String>,
    /// Features, where it is made: `[layering, exclusive-lock]`; Ceph's own default where nothing is said.
    #[serde(default)]
    pub features: Vec<String>,
    /// How the cluster is reached.
    #[serde(default)]
    pub cluster: Cluster,
}

const ENOENT: i32 = 2;

impl RbdImage {
    fn check(&self) -> Result<u64, Stop> {
        for (argument, text) in [("pool", &self.pool), ("name", &self.name)] {
            if text.is_empty() || text.starts_with('-') || text.contains(['/', '@', '\n']) {
                return Err(Stop::refused(argument, format!("`{text}` cannot be that")));
            }
        }
        if let Some(wrong) = self.features.iter().find(|name| name.is_empty() || name.contains([',', ' '])) {
            return Err(Stop::refused("features", format!("`{wrong}` is no feature")));
        }
        let bytes = parse_size(&self.size).map_err(|why| Stop::refused("size", why))?;
        if bytes == 0 {
            return Err(Stop::refused("size", "an image of no size"));
        }
        Ok(bytes)
    }

    fn spec(&self) -> String {
        format!("{}/{}", self.pool, self.name)
    }

    fn made(&self, shell: &Shell, bytes: u64) -> Result<Row, Stop> {
        let mut words = vec![self.spec(), "--size".to_owned(), format!("{bytes}B")];
        if let Some(size) = &self.object_size {
            let size = parse_size(size).map_err(|why| Stop::refused("object_size", why))?;
            words.extend(["--object-size".to_owned(), format!("{size}B")]);
        }
        for feature in &self.features {
            words.extend(["--image-feature".to_owned(), feature.clone()]);
        }
        Ok(shell.row("rbd-create", words))
    }
}

impl Module for RbdImage {
    const NAME: &'static str = "rbd_image";
    const SCOPE: Scope = Scope::Cluster;
    const EXAMPLE: &'static str = "\
- name: Room for the guest and its benchmark
  rbd_image:
    pool: libvirt-pool
    name: guest1
    size: 6000G
";
    const ALIASES: &'static [(&'static str, &'static str)] = &[("image", "name")];

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        let bytes = self.check()?;
        let shell = self.cluster.shell(facts)?;
        let look = shell.row("rbd-size", [self.spec()]);
        shell.need(facts, [&look])?;
        let fsid = shell.fsid(facts)?;
        let seen = facts.get(&Read::Ask(look.clone()))?;
        let now: Option<u64> = match &seen {
            Seen::Output(output) if output.status == 0 => Some(
                output
                    .text()
                    .trim()
                    .parse()
                    .map_err(|_| Stop::failed("the size of the image cannot be read"))?,
            ),
            Seen::Output(output) if output.status == ENOENT => None,
            Seen::Output(output) => return Err(shell.trouble(&look, output)),
            _ => return Err(Stop::failed("the size of the image cannot be read")),
        };
        let mut change = Change { cluster: Some(fsid.clone()), ..Change::default() };
        change.result =
            json!({ "fsid": fsid, "image": self.spec(), "size": bytes, "was_there": now.is_some() });
        change.evidence.push(Evidence::told(
            format!("{} has {}", self.spec(), size_text(bytes)),
            "rbd info",
            (now == Some(bytes), false),
            now.map_or_else(|| "no such image".to_owned(), size_text),
            Effect::CreationOnly,
        ));
        let spoils = vec![Spoil::Answers("rbd-size".to_owned())];
        let (row, back) = match now {
            Some(now) if now == bytes => return Ok(change),
            Some(now) if now > bytes => {
                return Err(Stop::refused(
                    "size",
                    format!(
                        "{} has {}: an image is never made smaller, its end would be lost",
                        self.spec(),
                        size_text(now)
                    ),
                )
                .way_out("ask for at least what it has, or make another image and copy into it"));
            }
            Some(now) => {
                let stays = Back::Approximately {
                    act: Act::Call { row: look.clone(), spoils: Vec::new() },
                    stays: format!(
                        "{} keeps its {}; it had {}",
                        self.spec(),
                        size_text(bytes),
                        size_text(now)
                    ),
                };
                (shell.row("rbd-resize", [self.spec(), "--size".to_owned(), format!("{bytes}B")]), stays)
            }
            None => {
                change.effect = Effect::CreationOnly;
                let remove = shell.row("rbd-remove-unused", [self.spec()]);
                (self.made(&shell, bytes)?, Back::Exactly(Act::Call { row: remove, spoils: spoils.clone() }))
            }
        };
        let claim = Claim::new("ceph", &format!("{fsid}/image/{}", self.spec()));
        let after = Match::Alike { shape: Shape::Number, value: bytes.to_string() };
        change.steps.push(Step::call_seen(claim, row, spoils, (Read::Ask(look), seen, after), back));
        change.diff.push(Diff::Value {
            name: format!("image {}", self.spec()),
            before: now.map(size_text),
            after: Some(size_text(bytes)),
        });
        Ok(change)
    }

    fn samples() -> Vec<Sample> {
        let cluster = Cluster { by: Some(super::cluster::By::Host), ..Cluster::default() };
        let Ok(shell) = cluster.shell(&Facts::default()) else { return Vec::new() };
        let answer = |text: &str| Seen::Output(Output::ok(text));
        let none = || Seen::Output(Output { status: ENOENT, stdout: "".into(), stderr: "".into() });
        let look = shell.row("rbd-size", ["vms/a"]);
        let host = |seen: Seen| {
            Host::new()
                .file("/usr/bin/ceph", "#!")
                .file("/etc/ceph/ceph.conf", "[global]\n")
                .answer(shell.plain("ceph-fsid"), answer("6bd1ad0a-49bf-4981-a947-e133752baa00\n"))
                .answer(shell.plain("ceph-orch-status"), none())
                .answer(look.clone(), seen)
        };
        let large = "10737418240";
        let calls = || {
            let read = Read::Ask(look.clone());
            vec![
                (
                    shell.row("rbd-create", ["vms/a", "--size", "10737418240B"]),
                    vec![(read.clone(), answer(large))],
                ),
                (shell.row("rbd-remove-unused", ["vms/a"]), vec![(read, none())]),
            ]
        };
        let args = json!({ "pool": "vms", "name": "a", "size": "10G" });
        let sample = |about, seen| Sample { about, args: args.clone(), host: host(seen), calls: calls() };
        vec![sample("made", none()), sample("as it is", answer(large))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{planned, refusal};

    fn host(size: &str) -> Host {
        let sample = RbdImage::samples().remove(1);
        let cluster = Cluster { by: Some(crate::ceph::cluster::By::Host), ..Cluster::default() };
        let shell = cluster.shell(&Facts::default()).unwrap();
        sample.host.answer(shell.row("rbd-size", ["vms/a"]), Seen::Output(Output::ok(size)))
    }

    #[test]
    fn never_smaller() {
        let args = json!({ "pool": "vms", "name": "a", "size": "10G" });
        assert!(refusal::<RbdImage>(&host("21474836480"), args).contains("never made smaller"));
    }

    #[test]
    fn growing_says_what_stays() {
        let change =
            planned::<RbdImage>(&host("1073741824"), json!({ "pool": "vms", "name": "a", "size": "10G" }));
        assert!(
            matches!(&change.steps[0].back, Back::Approximately { stays, .. } if stays.contains("keeps"))
        );
    }
}
