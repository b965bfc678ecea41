//! Options in a ceph.conf.
use super::conf::{Conf, Edited};
use super::risks::risk;
use super::typed::loosely_alike;
use super::who::Who;
use super::{CephConfig, Wished, is_secret, memory, shown};
use crate::files::place;
use crate::files::text::TextFile;
use crate::vocabulary::{Change, Claim, Effect, Evidence, Facts, Stop};
use serde_json::{Map, json};

impl CephConfig {
    pub(super) fn plan_file(
        &self,
        facts: &Facts,
        file: &str,
        who: &Who,
        wished: &Wished<'_>,
    ) -> Result<Change, Stop> {
        let text = self.opened(facts, file, who, wished)?;
        let mut conf = Conf::parse(&text.text);
        let mut change = Change::default();
        let mut results = Map::new();
        let mut edited = false;
        for (name, value) in wished {
            let before = conf.value(&who.section, name);
            let done = match value {
                None => conf.remove(&who.section, name),
                Some(value) => {
                    let value = one_line(name, &value.text(&[]))?;
                    let done = conf.set(&who.section, name, &value, |now| loosely_alike(now, &value));
                    change.risks.extend(risk(name, &value).filter(|_| done != Edited::Same));
                    done
                }
            };
            edited |= done != Edited::Same;
            if done == Edited::MadeOne {
                change.notes.push(format!(
                    "{name} stands more than once in [{}], in several spellings: one is left",
                    who.section
                ));
            }
            results.insert(name.clone(), json!({ "stored": before.map(|before| shown(name, &before)) }));
            if value.is_some() {
                let what = format!("[{}] {name} of {file}", who.section);
                let why = "a ceph.conf is read at start: `ceph config show DAEMON` tells what a daemon has from its file";
                change.evidence.push(Evidence::not_available(what, file, why));
            }
        }
        if edited {
            let names: Vec<&str> = wished.iter().map(|(name, _)| name.as_str()).collect();
            let claim = Claim::part(text.path(), &format!("[{}] {}", who.section, names.join(",")));
            text.put(facts, claim, &conf.text(), &mut change)?;
            change.effect = Effect::DaemonRestart;
            change.notes.push(
                "daemons and clients read ceph.conf when they start, and it wins over the mons' database"
                    .to_owned(),
            );
            if wished.iter().any(|(name, _)| is_secret(name)) {
                change.diff.iter_mut().for_each(hide);
            }
        }
        memory::of_file(facts, who, wished, &mut change)?;
        change.result = json!({ "who": who.section, "path": text.path().as_str(), "options": results });
        Ok(change)
    }

    /// The file, which must be there.
    fn opened(&self, facts: &Facts, file: &str, who: &Who, wished: &Wished<'_>) -> Result<TextFile, Stop> {
        if who.location.is_some() || who.class.is_some() {
            return Err(Stop::refused("mask", "a ceph.conf knows no masks")
                .way_out("leave `file` out: the mons' database knows them"));
        }
        let path = place::path("file", file)?;
        let mut reads = place::first_reads(&path);
        if memory::is_sized(who, wished) {
            reads.extend(crate::budget::first_reads()?);
        }
        facts.need(&reads)?;
        let text = TextFile::read(facts, &path).map_err(|stop| stop.blame("file"))?;
        if text.text.is_empty() && self.state == super::State::Present && facts.node(text.path())?.is_none() {
            return Err(Stop::refused("file", format!("{} is not there", text.path()))
                .way_out("a ceph.conf names the mons too: put it there first, by `template` or `copy`"));
        }
        Ok(text)
    }
}

fn hide(diff: &mut crate::vocabulary::Diff) {
    if let crate::vocabulary::Diff::Text { private, .. } = diff {
        *private = true;
    }
}

fn one_line(name: &str, value: &str) -> Result<String, Stop> {
    if value.contains(['\n', '\r']) {
        return Err(Stop::refused(
            "value",
            format!("{name}: a newline would begin another line of the file"),
        ));
    }
    let marked = value.contains(['#', ';']) && !value.starts_with(['"', '\'']);
    Ok(if marked { format!("\"{value}\"") } else { value.to_owned() })
}
