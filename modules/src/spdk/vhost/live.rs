//! A running target, brought to the wishes object by object.
use super::config::Own;
use super::wishes::{Object, Wishes, socket_reads};
use crate::programs::rpc::exports;
use crate::shape::CpuList;
use crate::vocabulary::{
    Act, Back, Change, Claim, Diff, Facts, HostPath, Match, Read, Risk, RiskName, Row, Seen, Step, Stop,
};
use serde_json::Value as Json;

/// What a running target holds.
#[derive(Clone, Debug)]
pub(super) struct Live {
    /// The cores that it runs on.
    pub cores: CpuList,
    /// Its block devices.
    pub bdevs: Vec<Json>,
    /// Its controllers.
    pub controllers: Vec<Json>,
}

const LISTS: [&str; 3] = ["spdk-reactors", "spdk-bdevs", "spdk-controllers"];

fn bare(name: &str) -> Row {
    Row::new(name, Vec::<String>::new())
}

fn name_of<'a>(one: &'a Json, key: &str) -> &'a str {
    one.get(key).and_then(Json::as_str).unwrap_or_default()
}

impl Live {
    /// What is looked at: everything of a target is a handful of requests over one connection.
    pub fn reads(socket: &HostPath, wishes: &Wishes) -> Vec<Read> {
        socket_reads(socket, LISTS.iter().map(|name| bare(name)).chain(wishes.looks()))
    }

    /// The target, or none where nobody serves the socket.
    ///
    /// # Errors
    /// [`Stop`]; an answer that is none.
    pub fn read(facts: &Facts, socket: &HostPath) -> Result<Option<Self>, Stop> {
        let Some(cores) = facts.rpc(socket, bare(LISTS[0]))? else { return Ok(None) };
        let list = |row: &str| -> Result<Vec<Json>, Stop> {
            let text = facts.rpc(socket, bare(row))?.unwrap_or_else(|| "[]".to_owned());
            serde_json::from_str(&text).map_err(|why| Stop::failed(format!("{row} answered {text}: {why}")))
        };
        Ok(Some(Self {
            cores: CpuList::parse(&cores).map_err(Stop::failed)?,
            bdevs: list(LISTS[1])?,
            controllers: list(LISTS[2])?,
        }))
    }

    /// Names of its block devices.
    pub fn names(&self) -> Vec<String> {
        self.bdevs.iter().map(|bdev| name_of(bdev, "name").to_owned()).collect()
    }

    /// The sessions that hold a controller open.
    pub fn sessions(&self, controller: &str) -> Vec<String> {
        let found = self.controllers.iter().find(|one| name_of(one, "name") == controller);
        let sessions = found.and_then(|one| one.get("sessions")).and_then(Json::as_array);
        sessions.into_iter().flatten().filter_map(Json::as_str).map(str::to_owned).collect()
    }

    /// All controllers that are held open, with their sessions.
    pub fn held(&self) -> Vec<String> {
        let names = self.controllers.iter().map(|one| name_of(one, "name"));
        names
            .filter(|name| !self.sessions(name).is_empty())
            .map(|name| format!("{name} by {}", self.sessions(name).join(", ")))
            .collect()
    }

    /// Adds the steps that reach the wishes: what goes first, then block devices, controllers, slots.
    pub fn reach(
        &self,
        facts: &Facts,
        socket: &HostPath,
        wishes: &Wishes,
        own: &Own,
        change: &mut Change,
    ) -> Result<(), Stop> {
        let gone: Vec<&Object> = own.objects.iter().rev().filter(|old| !is_wished(old, wishes)).collect();
        facts.need(&socket_reads(socket, gone.iter().map(|old| old.look.clone())))?;
        wishes.cores_fit(&self.cores, "the target runs on")?;
        self.exports_fit(wishes, own)?;
        let mut reach = Reach { facts, socket, live: self, change };
        for old in gone {
            reach.take_away(old)?;
        }
        for bdev in &wishes.bdevs {
            reach.make(bdev)?;
        }
        for export in &wishes.exports {
            if !reach.make(&export.object)? {
                continue;
            }
            for (number, bdev, slot) in &export.slots {
                reach.slot(&export.name, (*number, bdev), slot)?;
            }
        }
        self.strangers(wishes, own, change);
        Ok(())
    }

