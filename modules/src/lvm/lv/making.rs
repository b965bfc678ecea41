//! Volumes that are made, and volumes that are removed.
use super::LvmLv;
use super::read_ahead::{self, Wished};
use crate::lvm::group::{self, Group};
use crate::lvm::pv;
use crate::lvm::report::{Fields, ask, before, line, nothing, rows};
use crate::lvm::size::{Of, Wish, extents};
use crate::lvm::wanted::{Kind, Shape, empty, paths, unknown};
use crate::shape::size_text;
use crate::vocabulary::{
    Act, Back, Change, Claim, Diff, Facts, Match, Read, Risk, RiskName, Row, Seen, Spoil, Step, Stop,
};

/// How large a new volume is.
enum Size {
    /// So many extents.
    Extents(u64),
    /// A share that LVM counts itself.
    Share(String),
    /// As its origin.
    Inherited(Option<u64>),
}

impl LvmLv {
    /// Makes the volume.
    pub(super) fn make(
        &self,
        facts: &Facts,
        group: &Group,
        kind: &Kind,
        change: &mut Change,
    ) -> Result<(), Stop> {
        let (target, name) = (self.target()?, self.name()?.to_owned());
        let origin = self.origin(facts, kind)?;
        let size = self.new_size(facts, group, kind, origin.as_ref(), change)?;
        let shape = self.shape(group, kind, origin.as_ref(), &size);
        let ahead = read_ahead::wished(self.read_ahead.as_ref())?.unwrap_or(Wished::Auto);
        let row = rows::lv(&target);
        let gone = || -> Vec<Spoil> {
            let mut spoils = group::spoils(&self.vg);
            spoils.push(Spoil::Becomes(Read::Ask(row.clone()), gone_answer(&target)));
            spoils.push(Spoil::Becomes(Read::Ask(rows::read_ahead(&target)), gone_answer(&target)));
            spoils.push(Spoil::Read(Read::Ask(rows::live(&target))));
            spoils.extend(self.pool_spoil(kind));
            spoils.extend(paths(&self.vg, &name).iter().flat_map(|device| unknown(device)));
            spoils
        };
        let mut spoils = gone();
        spoils.retain(|spoil| !matches!(spoil, Spoil::Becomes(..)));
        spoils.push(match shape.answer() {
            Some(seen) => Spoil::Becomes(Read::Ask(row.clone()), seen),
            None => Spoil::Read(Read::Ask(row.clone())),
        });
        let is_new = !matches!(kind, Kind::Snapshot(_));
        let kept = Read::Ask(rows::read_ahead(&target));
        spoils.push(if is_new { Spoil::Becomes(kept, read_ahead::seen(ahead)) } else { Spoil::Read(kept) });
        if is_new && self.active {
            let devices: Vec<Read> = paths(&self.vg, &name)
                .iter()
                .flat_map(|device| crate::block::device::reads(device))
                .collect();
            spoils.retain(|spoil| !matches!(spoil, Spoil::Read(read) if devices.contains(read)));
            spoils.extend(empty(&self.vg, &name, shape.size));
        }
        let back = self.way_back(kind, &target, gone());
        let look = (Read::Ask(row.clone()), before(facts, &row)?, Match::Has(shape.lines()));
        let call = Row::new("lvcreate", self.words(group, kind, &size)?);
        change.steps.push(Step::call_seen(Claim::new("lvm", &target), call, spoils, look, back));
        let words = match (&size, shape.size) {
            (Size::Share(share), _) => share.clone(),
            (_, Some(bytes)) => size_text(bytes),
            (_, None) => "as its origin".to_owned(),
        };
        let after = match kind {
            Kind::Plain => words,
            Kind::Thin(pool) => format!("{words}, thin in {pool}"),
            Kind::Snapshot(origin) => format!("a snapshot of {origin}, {words}"),
        };
        change.diff.push(Diff::Value { name: format!("volume {target}"), before: None, after: Some(after) });
        if let (Kind::Thin(pool), Some(bytes)) = (kind, shape.size) {
            self.promised(facts, pool, bytes, change)?;
        }
        Ok(())
    }

    fn way_back(&self, kind: &Kind, target: &str, spoils: Vec<Spoil>) -> Back {
        match kind {
            Kind::Snapshot(_) => Back::Approximately {
                act: Act::Call { row: Row::new("lvremove", [target]), spoils },
                stays: "nothing; what was written into the snapshot since is lost".to_owned(),
            },
            _ => Back::Exactly(Act::Call { row: Row::new("lvremove-unsigned", [target]), spoils }),
        }
    }

