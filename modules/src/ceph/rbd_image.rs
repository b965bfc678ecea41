//! `rbd_image`: images of guests in a pool.
use super::cluster::{Cluster, Shell};
use crate::argument::nearest;
use crate::host::Host;
use crate::module::{Module, Sample, Scope};
use crate::shape::{Shape, parse_size, size_text};
use crate::vocabulary::{
    Act, Back, Change, Claim, Diff, Effect, Evidence, Facts, Match, Output, Read, Risk, RiskName, Row, Seen,
    Spoil, Step, Stop,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeSet;

/// Images of guests in a pool: made, or made larger, never smaller.
///
/// The way back removes an image that this run made, while nobody watches it and it has neither snapshots nor data; one
/// that has stays, and undo says so. Growing has no exact way back: what a guest wrote beyond the old end would be lost,
/// so the size stays, and that is said.
///
/// The size of objects and the features are those of the making: an image that is there with others is `cannot_converge`.
///
/// Errors: a smaller size than the image has, a pool that is not there, objects that are no power of two between 4K and
/// 32M, features that there are not. Source: rbd(8).
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
/// The sizes that objects may have, in bytes: powers of two.
const OBJECTS: std::ops::RangeInclusive<u64> = 4096..=33_554_432;
/// What an image may be made with.
const FEATURES: [&str; 8] = [
    "layering",
    "striping",
    "exclusive-lock",
    "object-map",
    "fast-diff",
    "deep-flatten",
    "journaling",
    "data-pool",
];

impl RbdImage {
    fn check(&self) -> Result<u64, Stop> {
        for (argument, text) in [("pool", &self.pool), ("name", &self.name)] {
            if text.is_empty() || text.starts_with('-') || text.contains(['/', '@', '\n']) {
                return Err(Stop::refused(argument, format!("`{text}` cannot be that")));
            }
        }
        if let Some(wrong) = self.features.iter().find(|name| !FEATURES.contains(&name.as_str())) {
            let stop = Stop::refused("features", format!("`{wrong}` is no feature of an image"));
            return Err(match nearest(wrong, FEATURES) {
                Some(near) => stop.way_out(format!("did you mean `{near}`?")),
                None => stop.way_out(format!("features are: {}", FEATURES.join(", "))),
            });
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

    /// The size of objects in bytes, where it is said.
    fn objects(&self) -> Result<Option<u64>, Stop> {
        let Some(text) = &self.object_size else { return Ok(None) };
        let size = parse_size(text).map_err(|why| Stop::refused("object_size", why))?;
        if !OBJECTS.contains(&size) || !size.is_power_of_two() {
            return Err(Stop::refused("object_size", format!("objects cannot have `{text}`"))
                .way_out("take a power of two between 4K and 32M"));
        }
        Ok(Some(size))
    }

    fn made(&self, shell: &Shell, (bytes, objects): (u64, Option<u64>)) -> Row {
        let mut words = vec![self.spec(), "--size".to_owned(), format!("{bytes}B")];
        if let Some(size) = objects {
            words.extend(["--object-size".to_owned(), format!("{size}B")]);
        }
        for feature in &self.features {
            words.extend(["--image-feature".to_owned(), feature.clone()]);
        }
        shell.row("rbd-create", words)
    }

    /// The row that tells what an image was made with, where that is asked for.
    fn made_row(&self, shell: &Shell) -> Option<Row> {
        let asked = self.object_size.is_some() || !self.features.is_empty();
        asked.then(|| shell.row("rbd-made", [self.spec()]))
    }

    /// Names what an image that is there was made with otherwise: it stays.
    fn as_made(
        &self,
        facts: &Facts,
        shell: &Shell,
        objects: Option<u64>,
        change: &mut Change,
    ) -> Result<(), Stop> {
        let Some(row) = self.made_row(shell) else { return Ok(()) };
        let text = shell.text(facts, &row)?;
        let mut words = text.split_whitespace();
        let size: Option<u64> = words.next().and_then(|word| word.parse().ok());
        let has: BTreeSet<&str> = words.collect();
        let mut other = Vec::new();
        if objects.is_some() && objects != size {
            other.push(format!(
                "its objects have {}: copy it by `rbd deep cp --object-size`",
                size.map_or_else(|| "another size".to_owned(), size_text)
            ));
        }
        let wanted: BTreeSet<&str> = self.features.iter().map(String::as_str).collect();
        if !wanted.is_empty() && has != wanted {
            let has: Vec<&str> = has.into_iter().collect();
            other.push(format!(
                "its features are {}: `rbd feature enable` and `disable` change those that can be changed",
                has.join(", ")
            ));
        }
        for why in other {
            let why = format!("{} was made otherwise, {why}", self.spec());
            change.notes.push(format!("left as it is: {why}"));
            change.risks.push(Risk { name: RiskName::CannotConverge, why });
        }
        Ok(())
    }

    /// Refuses where the pool is not there: `rbd` answers as if only the image were missing.
    fn pool_there(&self, facts: &Facts, shell: &Shell) -> Result<(), Stop> {
        if shell.text(facts, &self.pool_row(shell))?.trim() == "there" {
            return Ok(());
        }
        Err(Stop::refused("pool", format!("there is no pool `{}`", self.pool))
            .way_out("make it first: `ceph_pool` with `application: rbd`"))
    }

    fn pool_row(&self, shell: &Shell) -> Row {
        shell.row("ceph-pool-state", [&self.pool])
    }

    fn seen_size(&self, shell: &Shell, look: &Row, seen: &Seen) -> Result<Option<u64>, Stop> {
        match seen {
            Seen::Output(output) if output.status == 0 => output
                .text()
                .trim()
                .parse()
                .map(Some)
                .map_err(|_| Stop::failed("the size of the image cannot be read")),
            Seen::Output(output) if output.status == ENOENT => Ok(None),
            Seen::Output(output) => Err(shell.trouble(look, output)),
            _ => Err(Stop::failed("the size of the image cannot be read")),
        }
    }

    /// What brings an image from one size to another, and back; none where it has it.
    fn way(
        &self,
        shell: &Shell,
        now: Option<u64>,
        (bytes, objects): (u64, Option<u64>),
    ) -> Result<Option<(Row, Back)>, Stop> {
        match now {
            Some(now) if now == bytes => Ok(None),
            Some(now) if now > bytes => Err(Stop::refused(
                "size",
                format!(
                    "{} has {}: an image is never made smaller, its end would be lost",
                    self.spec(),
                    size_text(now)
                ),
            )
            .way_out("ask for at least what it has, or make another image and copy into it")),
            Some(now) => {
                let stays = Back::Approximately {
                    act: Act::Call { row: shell.row("rbd-size", [self.spec()]), spoils: Vec::new() },
                    stays: format!(
                        "{} keeps its {}; it had {}",
                        self.spec(),
                        size_text(bytes),
                        size_text(now)
                    ),
                };
                let row = shell.row("rbd-resize", [self.spec(), "--size".to_owned(), format!("{bytes}B")]);
                Ok(Some((row, stays)))
            }
            None => {
                let remove = shell.row("rbd-remove-unused", [self.spec()]);
                let back = Back::Exactly(Act::Call { row: remove, spoils: spoils() });
                Ok(Some((self.made(shell, (bytes, objects)), back)))
            }
        }
    }
}

fn spoils() -> Vec<Spoil> {
    ["rbd-size", "rbd-made"].map(|name| Spoil::Answers(name.to_owned())).to_vec()
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
        let objects = self.objects()?;
        let shell = self.cluster.shell(facts)?;
        let look = shell.row("rbd-size", [self.spec()]);
        let pool = self.pool_row(&shell);
        shell.need(facts, [&pool, &look].into_iter().chain(&self.made_row(&shell)))?;
        let fsid = shell.fsid(facts)?;
        self.pool_there(facts, &shell)?;
        let seen = facts.get(&Read::Ask(look.clone()))?;
        let now = self.seen_size(&shell, &look, &seen)?;
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
        match now {
            Some(_) => self.as_made(facts, &shell, objects, &mut change)?,
            None => change.effect = Effect::CreationOnly,
        }
        let Some((row, back)) = self.way(&shell, now, (bytes, objects))? else { return Ok(change) };
        let claim = Claim::new("ceph", &format!("{fsid}/image/{}", self.spec()));
        let after = Match::Alike { shape: Shape::Number, value: bytes.to_string() };
        change.steps.push(Step::call_seen(claim, row, spoils(), (Read::Ask(look), seen, after), back));
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
                .answer(shell.row("ceph-pool-state", ["vms"]), answer("there\n"))
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
    fn what_it_was_made_with_stays_and_is_said() {
        let cluster = Cluster { by: Some(crate::ceph::cluster::By::Host), ..Cluster::default() };
        let shell = cluster.shell(&Facts::default()).unwrap();
        let made = Seen::Output(Output::ok("4194304 exclusive-lock layering\n"));
        let host = host("10737418240").answer(shell.row("rbd-made", ["vms/a"]), made);
        let planned = |objects: &str, features: &[&str]| {
            let args = json!({ "pool": "vms", "name": "a", "size": "10G", "object_size": objects, "features": features });
            planned::<RbdImage>(&host, args)
        };
        assert!(planned("4M", &["layering", "exclusive-lock"]).risks.is_empty());
        let change = planned("8M", &["layering"]);
        assert_eq!(change.risks.len(), 2);
        assert!(change.risks.iter().all(|risk| risk.name == RiskName::CannotConverge));
        assert!(change.is_empty());
    }

    #[test]
    fn what_no_image_can_have_is_refused() {
        let args = |more: (&str, serde_json::Value)| {
            let mut args = json!({ "pool": "vms", "name": "a", "size": "10G" });
            args[more.0] = more.1;
            args
        };
        let host = host("10737418240");
        assert!(refusal::<RbdImage>(&host, args(("object_size", json!("3M")))).contains("power of two"));
        assert!(
            refusal::<RbdImage>(&host, args(("features", json!(["layring"]))))
                .contains("did you mean `layering`")
        );
        let cluster = Cluster { by: Some(crate::ceph::cluster::By::Host), ..Cluster::default() };
        let shell = cluster.shell(&Facts::default()).unwrap();
        let gone = host.answer(shell.row("ceph-pool-state", ["vms"]), Seen::Output(Output::ok("gone\n")));
        assert!(refusal::<RbdImage>(&gone, args(("size", json!("10G")))).contains("no pool `vms`"));
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
