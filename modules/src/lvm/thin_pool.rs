//! `lvm_thin_pool`: a pool of blocks for thin volumes.
use super::group::{self, Group};
use super::report::{Fields, answer, ask, before, line, nothing, rows};
use super::size::{self, Of, Wish, extents};
use super::wanted::Shape;
use super::{cannot_converge, pv, samples};
use crate::argument::{Names, Scalar};
use crate::module::{Module, Sample};
use crate::shape::size_text;
use crate::vocabulary::{
    Act, Back, Change, Claim, Diff, Effect, Facts, Match, Read, Risk, RiskName, Row, Seen, Spoil, Step, Stop,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// A pool of blocks for thin volumes.
///
/// The chunk size is fixed for life: another one on a pool that is there is `cannot_converge`. One that is too small for
/// the pool's size is refused before LVM refuses it (a pool's metadata is at most 15.81 GiB, 64 bytes a chunk). Large
/// chunks (`4M`) serve disks of virtual machines best, and each snapshot copies whole chunks.
///
/// `zero: false` leaves new chunks as they were: a new volume can show what another one held before. On hosts whose
/// volumes belong to more than one tenant that needs `accept_risk: {security: …}`; say `tenants: one` where all volumes
/// are of one owner.
///
/// Sizes are rounded up to whole extents; one extent more than asked for is as good. A share (`100%FREE`) is fixed when
/// the pool is made. Room for the pool's metadata, and as much spare, is taken from the group besides. The way back
/// removes a pool that this run made, as long as no thin volumes are in it.
///
/// Errors: as of `lvm_lv`. Sources: lvmthin(7), lvcreate(8), the kernel's Documentation/admin-guide/device-mapper/
/// thin-provisioning.rst.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LvmThinPool {
    /// The volume group.
    pub vg: String,
    /// The pool's name.
    pub pool: String,
    /// Its size: `300G`, a bare number is MiB; or a share: `100%FREE`, `50%VG`.
    pub size: Scalar,
    /// Bytes of a chunk: `4M`; a multiple of 64 KiB from 64 KiB to 1 GiB. LVM chooses where it is not said.
    #[serde(default)]
    pub chunk_size: Option<Scalar>,
    /// Whether a chunk is filled with zeros when it is given to a volume. LVM's configuration says where it is not said.
    #[serde(default)]
    pub zero: Option<bool>,
    /// Whose volumes are in it; more than one makes `zero: false` a risk.
    #[serde(default)]
    pub tenants: Tenants,
    /// What becomes of discards. LVM's configuration says where it is not said.
    #[serde(default)]
    pub discards: Option<Discards>,
    /// Bytes of its metadata, when it is made. LVM chooses where it is not said.
    #[serde(default)]
    pub metadata_size: Option<Scalar>,
    /// Devices that its extents are taken from when it is made: paths below /dev.
    #[serde(default)]
    pub pvs: Names,
    /// Whether a group that carries Ceph's tags is meant.
    #[serde(default)]
    pub of_ceph: bool,
}

/// Whose volumes a pool holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Tenants {
    /// One owner's.
    One,
    /// Those of several, who must not see each other's data.
    #[default]
    Many,
}

/// What becomes of discards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Discards {
    /// Chunks become free, and the disks are told.
    Passdown,
    /// Chunks become free.
    Nopassdown,
    /// Nothing.
    Ignore,
}

impl Discards {
    fn word(self) -> &'static str {
        match self {
            Self::Passdown => "passdown",
            Self::Nopassdown => "nopassdown",
            Self::Ignore => "ignore",
        }
    }
}

const SMALLEST_CHUNK: u64 = 64 << 10;
const LARGEST_CHUNK: u64 = 1 << 30;
/// What the kernel's target can address, less what LVM keeps: 15.81 GiB.
const LARGEST_METADATA: u64 = (255 * (1 << 14) * 8 - 256 * 1024) * 512;
/// Bytes of metadata that LVM reckons for a chunk.
const METADATA_A_CHUNK: u64 = 64;

/// The smallest chunk that a pool of this size may have.
fn smallest_chunk(pool: u64) -> u64 {
    let bytes = (u128::from(pool) * u128::from(METADATA_A_CHUNK)).div_ceil(u128::from(LARGEST_METADATA));
    u64::try_from(bytes).unwrap_or(u64::MAX).div_ceil(SMALLEST_CHUNK).max(1).saturating_mul(SMALLEST_CHUNK)
}

impl LvmThinPool {
    fn target(&self) -> String {
        format!("{}/{}", self.vg, self.pool)
    }

