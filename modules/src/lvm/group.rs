//! A volume group as others build on it: its extent size, its room, and whether it is somebody else's.
use super::OF_CEPH;
use super::report::{ask, rows};
use crate::argument::nearest;
use crate::vocabulary::{Facts, Read, Spoil, Stop};

/// A volume group that is there.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    /// Its name.
    pub(crate) name: String,
    /// Bytes of an extent.
    pub(crate) extent: u64,
}

/// Its extents.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// All extents.
    pub(crate) all: u64,
    /// Free ones.
    pub(crate) free: u64,
}

impl Group {
    /// The reads that a look at a group needs first.
    pub(crate) fn first_reads(name: &str) -> Vec<Read> {
        [rows::vg(name), rows::tags(name), rows::room(name)].map(Read::Ask).into()
    }

    /// Looks at a group; none where there is none.
    pub(crate) fn find(facts: &Facts, name: &str) -> Result<Option<Self>, Stop> {
        let Some(fields) = ask(facts, &rows::vg(name))? else { return Ok(None) };
        match fields.number("vg_extent_size") {
            Some(extent) if extent > 0 => Ok(Some(Self { name: name.to_owned(), extent })),
            _ => Err(Stop::failed(format!("LVM does not say how large an extent of {name} is"))),
        }
    }

    /// Looks at a group that others build on.
    pub(crate) fn get(facts: &Facts, name: &str, of_ceph: bool) -> Result<Self, Stop> {
        let Some(group) = Self::find(facts, name)? else {
            return Err(missing(facts, name));
        };
        group.guard(facts, of_ceph)?;
        Ok(group)
    }

    /// Refuses a group that Ceph uses, and one that is not whole.
    pub(crate) fn guard(&self, facts: &Facts, of_ceph: bool) -> Result<(), Stop> {
        let name = &self.name;
        // Whoever has just planned this group has set no tags.
        let output = facts.output(&rows::tags(name))?;
        let fields = ask(facts, &rows::vg(name))?;
        let own = fields.as_ref().map(|fields| fields.get("vg_tags")).unwrap_or_default();
        let text = output.text();
        let tags = own.split(',').chain(text.split(['=', ',', ' ', '\n']));
        if !of_ceph && tags.map(str::trim).any(|tag| tag.starts_with("ceph.")) {
            return Err(Stop::refused(
                "vg",
                format!("the volume group {name} is Ceph's: it carries `ceph.` tags"),
            )
            .way_out(OF_CEPH));
        }
        match self.room(facts) {
            Err(Stop::Late(_)) => Ok(()),
            other => other.map(drop),
        }
    }

    /// Its extents.
    pub(crate) fn room(&self, facts: &Facts) -> Result<Room, Stop> {
        let name = &self.name;
        let Some(fields) = ask(facts, &rows::room(name))? else {
            return Err(Stop::failed(format!("the volume group {name} is gone since it was looked at")));
        };
        if fields.get("vg_exported") == "exported" {
            return Err(Stop::refused("vg", format!("the volume group {name} is exported"))
                .way_out(format!("import it first: vgimport {name}")));
        }
        match fields.number("vg_missing_pv_count") {
            Some(0) => {}
            missing => {
                let many = missing.map_or_else(|| "some".to_owned(), |many| many.to_string());
                return Err(Stop::refused(
                    "vg",
                    format!("{many} of the devices of the volume group {name} are missing"),
                )
                .way_out(format!(
                    "bring them back, or see `vgreduce --removemissing {name}`, which loses what was on them"
                )));
            }
        }
        let number = |field| {
            fields.number(field).ok_or_else(|| Stop::failed(format!("LVM does not say {field} of {name}")))
        };
        Ok(Room { all: number("vg_extent_count")?, free: number("vg_free_count")? })
    }

    /// Its extents, where they are known: behind planned changes they are not.
    pub(crate) fn room_if_known(&self, facts: &Facts) -> Result<Option<Room>, Stop> {
        match self.room(facts) {
            Err(Stop::Late(_)) => Ok(None),
            other => other.map(Some),
        }
    }
}

/// What any change within a group makes unknown.
pub(crate) fn spoils(name: &str) -> Vec<Spoil> {
    vec![
        Spoil::Read(Read::Ask(rows::room(name))),
        Spoil::Answers("lvm-vg-extent-fits".to_owned()),
        Spoil::Answers("lvm-pv-used".to_owned()),
    ]
}

fn missing(facts: &Facts, name: &str) -> Stop {
    let output = match facts.output(&crate::vocabulary::Row::new("lvm-vg-names", Vec::<String>::new())) {
        Err(unread @ (Stop::Unread(_) | Stop::Late(_))) => return unread,
        output => output,
    };
    let text = output.map(|output| output.text()).unwrap_or_default();
    let names: Vec<&str> = text.split_whitespace().collect();
    let near = nearest(name, names.iter().copied());
    let hint = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
    Stop::refused("vg", format!("there is no volume group {name}"))
        .way_out(format!("{hint}make it by `lvm_vg` first"))
}
