//! For whom an option is: a section of the mons' database, narrowed by masks.
use crate::argument::nearest;
use crate::ceph::answers::{Crush, MonDump};
use crate::vocabulary::Stop;

/// Kinds of sections.
const KINDS: [&str; 6] = ["global", "mon", "mgr", "osd", "mds", "client"];

/// A section with its masks, as the mons store it: location before class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Who {
    /// `osd`, `osd.3`, `global`.
    pub section: String,
    /// `host:h0`, `rack:r1`.
    pub location: Option<(String, String)>,
    /// `ssd`.
    pub class: Option<String>,
}

impl Who {
    /// Reads `osd`, `osd.3`, `osd/host:h0`, with further masks from an argument of their own.
    pub fn parse(who: &str, mask: Option<&str>) -> Result<Self, Stop> {
        let mut parts = who.trim().split('/').map(str::trim);
        let section = parts.next().unwrap_or_default().to_owned();
        let mut found = Self { section, location: None, class: None };
        let rest: Vec<&str> = parts.collect();
        if found.section.contains(':') {
            return Err(reversed(&found.section, &rest));
        }
        found.known_section()?;
        for part in rest {
            found.narrow("who", part)?;
        }
        for part in mask.into_iter().flat_map(|mask| mask.split(['/', ','])) {
            found.narrow("mask", part.trim())?;
        }
        if found.class.is_some() && !matches!(found.kind(), "osd" | "global") {
            return Err(Stop::refused(
                "mask",
                format!("only OSDs have a device class, `{}` has none", found.section),
            ));
        }
        Ok(found)
    }

    fn known_section(&self) -> Result<(), Stop> {
        let (kind, id) = match self.section.split_once('.') {
            Some((kind, id)) => (kind, Some(id)),
            None => (self.section.as_str(), None),
        };
        if !KINDS.contains(&kind) {
            let hint =
                nearest(kind, KINDS).map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
            return Err(Stop::refused(
                "who",
                format!("`{}` is no section of a cluster's options", self.section),
            )
            .way_out(format!(
                "{hint}there are {}, each but global with `.ID` for one daemon",
                KINDS.join(", ")
            )));
        }
        let plain = |letter: char| letter.is_alphanumeric() || "._-@".contains(letter);
        match id {
            Some(_) if kind == "global" => Err(Stop::refused(
                "who",
                format!("`{}`: global stands for all, it has no parts", self.section),
            )),
            Some(id) if id.is_empty() || !id.chars().all(plain) => {
                Err(Stop::refused("who", format!("`{}` names no daemon", self.section)))
            }
            Some(id) if kind == "osd" && id.parse::<u32>().is_err() => {
                Err(Stop::refused("who", format!("`{}`: OSDs have numbers", self.section)))
            }
            _ => Ok(()),
        }
    }

    fn narrow(&mut self, argument: &'static str, part: &str) -> Result<(), Stop> {
        let word = |text: &str| {
            !text.is_empty() && text.chars().all(|letter| letter.is_alphanumeric() || "._-".contains(letter))
        };
        match part.split_once(':') {
            Some(("class", class)) if word(class) && self.class.is_none() => {
                self.class = Some(class.to_owned())
            }
            Some((kind, name)) if word(kind) && word(name) && kind != "class" && self.location.is_none() => {
                self.location = Some((kind.to_owned(), name.to_owned()));
            }
            None if KINDS.contains(&part.split('.').next().unwrap_or_default()) => {
                return Err(reversed(part, &[self.section.as_str()]));
            }
            _ => {
                return Err(Stop::refused(argument, format!("`{part}` is no mask"))
                    .way_out("a mask is `host:NAME`, another CRUSH bucket such as `rack:NAME`, or `class:NAME`; at most one place and one class"));
            }
        }
        Ok(())
    }

    /// `osd` of `osd.3`.
    pub fn kind(&self) -> &str {
        self.section.split('.').next().unwrap_or_default()
    }

    /// `3` of `osd.3`.
    pub fn id(&self) -> Option<&str> {
        self.section.split_once('.').map(|(_, id)| id)
    }

    /// As it is written in `ceph config set` and in the mons' store.
    pub fn text(&self) -> String {
        let location = self.location.as_ref().map(|(kind, name)| format!("/{kind}:{name}"));
        let class = self.class.as_ref().map(|class| format!("/class:{class}"));
        format!("{}{}{}", self.section, location.unwrap_or_default(), class.unwrap_or_default())
    }

    /// Whether the CRUSH tree tells whether it names anybody.
    pub fn needs_tree(&self) -> bool {
        self.location.is_some() || self.class.is_some() || (self.kind() == "osd" && self.id().is_some())
    }