    fn chunk(&self) -> Result<Option<u64>, Stop> {
        let Some(text) = self.chunk_size.as_ref().map(Scalar::text) else { return Ok(None) };
        let bytes = size::bytes("chunk_size", &text)?;
        match (SMALLEST_CHUNK..=LARGEST_CHUNK).contains(&bytes) && bytes.is_multiple_of(SMALLEST_CHUNK) {
            true => Ok(Some(bytes)),
            false => Err(Stop::refused("chunk_size", format!("`{text}` is no chunk size"))
                .way_out("write a multiple of 64 KiB from 64K to 1G")),
        }
    }

    fn check(&self) -> Result<Wish, Stop> {
        size::name("vg", &self.vg)?;
        size::name("pool", &self.pool)?;
        self.chunk()?;
        self.metadata()?;
        pv::named("pvs", &self.pvs)?;
        Wish::parse(&self.size)
    }

    fn metadata(&self) -> Result<Option<u64>, Stop> {
        let Some(text) = self.metadata_size.as_ref().map(Scalar::text) else { return Ok(None) };
        let bytes = size::bytes("metadata_size", &text)?;
        match (2 << 20..=16 << 30).contains(&bytes) {
            true => Ok(Some(bytes)),
            false => Err(Stop::refused("metadata_size", "a pool's metadata has from 2 MiB to 16 GiB")),
        }
    }

    /// Refuses chunks that are too small for the pool.
    fn large_enough(&self, bytes: u64) -> Result<(), Stop> {
        let smallest = smallest_chunk(bytes);
        match self.chunk()? {
            Some(chunk) if chunk < smallest => Err(Stop::refused(
                "chunk_size",
                format!("chunks of {} are too small for a pool of {}", size_text(chunk), size_text(bytes)),
            )
            .way_out(format!("{} is the least: the metadata would not fit else", size_text(smallest)))),
            _ => Ok(()),
        }
    }

    /// A protection that is left out.
    fn leaks(&self, change: &mut Change) {
        if self.zero == Some(false) && self.tenants == Tenants::Many {
            change.risks.push(Risk {
                name: RiskName::Security,
                why: format!(
                    "chunks of {} are not zeroed: a new volume can show what another tenant's held before (`tenants: one` \
                     where all volumes are of one owner)",
                    self.target()
                ),
            });
        }
    }

    fn make(&self, facts: &Facts, group: &Group, wish: Wish, change: &mut Change) -> Result<(), Stop> {
        if let Wish::Bytes(bytes) = wish {
            self.large_enough(bytes)?;
        }
        let (count, share) = self.count(facts, group, wish)?;
        let bytes = count.map(|count| count.saturating_mul(group.extent));
        if let Some(bytes) = bytes {
            self.large_enough(bytes)?;
        }
        let (target, row) = (self.target(), rows::pool(&self.target()));
        let pool = Read::Ask(row.clone());
        let volume = Read::Ask(rows::lv(&target));
        let gone = || {
            let mut spoils = group::spoils(&self.vg);
            let none = nothing(&format!("  Failed to find logical volume \"{target}\"\n"));
            spoils.push(Spoil::Becomes(pool.clone(), none.clone()));
            spoils.push(Spoil::Becomes(volume.clone(), none));
            spoils
        };
        let mut spoils = group::spoils(&self.vg);
        let shape =
            Shape { layout: "thin,pool".to_owned(), size: bytes, pool: String::new(), origin: String::new() };
        spoils.push(match shape.answer() {
            Some(seen) => Spoil::Becomes(volume.clone(), seen),
            None => Spoil::Read(volume.clone()),
        });
        spoils.push(match self.answer(bytes, "0")? {
            Some(seen) => Spoil::Becomes(pool.clone(), seen),
            None => Spoil::Read(pool.clone()),
        });
        let mut lines = vec![line("lv_layout", "thin,pool"), line("thin_count", "0")];
        lines.extend(self.chunk()?.map(|chunk| line("chunk_size", &chunk.to_string())));
        lines.extend(self.zero.map(|zero| line("zero", if zero { "1" } else { "0" })));
        lines.extend(self.discards.map(|discards| line("discards", discards.word())));
        let look = (pool.clone(), before(facts, &row)?, Match::Has(lines));
        let back =
            Back::Exactly(Act::Call { row: Row::new("lvremove-unsigned", [target.clone()]), spoils: gone() });
        let call = Row::new("lvcreate", self.words(share)?);
        change.steps.push(Step::call_seen(Claim::new("lvm", &target), call, spoils, look, back));
        let mut words = bytes.map_or_else(|| self.size.text(), size_text);
        if let Some(chunk) = self.chunk()? {
            words = format!("{words} in chunks of {}", size_text(chunk));
        }
        if self.zero == Some(false) {
            words.push_str(", not zeroed");
        }
        change.diff.push(Diff::Value {
            name: format!("thin pool {target}"),
            before: None,
            after: Some(words),
        });
        Ok(())
    }