    /// A pool's thin volumes are counted in it.
    fn pool_spoil(&self, kind: &Kind) -> Option<Spoil> {
        match kind {
            Kind::Plain => None,
            Kind::Thin(pool) => Some(Spoil::Read(Read::Ask(rows::pool(&format!("{}/{pool}", self.vg))))),
            Kind::Snapshot(_) => Some(Spoil::Answers("lvm-pool".to_owned())),
        }
    }

    /// What a thin volume or a snapshot is made from.
    fn origin(&self, facts: &Facts, kind: &Kind) -> Result<Option<Fields>, Stop> {
        let (argument, name) = match kind {
            Kind::Plain => return Ok(None),
            Kind::Thin(pool) => ("thinpool", pool),
            Kind::Snapshot(origin) => ("lv", origin),
        };
        let target = format!("{}/{name}", self.vg);
        let Some(fields) = ask(facts, &rows::lv(&target))? else {
            let way_out = match kind {
                Kind::Thin(_) => "make it by `lvm_thin_pool` first",
                _ => "`lvs` shows the volumes of the host",
            };
            return Err(Stop::refused(argument, format!("there is no volume {target}")).way_out(way_out));
        };
        let layout = fields.get("lv_layout");
        let is_pool = layout.contains("pool");
        match kind {
            Kind::Thin(_) if layout != "thin,pool" => {
                Err(Stop::refused(argument, format!("{target} is no thin pool, but {layout}")))
            }
            Kind::Snapshot(_) if is_pool => {
                Err(Stop::refused(argument, format!("{target} is a pool: it has no snapshots")))
            }
            _ => Ok(Some(fields)),
        }
    }

    fn new_size(
        &self,
        facts: &Facts,
        group: &Group,
        kind: &Kind,
        origin: Option<&Fields>,
        change: &mut Change,
    ) -> Result<Size, Stop> {
        let thin_origin = origin.is_some_and(|fields| fields.get("lv_layout").starts_with("thin"));
        if matches!(kind, Kind::Snapshot(_)) && thin_origin {
            if self.size.is_some() {
                change
                    .notes
                    .push("a snapshot of a thin volume has its origin's size: `size` is not used".to_owned());
            }
            return Ok(Size::Inherited(origin.and_then(|fields| fields.number("lv_size"))));
        }
        let Some(wish) = self.wish()? else {
            return Err(Stop::refused(
                "size",
                format!("there is no volume {}, and no size to make it with", self.target()?),
            ));
        };
        let count = match wish {
            Wish::Bytes(bytes) => extents(bytes, group.extent),
            Wish::Share(percent, Of::Disks) => return Ok(Size::Share(format!("{percent}%PVS"))),
            Wish::Share(percent, of) => {
                let room = group.room(facts)?;
                let whole = if of == Of::Free { room.free } else { room.all };
                whole.saturating_mul(percent) / 100
            }
        };
        if count == 0 {
            return Err(Stop::refused("size", format!("nothing is free in the volume group {}", self.vg))
                .way_out("add a device to it by `lvm_vg`"));
        }
        if !matches!(kind, Kind::Thin(_)) {
            enough(group, facts, count)?;
        }
        Ok(Size::Extents(count))
    }

    fn shape(&self, group: &Group, kind: &Kind, origin: Option<&Fields>, size: &Size) -> Shape {
        let thin = origin.is_some_and(|fields| fields.get("lv_layout").starts_with("thin"));
        let pool = origin.map(|fields| fields.get("pool_lv").to_owned()).unwrap_or_default();
        let bytes = match size {
            Size::Extents(count) => Some(count.saturating_mul(group.extent)),
            Size::Share(_) => None,
            Size::Inherited(bytes) => *bytes,
        };
        let (layout, pool, origin) = match kind {
            Kind::Plain => ("linear", String::new(), String::new()),
            Kind::Thin(pool) => ("thin,sparse", pool.clone(), String::new()),
            Kind::Snapshot(origin) if thin => ("thin,sparse", pool, origin.clone()),
            // A snapshot with extents of its own shows its origin's size.
            Kind::Snapshot(origin) => ("linear", String::new(), origin.clone()),
        };
        let shows_origin = matches!(kind, Kind::Snapshot(_)) && !thin;
        Shape { layout: layout.to_owned(), size: bytes.filter(|_| !shows_origin), pool, origin }
    }