    /// Every exported block device is there or comes, is usable, and is exported nowhere else.
    fn exports_fit(&self, wishes: &Wishes, own: &Own) -> Result<(), Stop> {
        let names = self.names();
        let now = exports(&Json::Array(self.controllers.clone()));
        for (bdev, place) in wishes.exported() {
            let here = self.bdevs.iter().find(|one| name_of(one, "name") == bdev);
            if here.is_none() && !wishes.brings(&bdev) {
                return Err(wishes.unknown(&bdev, &place, &names));
            }
            let size = here.and_then(|one| one.get("block_size")).and_then(Json::as_u64).unwrap_or(512);
            if !matches!(size, 512 | 4096) {
                return Err(Stop::refused(
                    "controllers",
                    format!("{place} exports {bdev}, whose blocks of {size} bytes no guest can use"),
                )
                .way_out("export a block device with blocks of 512 or 4096 bytes"));
            }
            let elsewhere = now.iter().find(|(controller, at, known)| {
                let place_now = format!("{controller}{}", at.replace(['(', ')'], ""));
                *known == bdev && place_now != place && !goes(controller, at, wishes, own)
            });
            if let Some((controller, at, _)) = elsewhere {
                return Err(Stop::refused(
                    "controllers",
                    format!(
                        "{place} shall export {bdev}, which {controller}{at} exports already: two guests would write to \
                         one disk"
                    ),
                )
                .way_out(format!("take it out of {controller} first, or export another block device")));
            }
        }
        Ok(())
    }

    /// What somebody else has made is left alone, and told.
    fn strangers(&self, wishes: &Wishes, own: &Own, change: &mut Change) {
        let is_ours = |kind: &str, name: &str| {
            let claim = format!("{kind}/{name}");
            own.objects.iter().any(|old| old.claim == claim)
        };
        let bdevs = self.bdevs.iter().map(|one| name_of(one, "name"));
        let bdevs = bdevs.filter(|name| {
            // Namespaces of a controller that goes are ours too.
            let ours = own.objects.iter().any(|old| {
                old.look.name == "spdk-nvme-controller"
                    && old.look.args.first().is_some_and(|controller| name.starts_with(controller.as_str()))
            });
            !wishes.brings(name) && !is_ours("bdev", name) && !ours
        });
        let controllers = self.controllers.iter().map(|one| name_of(one, "name")).filter(|name| {
            !wishes.exports.iter().any(|export| export.name == *name) && !is_ours("vhost", name)
        });
        let strangers: Vec<&str> = bdevs.chain(controllers).collect();
        if !strangers.is_empty() {
            change.notes.push(format!(
                "left alone, since somebody else has made it in the target: {}",
                strangers.join(", ")
            ));
        }
    }
}

/// Whether a wish is of the same object; what it is made of is compared elsewhere.
fn is_wished(old: &Object, wishes: &Wishes) -> bool {
    let same = |object: &Object| object.claim == old.claim;
    wishes.bdevs.iter().any(same)
        || wishes
            .exports
            .iter()
            .any(|export| same(&export.object) || export.slots.iter().any(|slot| same(&slot.2)))
}

/// Whether an export of ours goes or is put in place anew in the same change.
fn goes(controller: &str, at: &str, wishes: &Wishes, own: &Own) -> bool {
    let slot = at.trim_start_matches(" (slot ").trim_end_matches(')');
    let claim =
        if at.is_empty() { format!("vhost/{controller}") } else { format!("vhost/{controller}/{slot}") };
    let ours = own.objects.iter().find(|old| old.claim == claim);
    ours.is_some_and(|old| !is_wished(old, wishes))
}

/// The steps in the making.
struct Reach<'a> {
    facts: &'a Facts,
    socket: &'a HostPath,
    live: &'a Live,
    change: &'a mut Change,
}