    /// How many extents, where that is known, and what LVM is told.
    fn count(&self, facts: &Facts, group: &Group, wish: Wish) -> Result<(Option<u64>, String), Stop> {
        let count = match wish {
            // LVM itself leaves room for the metadata.
            Wish::Share(percent, of @ (Of::Free | Of::Disks)) => {
                return Ok((None, format!("{percent}%{}", of.word())));
            }
            Wish::Share(percent, Of::Group) => group.room(facts)?.all.saturating_mul(percent) / 100,
            Wish::Bytes(bytes) => extents(bytes, group.extent),
        };
        if let Some(room) = group.room_if_known(facts)? {
            let text = |count: u64| size_text(count.saturating_mul(group.extent));
            // At least one extent of metadata.
            if count + 1 > room.free {
                return Err(Stop::refused(
                    "size",
                    format!(
                        "{} and metadata are needed, and {} are free in the volume group {}",
                        text(count),
                        text(room.free),
                        self.vg
                    ),
                )
                .way_out("ask for less, or add a device by `lvm_vg`"));
            }
        }
        Ok((Some(count), count.to_string()))
    }

    fn words(&self, extents: String) -> Result<Vec<String>, Stop> {
        let mut words: Vec<String> = ["--type", "thin-pool", "-n"].map(str::to_owned).into();
        words.extend([self.pool.clone(), "-l".to_owned(), extents]);
        if let Some(chunk) = self.chunk()? {
            words.extend(["-c".to_owned(), format!("{}k", chunk / 1024)]);
        }
        if let Some(zero) = self.zero {
            words.push(if zero { "-Zy" } else { "-Zn" }.to_owned());
        }
        if let Some(discards) = self.discards {
            words.extend(["--discards".to_owned(), discards.word().to_owned()]);
        }
        if let Some(bytes) = self.metadata()? {
            words.extend(["--poolmetadatasize".to_owned(), format!("{bytes}b")]);
        }
        words.push(self.vg.clone());
        words.extend(pv::named("pvs", &self.pvs)?);
        Ok(words)
    }

    /// What `lvs` will say of it, where all of it is known.
    fn answer(&self, bytes: Option<u64>, thin: &str) -> Result<Option<Seen>, Stop> {
        let (Some(bytes), Some(chunk), Some(zero)) = (bytes, self.chunk()?, self.zero) else {
            return Ok(None);
        };
        Ok(self.discards.map(|discards| {
            answer(&[
                ("lv_layout", "thin,pool"),
                ("lv_size", &bytes.to_string()),
                ("chunk_size", &chunk.to_string()),
                ("zero", if zero { "1" } else { "0" }),
                ("discards", discards.word()),
                ("thin_count", thin),
            ])
        }))
    }

    /// A pool that is there: what can be changed is, what cannot is said.
    fn converge(
        &self,
        facts: &Facts,
        group: &Group,
        wish: Wish,
        now: &Fields,
        change: &mut Change,
    ) -> Result<(), Stop> {
        let target = self.target();
        if now.get("lv_layout") != "thin,pool" {
            let why = format!(
                "the volume {target} is {}, not a thin pool: give the pool another name, or remove the volume by hand first",
                now.get("lv_layout")
            );
            cannot_converge(why, change);
            return Ok(());
        }
        if let (Some(wanted), Some(has)) = (self.chunk()?, now.number("chunk_size"))
            && wanted != has
        {
            let why = format!(
                "the thin pool {target} has chunks of {}, and they stay so for its life: make a new pool with chunks of {} \
                 and copy the volumes, or keep them",
                size_text(has),
                size_text(wanted)
            );
            cannot_converge(why, change);
        }
        self.resize(facts, group, wish, now, change)?;
        if let Some(zero) = self.zero {
            let word = |zero: bool| if zero { "-Zy" } else { "-Zn" };
            let has = now.get("zero") == "1";
            if zero != has {
                let words = [word(zero), word(has)].map(|word| vec![word.to_owned()]);
                self.property(facts, ("zero", now.get("zero"), if zero { "1" } else { "0" }), words, change)?;
            }
        }
        if let Some(discards) = self.discards {
            let has = now.get("discards").to_owned();
            if discards.word() != has {
                let words =
                    [discards.word(), &has].map(|word| vec!["--discards".to_owned(), word.to_owned()]);
                self.property(facts, ("discards", &has, discards.word()), words, change)?;
            }
        }
        Ok(())
    }

