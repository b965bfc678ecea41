//! Volumes that are there: whether they are what is asked for, and whether they become larger.
use super::LvmLv;
use super::making::{enough, size_line};
use crate::lvm::group::{self, Group};
use crate::lvm::report::{Fields, before, rows};
use crate::lvm::size::{Of, Wish, extents};
use crate::lvm::wanted::{Kind, paths, unknown};
use crate::lvm::{cannot_converge, pv};
use crate::shape::size_text;
use crate::vocabulary::{
    Back, Change, Claim, Diff, Facts, Match, Read, Risk, RiskName, Row, Spoil, Step, Stop,
};

impl LvmLv {
    /// Whether a volume that is there is of the kind that is asked for. Another kind cannot become this one.
    pub(super) fn is_kind(&self, kind: &Kind, now: &Fields, change: &mut Change) -> bool {
        let (layout, pool, origin) = (now.get("lv_layout"), now.get("pool_lv"), now.get("origin"));
        let wrong = match kind {
            Kind::Plain if layout.contains("pool") => Some("a pool, not a volume".to_owned()),
            Kind::Plain if layout.starts_with("thin") => Some(format!("a thin volume of the pool {pool}")),
            Kind::Plain => None,
            Kind::Thin(wanted) if pool == wanted && layout.starts_with("thin") => None,
            Kind::Thin(_) if pool.is_empty() => Some(format!("{layout}, not thin")),
            Kind::Thin(_) => Some(format!("a thin volume of another pool, {pool}")),
            Kind::Snapshot(wanted) if origin == wanted => None,
            Kind::Snapshot(_) if origin.is_empty() => Some("no snapshot".to_owned()),
            Kind::Snapshot(_) => Some(format!("a snapshot of {origin}")),
        };
        let Some(wrong) = wrong else { return true };
        let name = self.target().unwrap_or_default();
        cannot_converge(
            format!(
                "the volume {name} is {wrong}: give the new one another name, or remove this one by hand first"
            ),
            change,
        );
        false
    }

    /// Makes a volume larger where its size says so; never smaller.
    pub(super) fn resize(
        &self,
        facts: &Facts,
        group: &Group,
        kind: &Kind,
        now: &Fields,
        change: &mut Change,
    ) -> Result<(), Stop> {
        if matches!(kind, Kind::Snapshot(_)) {
            return Ok(());
        }
        let target = self.target()?;
        let Some(bytes) = now.number("lv_size") else {
            return Err(Stop::failed(format!("LVM does not say how large {target} is")));
        };
        let have = extents(bytes, group.extent);
        let want = match self.wish()? {
            None => return Ok(()),
            Some(Wish::Bytes(bytes)) => extents(bytes, group.extent),
            Some(Wish::Share(..)) if !self.grow => return Ok(()),
            Some(Wish::Share(percent, of)) => {
                let room = group.room(facts)?;
                match of {
                    Of::Group => room.all.saturating_mul(percent) / 100,
                    Of::Free => have + room.free.saturating_mul(percent) / 100,
                    Of::Disks => {
                        return Err(Stop::refused(
                            "grow",
                            "a share of devices is fixed when the volume is made",
                        )
                        .way_out("write the size in bytes, or as a share of the group"));
                    }
                }
            }
        };
        let shares = matches!(self.wish()?, Some(Wish::Share(..)));
        // LVM itself may give one extent more than was asked for.
        if want == have || want + 1 == have || (shares && want < have) {
            return Ok(());
        }
        let text = |count: u64| size_text(count.saturating_mul(group.extent));
        if want < have {
            let why = format!(
                "the volume {target} has {}, and nothing is made smaller than it is: ask for {}, or make a volume of {} \
                 beside it and copy",
                text(have),
                text(have),
                text(want)
            );
            cannot_converge(why, change);
            return Ok(());
        }
        if *kind == Kind::Plain {
            enough(group, facts, want - have)?;
        }
        self.extend(facts, group, kind, (have, want), change)
    }

    fn extend(
        &self,
        facts: &Facts,
        group: &Group,
        kind: &Kind,
        (have, want): (u64, u64),
        change: &mut Change,
    ) -> Result<(), Stop> {
        let target = self.target()?;
        let bytes = want.saturating_mul(group.extent);
        let mut words: Vec<String> = match kind {
            Kind::Thin(_) => vec!["-L".to_owned(), format!("{bytes}b")],
            _ => vec!["-l".to_owned(), want.to_string()],
        };
        if self.resizefs {
            words.push("--resizefs".to_owned());
        }
        words.push(target.clone());
        if *kind == Kind::Plain {
            words.extend(pv::named("pvs", &self.pvs)?);
        }
        let row = rows::lv(&target);
        let mut spoils = group::spoils(&self.vg);
        spoils.push(Spoil::Read(Read::Ask(row.clone())));
        spoils.extend(paths(&self.vg, self.name()?).iter().flat_map(|device| unknown(device)));
        let why =
            format!("{target} is not made smaller again: what is written beyond its old end would be lost");
        let look = (Read::Ask(row.clone()), before(facts, &row)?, Match::Has(vec![size_line(bytes)]));
        let back = Back::None { why: why.clone() };
        let claim = Claim::new("lvm", &target);
        change.steps.push(Step::call_seen(claim, Row::new("lvextend", words), spoils, look, back));
        change.risks.push(Risk { name: RiskName::Irreversible, why });
        if !self.resizefs && *kind == Kind::Plain {
            change
                .notes
                .push("a file system on it stays as it is; `resizefs: true` makes it larger too".to_owned());
        }
        let text = |count: u64| Some(size_text(count.saturating_mul(group.extent)));
        change.diff.push(Diff::Value {
            name: format!("size of {target}"),
            before: text(have),
            after: text(want),
        });
        Ok(())
    }
}