impl Reach<'_> {
    fn now(&self, object: &Object) -> Result<Option<String>, Stop> {
        self.facts.rpc(self.socket, object.look.clone())
    }

    fn act(&self, (method, params): &(&'static str, Json)) -> Act {
        Act::Rpc { socket: self.socket.clone(), method: (*method).to_owned(), params: params.clone() }
    }

    fn claim(&self, object: &Object) -> Claim {
        Claim::new("spdk", &object.claim)
    }

    /// Makes an object that is not there. False where it is there and is something else.
    fn make(&mut self, object: &Object) -> Result<bool, Stop> {
        match self.now(object)? {
            None => {
                self.push_make(object);
                Ok(true)
            }
            Some(now) if is_as_wanted(&now, object) => Ok(true),
            Some(now) => {
                let why = format!(
                    "{} is {now} and cannot be made {} in place",
                    object.title,
                    without_null(&object.is)
                );
                let why = format!(
                    "{why}: take it out of the list, let it be taken away while no guest uses it, and list it again"
                );
                self.change.risks.push(Risk { name: RiskName::CannotConverge, why });
                Ok(false)
            }
        }
    }

    fn push_make(&mut self, object: &Object) {
        // Where no mask is asked for, the target's whole mask is what it gets.
        let mut is = object.is.clone();
        if is.get("cpumask").is_some_and(Json::is_null) {
            is["cpumask"] = Json::String(crate::spdk::cores::mask(&self.live.cores));
        }
        let text = Object { is, ..object.clone() }.text();
        let back = Back::Exactly(self.act(&object.take));
        let after = Match::Exactly(Seen::Value(text.clone()));
        let look = (object.look.clone(), Seen::Absent, after);
        let make = (object.make.0, object.make.1.clone());
        self.change.steps.push(Step::rpc(self.claim(object), self.socket, make, look, back));
        self.change.diff.push(Diff::Value { name: object.title.clone(), before: None, after: Some(text) });
    }

    /// Puts a block device into a slot; another one is taken out first, where no guest holds the controller open.
    fn slot(&mut self, controller: &str, (number, bdev): (u64, &str), slot: &Object) -> Result<(), Stop> {
        match self.now(slot)? {
            Some(now) if now == bdev => return Ok(()),
            Some(now) => {
                self.unheld(controller, &format!("slot {number} holds {now}, not {bdev}"))?;
                self.push_take(&super::wishes::of_slot(controller, number, &now), now);
            }
            None => {}
        }
        self.push_make(slot);
        Ok(())
    }

    fn unheld(&self, controller: &str, what: &str) -> Result<(), Stop> {
        let sessions = self.live.sessions(controller);
        if sessions.is_empty() {
            return Ok(());
        }
        Err(Stop::refused(
            "controllers",
            format!("{controller}: {what}, and the session {} holds it open", sessions.join(", ")),
        )
        .way_out("stop the guest or take its disk away first: the target itself may die of it otherwise"))
    }

    /// Takes away an object of ours that the list does not hold any more.
    fn take_away(&mut self, old: &Object) -> Result<(), Stop> {
        let Some(now) = self.now(old)? else { return Ok(()) };
        match old.look.name.as_str() {
            "spdk-controller" | "spdk-slot" => {
                let controller = old.look.args.first().map(String::as_str).unwrap_or_default();
                // Somebody else's disk in what was our slot is theirs.
                if old.look.name == "spdk-slot" && old.text() != now {
                    return Ok(());
                }
                self.unheld(controller, &format!("{} shall go", old.title))?;
            }
            _ => {}
        }
        self.push_take(old, now);
        Ok(())
    }

    fn push_take(&mut self, old: &Object, now: String) {
        let make = self.act(&old.make);
        let back = match old.memory {
            true => {
                let why = format!("{} goes with what it holds: it is memory", old.title);
                self.change.risks.push(Risk { name: RiskName::DataLoss, why });
                Back::Approximately { act: make, stays: "what the memory held is gone".to_owned() }
            }
            false => Back::Exactly(make),
        };
        let look = (old.look.clone(), Seen::Value(now.clone()), Match::Exactly(Seen::Absent));
        let take = (old.take.0, old.take.1.clone());
        self.change.steps.push(Step::rpc(self.claim(old), self.socket, take, look, back));
        self.change.diff.push(Diff::Value { name: old.title.clone(), before: Some(now), after: None });
    }
}

fn without_null(json: &Json) -> Json {
    let mut json = json.clone();
    if let Some(fields) = json.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    json
}

/// Whether what is seen is what is wanted; what is not asked for counts as it is.
pub(super) fn is_as_wanted(now: &str, object: &Object) -> bool {
    match (&object.is, serde_json::from_str::<Json>(now)) {
        (Json::Object(wanted), Ok(Json::Object(now))) => wanted
            .iter()
            .filter(|(_, value)| !value.is_null())
            .all(|(key, value)| now.get(key) == Some(value)),
        _ => now == object.text(),
    }
}
