//! Mode and owners for all that is in a folder.
use super::File;
use crate::files::find::names_below;
use crate::vocabulary::{Change, Facts, HostPath, Kind, Read, Seen, Stop};

/// The most paths below a folder that are looked at one by one.
const MANY: usize = 20_000;

impl File {
    pub(super) fn add_below(&self, facts: &Facts, path: &HostPath, change: &mut Change) -> Result<(), Stop> {
        let names = names_below(facts, "recurse", path)?;
        if names.len() > MANY {
            let why = format!("{} paths lie below {path}: at most {MANY} are looked at", names.len());
            return Err(Stop::refused("recurse", why).way_out("name a folder deeper down"));
        }
        let stats: Vec<Read> = names.iter().cloned().map(Read::Stat).collect();
        facts.need(&stats)?;
        let mut links = 0;
        for name in names {
            let Seen::Node(node) = facts.get(&Read::Stat(name.clone()))? else {
                return Err(Stop::refused("recurse", format!("{name} cannot be looked at")));
            };
            match node.kind {
                Kind::Link { .. } => links += 1,
                Kind::Dir | Kind::File => self.add_meta(change, &name, node)?,
                // Sockets and pipes are made anew by the daemons that own them.
                _ if self.meta_for(&node).holds(&node) => {}
                _ => change.notes.push(format!("{name} is neither a file nor a folder and is left alone")),
            }
        }
        if links > 0 {
            change.notes.push(format!("{links} links below {path} are left alone"));
        }
        Ok(())
    }
}
