//! Options in the mons' database.
use super::felt::{Felt, felt};
use super::proof::{self, Claimed, grouped};
use super::risks::risk;
use super::typed::{shape, stored};
use super::who::Who;
use super::{CephConfig, Wished, memory, shown};
use crate::argument::nearest;
use crate::ceph::answers::{Crush, MonDump, OptionHelp};
use crate::ceph::cluster::Shell;
use crate::shape::Shape;
use crate::vocabulary::{
    Act, Back, Change, Claim, Diff, Effect, Facts, Match, Output, Read, Row, Seen, Spoil, Step, Stop, all,
};
use serde_json::{Map, Value as Json, json};

/// What `ceph` answers for a key that is not there.
pub(super) const ENOENT: i32 = 2;
pub(super) const TARGET: &str = "osd_memory_target";
const AUTOTUNE: &str = "osd_memory_target_autotune";

/// One option on its way.
struct Wish<'a> {
    help: OptionHelp,
    /// What shall be stored; none where nothing shall be.
    wanted: Option<String>,
    /// What is stored; none where nothing is.
    now: Option<String>,
    /// What was seen of it.
    seen: Seen,
    who: &'a Who,
}

impl CephConfig {
    pub(super) fn plan_mons(&self, facts: &Facts, who: &Who, wished: &Wished<'_>) -> Result<Change, Stop> {
        let shell = self.cluster.shell(facts)?;
        let fsid = shell.fsid(facts)?;
        let mut rows = shell.upgrade_rows(facts)?;
        for (name, _) in wished {
            rows.extend([help_row(&shell, name), key_row(&shell, who, name)]);
            rows.extend(proof::rows(&shell, who, name));
            if owned_by_autotune(who, name) {
                rows.extend(autotune_rows(&shell, who));
            }
        }
        if memory::is_sized(who, wished) {
            rows.push(memory::row(&shell));
        }
        if who.needs_tree() {
            rows.push(shell.plain("ceph-osd-tree"));
        }
        if who.kind() == "mon" && who.id().is_some() {
            rows.push(shell.plain("ceph-mon-dump"));
        }
        shell.need(facts, &rows)?;
        shell.no_upgrade(facts)?;
        let tree = self.there(facts, &shell, who)?;
        let wishes = all(wished.iter().map(|(name, value)| {
            let mut wish = look(facts, &shell, who, name)?;
            if let Some(value) = value {
                let text = stored(&wish.help, &value.text(&wish.help.enum_values));
                let argument = if self.value.is_some() { "value" } else { "options" };
                wish.wanted = Some(text.map_err(|why| Stop::refused(argument, format!("{name}: {why}")))?);
            }
            Ok(wish)
        }))?;
        if wishes.iter().any(|wish| owned_by_autotune(who, &wish.help.name)) {
            not_owned(facts, &shell, who, &wishes)?;
        }
        let mut change = Change { cluster: Some(fsid.clone()), ..Change::default() };
        let mut results = Map::new();
        for wish in &wishes {
            wish.plan(&shell, &fsid, &mut change)?;
            wish.memory(facts, &shell, tree.as_ref(), &mut change);
            results.insert(wish.help.name.clone(), wish.told(facts, &shell, tree.as_ref(), &mut change));
        }
        change.result = json!({ "who": who.text(), "fsid": fsid, "options": results });
        Ok(change)
    }

    /// Refuses whom nobody would be; gives the CRUSH tree where it was needed.
    fn there(&self, facts: &Facts, shell: &Shell, who: &Who) -> Result<Option<Crush>, Stop> {
        if who.kind() == "mon" && who.id().is_some() {
            who.is_mon(&shell.json::<MonDump>(facts, &shell.plain("ceph-mon-dump"))?)?;
        }
        if !who.needs_tree() {
            return Ok(None);
        }
        let tree: Crush = shell.json(facts, &shell.plain("ceph-osd-tree"))?;
        // An option may be left over from an OSD that is gone: it can always be removed.
        if self.state == super::State::Present {
            who.is_there(&tree)?;
        }
        Ok(Some(tree))
    }
}

pub(super) fn help_row(shell: &Shell, name: &str) -> Row {
    shell.row("ceph-config-help", [name])
}

/// The narrow look at one option as it is stored.
pub(super) fn key_row(shell: &Shell, who: &Who, name: &str) -> Row {
    shell.row("ceph-config-key-get", [format!("config/{}/{name}", who.text())])
}