    fn property(
        &self,
        facts: &Facts,
        (field, has, wanted): (&str, &str, &str),
        [there, back]: [Vec<String>; 2],
        change: &mut Change,
    ) -> Result<(), Stop> {
        let (target, row) = (self.target(), rows::pool(&self.target()));
        let spoils = || vec![Spoil::Read(Read::Ask(row.clone()))];
        let call = |words: Vec<String>| Row::new("lvchange", words.into_iter().chain([target.clone()]));
        let back = Back::Exactly(Act::Call { row: call(back), spoils: spoils() });
        let look = (Read::Ask(row.clone()), before(facts, &row)?, Match::Has(vec![line(field, wanted)]));
        let claim = Claim::new("lvm", &format!("{target}/{field}"));
        change.steps.push(Step::call_seen(claim, call(there), spoils(), look, back));
        change.diff.push(Diff::Value {
            name: format!("{field} of the thin pool {target}"),
            before: Some(has.to_owned()),
            after: Some(wanted.to_owned()),
        });
        Ok(())
    }

    fn resize(
        &self,
        facts: &Facts,
        group: &Group,
        wish: Wish,
        now: &Fields,
        change: &mut Change,
    ) -> Result<(), Stop> {
        let Wish::Bytes(bytes) = wish else { return Ok(()) };
        let target = self.target();
        let have = extents(now.number("lv_size").unwrap_or(0), group.extent);
        let want = extents(bytes, group.extent);
        let text = |count: u64| size_text(count.saturating_mul(group.extent));
        if want == have || want + 1 == have {
            return Ok(());
        }
        if want < have {
            let why = format!(
                "the thin pool {target} has {}, and no pool is made smaller: ask for {}",
                text(have),
                text(have)
            );
            cannot_converge(why, change);
            return Ok(());
        }
        let larger = want.saturating_mul(group.extent);
        if let Some(chunk) = now.number("chunk_size")
            && chunk < smallest_chunk(larger)
        {
            let why = format!(
                "the thin pool {target} has chunks of {}, too small for {}: make a new pool with chunks of {} or more",
                size_text(chunk),
                text(want),
                size_text(smallest_chunk(larger))
            );
            cannot_converge(why, change);
            return Ok(());
        }
        let row = rows::pool(&target);
        let mut spoils = group::spoils(&self.vg);
        spoils.extend([Spoil::Read(Read::Ask(row.clone())), Spoil::Read(Read::Ask(rows::lv(&target)))]);
        let why = format!("the thin pool {target} is not made smaller again: LVM cannot");
        let call = Row::new("lvextend", ["-l".to_owned(), want.to_string(), target.clone()]);
        // LVM may give one extent more.
        let after =
            [want, want + 1].map(|count| line("lv_size", &count.saturating_mul(group.extent).to_string()));
        let look = (Read::Ask(row.clone()), before(facts, &row)?, Match::HasOne(after.into()));
        let back = Back::None { why: why.clone() };
        change.steps.push(Step::call_seen(Claim::new("lvm", &target), call, spoils, look, back));
        change.risks.push(Risk { name: RiskName::Irreversible, why });
        let (before, after) = (Some(text(have)), Some(text(want)));
        change.diff.push(Diff::Value { name: format!("size of the thin pool {target}"), before, after });
        Ok(())
    }
}

impl Module for LvmThinPool {
    const NAME: &'static str = "lvm_thin_pool";
    const EXAMPLE: &'static str = "\
- name: A pool in chunks of 4 MiB for the guests of one owner
  lvm_thin_pool:
    vg: win_pool
    pool: thin
    size: 300G
    chunk_size: 4M
    zero: false
    tenants: one
    discards: passdown
";
    const ALIASES: &'static [(&'static str, &'static str)] =
        &[("name", "pool"), ("lv", "pool"), ("thinpool", "pool"), ("chunksize", "chunk_size")];

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        let wish = self.check()?;
        let target = self.target();
        let mut reads = Group::first_reads(&self.vg);
        reads.extend([rows::pool(&target), rows::lv(&target)].map(Read::Ask));
        facts.need(&reads)?;
        let group = Group::get(facts, &self.vg, self.of_ceph)?;
        let mut change = Change::nothing(json!({ "vg": self.vg, "pool": self.pool }));
        self.leaks(&mut change);
        match ask(facts, &rows::pool(&target))? {
            None => {
                change.effect = Effect::CreationOnly;
                self.make(facts, &group, wish, &mut change)?;
            }
            Some(now) => self.converge(facts, &group, wish, &now, &mut change)?,
        }
        Ok(change)
    }

    fn samples() -> Vec<Sample> {
        samples::thin_pool()
    }
}

#[cfg(test)]
mod tests;