    fn words(&self, group: &Group, kind: &Kind, size: &Size) -> Result<Vec<String>, Stop> {
        let mut words: Vec<String> = vec!["-n".into(), self.name()?.to_owned()];
        let target = match kind {
            Kind::Plain | Kind::Thin(_) => self.vg.clone(),
            Kind::Snapshot(origin) => format!("{}/{origin}", self.vg),
        };
        match kind {
            Kind::Plain => {}
            Kind::Thin(_) => words.extend(["--type".to_owned(), "thin".to_owned()]),
            Kind::Snapshot(_) => words.push("-s".to_owned()),
        }
        match (size, kind) {
            (Size::Extents(count), Kind::Thin(pool)) => {
                let bytes = count.saturating_mul(group.extent);
                words.extend(["-V".to_owned(), format!("{bytes}b"), "--thinpool".to_owned(), pool.clone()]);
            }
            (Size::Extents(count), _) => words.extend(["-l".to_owned(), count.to_string()]),
            (Size::Share(share), _) => words.extend(["-l".to_owned(), share.clone()]),
            (Size::Inherited(_), _) => {}
        }
        if let Some(ahead) = read_ahead::wished(self.read_ahead.as_ref())? {
            words.extend(["-r".to_owned(), ahead.word()]);
        }
        if !self.active {
            words.push("-an".to_owned());
            if *kind == Kind::Plain {
                words.extend(["-Zn".to_owned(), "-Wn".to_owned()]);
            }
        }
        words.push(target);
        words.extend(pv::named("pvs", &self.pvs)?);
        Ok(words)
    }

    /// Says where thin volumes promise more than their pool holds.
    fn promised(&self, facts: &Facts, pool: &str, bytes: u64, change: &mut Change) -> Result<(), Stop> {
        let fields = match ask(facts, &rows::lv(&format!("{}/{pool}", self.vg))) {
            Err(Stop::Late(_)) => return Ok(()),
            other => other?,
        };
        let holds = fields.and_then(|fields| fields.number("lv_size")).unwrap_or(u64::MAX);
        if bytes > holds {
            change.notes.push(format!(
                "{} are promised and the pool {pool} holds {}: watch it, a full pool stops its guests",
                size_text(bytes),
                size_text(holds)
            ));
        }
        Ok(())
    }

    /// Removes the volume with what it holds.
    pub(super) fn remove(
        &self,
        facts: &Facts,
        target: &str,
        now: &Fields,
        change: &mut Change,
    ) -> Result<(), Stop> {
        if now.get("lv_layout") == "thin,pool" {
            let volumes = ask(facts, &rows::pool(target))?.and_then(|fields| fields.number("thin_count"));
            if volumes != Some(0) {
                return Err(Stop::refused("state", format!("the pool {target} holds thin volumes"))
                    .way_out("remove them first, each by a task of its own"));
            }
        }
        let row = rows::lv(target);
        let mut spoils = group::spoils(&self.vg);
        spoils.push(Spoil::Answers("lvm-pool".to_owned()));
        spoils.push(Spoil::Read(Read::Ask(row.clone())));
        spoils.push(Spoil::Read(Read::Ask(rows::read_ahead(target))));
        spoils.push(Spoil::Read(Read::Ask(rows::live(target))));
        spoils.extend(paths(&self.vg, self.name()?).iter().flat_map(|device| unknown(device)));
        let why = format!("what {target} held is lost with it");
        let look = (Read::Ask(row.clone()), before(facts, &row)?, Match::Exactly(gone_answer(target)));
        let back = Back::None { why: why.clone() };
        change.steps.push(Step::call_seen(
            Claim::new("lvm", target),
            Row::new("lvremove", [target]),
            spoils,
            look,
            back,
        ));
        for name in [RiskName::Irreversible, RiskName::DataLoss] {
            change.risks.push(Risk { name, why: why.clone() });
        }
        let size = now.number("lv_size").map(size_text);
        change.diff.push(Diff::Value { name: format!("volume {target}"), before: size, after: None });
        Ok(())
    }
}

/// What LVM says where a volume is not there.
fn gone_answer(target: &str) -> Seen {
    nothing(&format!("  Failed to find logical volume \"{target}\"\n"))
}

/// Refuses more extents than are free, where that is known.
pub(super) fn enough(group: &Group, facts: &Facts, count: u64) -> Result<(), Stop> {
    match group.room_if_known(facts)? {
        Some(room) if count > room.free => {
            let bytes = |count: u64| size_text(count.saturating_mul(group.extent));
            Err(Stop::refused(
                "size",
                format!(
                    "{} are needed, and {} are free in the volume group {}",
                    bytes(count),
                    bytes(room.free),
                    group.name
                ),
            )
            .way_out("ask for less, or add a device by `lvm_vg`"))
        }
        _ => Ok(()),
    }
}

/// The line of a size.
pub(super) fn size_line(bytes: u64) -> String {
    line("lv_size", &bytes.to_string())
}