/// The option as it stands, before anything is asked of it.
fn look<'a>(facts: &Facts, shell: &Shell, who: &'a Who, name: &str) -> Result<Wish<'a>, Stop> {
    let row = help_row(shell, name);
    let answer = facts.output(&row)?;
    if answer.status == ENOENT {
        return Err(unknown(facts, shell, name)?);
    }
    let help: OptionHelp = shell.json(facts, &row)?;
    if help.has("no_mon_update") {
        return Err(Stop::refused("name", format!("`{name}` cannot be kept in the mons' database")).way_out(
            "set it in ceph.conf by `file: /etc/ceph/ceph.conf`, before the daemon or cluster is made",
        ));
    }
    let row = key_row(shell, who, name);
    let seen = facts.get(&Read::Ask(row.clone()))?;
    let now = match &seen {
        Seen::Output(output) if output.status == 0 => Some(output.text().trim_end_matches('\n').to_owned()),
        Seen::Output(output) if output.status == ENOENT => None,
        Seen::Output(output) => return Err(shell.trouble(&row, output)),
        _ => return Err(Stop::failed(format!("the stored value of {name} cannot be read"))),
    };
    Ok(Wish { help, wanted: None, now, seen, who })
}

/// The refusal of an option that Ceph does not know, with the nearest one that it does.
fn unknown(facts: &Facts, shell: &Shell, name: &str) -> Result<Stop, Stop> {
    let names: Vec<String> =
        shell.json(facts, &shell.plain("ceph-config-ls")).or_else(|stop| match stop {
            Stop::Refused(_) => Ok(Vec::new()),
            other => Err(other),
        })?;
    let stop = Stop::refused("name", format!("this release of Ceph has no option `{name}`"));
    Ok(match nearest(name, names.iter().map(String::as_str)) {
        Some(near) => stop.way_out(format!("did you mean `{near}`?")),
        None => stop.way_out("`ceph config ls` lists them all"),
    })
}

impl Wish<'_> {
    fn shape(&self) -> Shape {
        shape(&self.help)
    }

    /// Whether what is stored means what is wanted.
    fn is_so(&self) -> bool {
        match (&self.now, &self.wanted) {
            (None, None) => true,
            (Some(now), Some(wanted)) => {
                let now = stored(&self.help, now).unwrap_or_else(|_| now.clone());
                self.shape().alike(&now, wanted)
            }
            _ => false,
        }
    }

    /// Adds the step, where one is needed.
    fn plan(&self, shell: &Shell, fsid: &str, change: &mut Change) -> Result<(), Stop> {
        if self.is_so() {
            return Ok(());
        }
        let (name, who) = (self.help.name.as_str(), self.who.text());
        let set = |value: &str| {
            // Behind `--` a negative number is no option of the command.
            let words = [who.clone(), name.to_owned(), "--".to_owned(), value.to_owned()];
            shell.row("ceph-config-set", words)
        };
        let remove = || shell.row("ceph-config-rm", [who.clone(), name.to_owned()]);
        let look = Read::Ask(key_row(shell, self.who, name));
        let mut spoils = vec![
            Spoil::Read(look.clone()),
            Spoil::Answers("ceph-config-dump".to_owned()),
            Spoil::Answers("ceph-config-show".to_owned()),
        ];
        spoils.extend(proof::rows(shell, self.who, name).into_iter().map(|row| Spoil::Read(Read::Ask(row))));
        let (row, after) = match &self.wanted {
            None => (remove(), Match::Status(ENOENT)),
            Some(value) if self.shape() == Shape::Text => {
                (set(value), Match::Exactly(Seen::Output(Output::ok(value))))
            }
            Some(value) => (set(value), Match::Alike { shape: self.shape(), value: value.clone() }),
        };
        let back = self.now.as_deref().map_or_else(remove, set);
        let back = Back::Exactly(Act::Call { row: back, spoils: spoils.clone() });
        let claim = Claim::new("ceph", &format!("{fsid}/config/{who}/{name}"));
        change.steps.push(Step::call_seen(claim, row, spoils, (look, self.seen.clone(), after), back));
        let shown = |value: &Option<String>| value.as_deref().map(|value| shown(name, value));
        change.diff.push(Diff::Value {
            name: format!("{who} {name}"),
            before: shown(&self.now),
            after: shown(&self.wanted),
        });
        change.risks.extend(self.wanted.as_deref().and_then(|value| risk(name, value)));
        let felt = felt(&self.help);
        if felt.effect() != Effect::Now {
            change.effect = change.effect.max(felt.effect());
            change.notes.extend(felt.note(name));
        }
        Ok(())
    }

    /// Whether hosts have the memory for what their OSDs shall use.
    fn memory(&self, facts: &Facts, shell: &Shell, tree: Option<&Crush>, change: &mut Change) {
        let sized = self.help.name == TARGET && owned_by_autotune(self.who, TARGET);
        let Some(wanted) = self.wanted.as_deref().and_then(|text| text.parse().ok()) else { return };
        if sized && !self.is_so() {
            let held = proof::held(facts, shell, self.who, TARGET, tree).unwrap_or_default();
            let means = |osd: u64| self.who.means(&format!("osd.{osd}"), tree);
            memory::of_hosts(facts, shell, wanted, &held, means, change);
        }
    }

    /// What is stored, what daemons hold and the default: for the result, and told where they differ.
    fn told(&self, facts: &Facts, shell: &Shell, tree: Option<&Crush>, change: &mut Change) -> Json {
        let name = self.help.name.as_str();
        let default = self.help.of_daemons();
        let felt = felt(&self.help);
        let held = proof::held(facts, shell, self.who, name, tree);
        let wanted = self.wanted.as_deref().unwrap_or(default);
        let claimed = Claimed { who: self.who, help: &self.help, wanted, written: self.is_so(), felt };
        let daemons = held.as_ref().map(|held| held.by.clone()).unwrap_or_default();
        if self.wanted.is_some() && self.is_so() && felt != Felt::ByClients {
            change.notes.extend(held.as_ref().filter(|held| !claimed.agrees(held)).map(|held| {
                format!(
                    "{name}: stored {}, daemons hold {}, default {default}: {}",
                    shown(name, self.now.as_deref().unwrap_or_default()),
                    shown(name, &grouped(held)),
                    why_not(felt)
                )
            }));
        }
        if self.wanted.is_some() && !super::is_secret(name) {
            change.evidence.extend(claimed.evidence(held.as_ref()));
        }
        let values: Map<String, Json> =
            daemons.iter().map(|(daemon, value)| (daemon.clone(), json!(shown(name, value)))).collect();
        json!({
            "stored": self.now.as_deref().map(|now| shown(name, now)),
            "default": default,
            "daemons": values,
        })
    }
}