    /// Refuses what no daemon would ever see: an OSD, a bucket or a class that is not there. Ceph accepts them all.
    pub fn is_there(&self, tree: &Crush) -> Result<(), Stop> {
        let osds = tree.osds();
        if let (Some(id), "osd") = (self.id(), self.kind())
            && !id.parse().is_ok_and(|id: i64| osds.contains_key(&id))
        {
            return Err(Stop::refused(
                "who",
                format!("there is no {}: no daemon would ever read this", self.section),
            )
            .way_out(format!("the cluster has osd.{}", listed(osds.keys()))));
        }
        if let Some((kind, name)) = &self.location
            && matches!(self.kind(), "osd" | "global")
            && tree.bucket(kind, name).is_none()
        {
            return Err(self.no_bucket(tree, kind, name));
        }
        let classes = || osds.values().filter_map(|osd| osd.device_class.as_deref());
        if let Some(class) =
            self.class.as_ref().filter(|class| !classes().any(|known| known == class.as_str()))
        {
            let mut known: Vec<&str> = classes().collect();
            known.sort_unstable();
            known.dedup();
            return Err(Stop::refused(
                "mask",
                format!("no OSD has the device class `{class}`: no daemon would ever read this"),
            )
            .way_out(format!("the cluster has {}", known.join(", "))));
        }
        Ok(())
    }

    fn no_bucket(&self, tree: &Crush, kind: &str, name: &str) -> Stop {
        let names = tree.names(kind);
        let short = name.split('.').next().unwrap_or_default();
        let near =
            names.iter().copied().find(|known| *known == short || known.split('.').next() == Some(short));
        let near = near.or_else(|| nearest(name, names.iter().copied()));
        let hint = near.map(|near| format!("did you mean `{kind}:{near}`? ")).unwrap_or_default();
        let there = match (names.is_empty(), tree.kinds().join(", ")) {
            (false, _) => format!("the CRUSH tree has {}", listed(names)),
            (true, kinds) => format!("the CRUSH tree has no buckets of the type `{kind}`, only {kinds}"),
        };
        Stop::refused(
            "mask",
            format!("the CRUSH tree has no {kind} `{name}`: no daemon would ever read this"),
        )
        .way_out(format!("{hint}{there}"))
    }

    /// Refuses a mon that is not there.
    pub fn is_mon(&self, mons: &MonDump) -> Result<(), Stop> {
        let Some(id) = self.id() else { return Ok(()) };
        if mons.mons.iter().any(|mon| mon.name == id) {
            return Ok(());
        }
        let names: Vec<&str> = mons.mons.iter().map(|mon| mon.name.as_str()).collect();
        Err(Stop::refused("who", format!("there is no mon.{id}: no daemon would ever read this"))
            .way_out(format!("the cluster has mon.{}", listed(names))))
    }

    /// Whom to ask for the option as daemons hold it; none for clients, which nobody can ask.
    pub fn daemons(&self) -> Vec<String> {
        match (self.kind(), self.id()) {
            ("client", _) => Vec::new(),
            ("global", _) => vec!["osd.*".to_owned(), "mon.*".to_owned()],
            // Of the managers only the active one can be asked.
            ("mgr", _) => vec!["mgr".to_owned()],
            (kind, None) => vec![format!("{kind}.*")],
            (_, Some(_)) => vec![self.section.clone()],
        }
    }

    /// Whether a daemon such as `osd.3` is meant.
    pub fn means(&self, daemon: &str, tree: Option<&Crush>) -> bool {
        let (kind, id) = daemon.split_once('.').unwrap_or((daemon, ""));
        if self.kind() != "global" && (self.kind() != kind || self.id().is_some_and(|own| own != id)) {
            return self.kind() == "mgr" && daemon == "mgr";
        }
        if self.location.is_none() && self.class.is_none() {
            return true;
        }
        let (Some(tree), Ok(id), "osd") = (tree, id.parse::<i64>(), kind) else { return false };
        let placed = self.location.as_ref().is_none_or(|(kind, name)| {
            tree.bucket(kind, name).is_some_and(|bucket| tree.below(bucket).contains(&id))
        });
        let classed = self.class.as_ref().is_none_or(|class| {
            tree.osds().get(&id).is_some_and(|osd| osd.device_class.as_ref() == Some(class))
        });
        placed && classed
    }
}

/// `host:h0/osd`: the mask stands where the section belongs.
fn reversed(first: &str, rest: &[&str]) -> Stop {
    let section = if first.contains(':') { rest.first().copied().unwrap_or("osd") } else { first };
    let mask = if first.contains(':') { first } else { rest.first().copied().unwrap_or("host:NAME") };
    Stop::refused(
        "who",
        format!(
            "`{first}` stands where {} belongs: daemons may never see such an option",
            if first.contains(':') { "the section" } else { "a mask" }
        ),
    )
    .way_out(format!("write the section first: `who: {section}` with `mask: {mask}`"))
}

/// Names, cut where they are many.
fn listed<T: std::fmt::Display>(names: impl IntoIterator<Item = T>) -> String {
    const SHOWN: usize = 12;
    let names: Vec<String> = names.into_iter().map(|name| name.to_string()).collect();
    match names.len().checked_sub(SHOWN) {
        Some(more) if more > 0 => format!("{} and {more} more", names[..SHOWN].join(", ")),
        _ => names.join(", "),
    }
}