/// Why daemons hold something else than what is stored for them.
fn why_not(felt: Felt) -> &'static str {
    match felt {
        Felt::AtOnce => {
            "something nearer to them wins, such as their own section, a mask or their ceph.conf; `ceph config show` says which"
        }
        _ => "they have not started again since, or something nearer to them wins",
    }
}

/// Whether the autotuner of the orchestrator may write this option.
fn owned_by_autotune(who: &Who, name: &str) -> bool {
    name == TARGET && matches!(who.kind(), "osd" | "global")
}

/// Where the autotuner's switch may stand, the nearest first.
fn autotune_rows(shell: &Shell, who: &Who) -> Vec<Row> {
    let mut sections = vec![who.text(), who.section.clone(), "osd".to_owned(), "global".to_owned()];
    sections.dedup();
    sections
        .into_iter()
        .map(|section| shell.row("ceph-config-key-get", [format!("config/{section}/{AUTOTUNE}")]))
        .collect()
}

/// Refuses to set what the orchestrator would set back.
fn not_owned(facts: &Facts, shell: &Shell, who: &Who, wishes: &[Wish<'_>]) -> Result<(), Stop> {
    let sets = wishes.iter().any(|wish| wish.help.name == TARGET && wish.wanted.is_some());
    let own = wishes.iter().find(|wish| wish.help.name == AUTOTUNE).and_then(|wish| wish.wanted.as_deref());
    if !sets || own == Some("false") {
        return Ok(());
    }
    let answers = all(autotune_rows(shell, who).iter().map(|row| facts.output(row)))?;
    let nearest =
        answers.iter().find(|output| output.status == 0).map(|output| output.text().trim().to_owned());
    if own != Some("true") && nearest.as_deref() != Some("true") {
        return Ok(());
    }
    Err(Stop::refused(
        "name",
        format!("`{TARGET}` is set by cephadm while `{AUTOTUNE}` is true: it would be set back"),
    )
    .way_out(format!(
        "set `{AUTOTUNE}: false` for the same OSDs in this task's `options`, or leave the target to cephadm"
    )))
}
