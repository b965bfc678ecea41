//! `tunerun doc`: modules, words, risks, exit codes, precedence of variables, what differs from Ansible.
use super::exit::Exit;
use super::term;
use clap::Args;
use modules::vocabulary::RiskName;
use std::fmt::Write as _;
use tunerun::diagnostic::did_you_mean;
use tunerun::engine::vocabulary::vocabulary;
use tunerun::playbook::vocabulary::Meaning;
use tunerun::report::manual;

/// Explains a module, a keyword or a topic; without a name it lists modules and topics.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  tunerun doc                what there is
  tunerun doc sysctl         a module: arguments, types, defaults, an example
  tunerun doc notify         a keyword
  tunerun doc risks          names that accept_risk takes
  tunerun doc rollout        canaries and waves; `tunerun doc gate`: experiments
  tunerun doc ansible        what differs from Ansible")]
pub struct Doc {
    /// A module, a keyword, or: ansible, connection, exit, facts, gate, guard, keywords, reference, risks, rollout,
    /// vars, words
    pub name: Option<String>,
}

/// The topics, each with what it is about.
const TOPICS: [(&str, &str); 12] = [
    ("ansible", "what differs from Ansible"),
    ("connection", "variables of the inventory that say how a host or cluster is reached"),
    ("exit", "exit codes"),
    ("facts", "what expressions may ask of a host by ansible_NAME"),
    ("gate", "experiments that decide whether a change stays"),
    ("guard", "what must hold before and after a host is touched"),
    ("keywords", "keywords of plays, roles, blocks and tasks"),
    ("reference", "all modules at length, as Markdown"),
    ("risks", "risks that accept_risk can name"),
    ("rollout", "canaries, waves, and what becomes of what goes wrong"),
    ("vars", "which value of a variable wins"),
    ("words", "the words that are used here"),
];

impl Doc {
    /// Runs it.
    pub fn run(self) -> Exit {
        let text = match self.name.as_deref() {
            None => index(),
            Some("ansible") => include_str!("../report/pages/ansible.txt").to_owned(),
            Some("exit") => Exit::TABLE.to_owned(),
            Some("facts") => facts(),
            Some("gate") => include_str!("../report/pages/gate.txt").to_owned(),
            Some("rollout") => rollout(),
            Some("connection") => tunerun::report::manual::connection(),
            Some("guard") => tunerun::report::manual::guard(),
            Some("keywords") => tunerun::report::manual::keywords(),
            Some("reference") => tunerun::report::reference::reference(),
            Some("risks") => risks(),
            Some("vars") => include_str!("../report/pages/vars.txt").to_owned(),
            Some("words") => include_str!("../report/pages/words.txt").to_owned(),
            Some(name) => match module(name) {
                Ok(text) => text,
                Err(exit) => return exit,
            },
        };
        term::data(&text);
        Exit::Done
    }
}

fn index() -> String {
    let mut out =
        format!("Modules (tunerun doc NAME):\n\n{}\nTopics (tunerun doc NAME):\n\n", manual::list());
    for (name, about) in TOPICS {
        let _ = writeln!(out, "{name:10}  {about}");
    }
    out
}

fn facts() -> String {
    let (own, ansible): (Vec<&modules::Fact>, Vec<&modules::Fact>) =
        modules::FACTS.iter().partition(|fact| !fact.about.is_empty());
    let mut out = "Facts of a host, read only where an expression or `setup` names them.\n\n".to_owned();
    for fact in own {
        let _ = writeln!(out, "  ansible_{:17} {}", fact.name, fact.about);
    }
    out.push_str("\nAs in Ansible:\n");
    let names: Vec<&str> = ansible.iter().filter(|fact| !fact.is_refused()).map(|fact| fact.name).collect();
    for some in names.chunks(5) {
        let _ = writeln!(out, "  {}", some.join(", "));
    }
    out.push_str("\nA network card's own facts are named after it: ansible_eth0.\n");
    out
}

/// The words of a rollout, and the example that is its grammar.
fn rollout() -> String {
    let example = include_str!("../../../playbooks/example-rollout.yaml");
    let indented =
        example.lines().map(|line| if line.is_empty() { "\n".to_owned() } else { format!("  {line}\n") });
    include_str!("../report/pages/rollout.txt").to_owned() + &indented.collect::<String>()
}

fn risks() -> String {
    let mut out =
        "Risks, accepted on a task or a play by accept_risk: {NAME: \"why it is accepted\"}. A closed list.\n\n"
            .to_owned();
    for risk in RiskName::ALL {
        let _ = writeln!(out, "  {:21} {}", risk.as_str(), risk.meaning());
    }
    out
}

fn module(name: &str) -> Result<String, Exit> {
    match vocabulary().meaning(name) {
        Meaning::Module(known) => match modules::find(known.name) {
            Some(entry) => {
                let also = if entry.name == name {
                    String::new()
                } else {
                    format!("{name} is called {} here.\n\n", entry.name)
                };
                Ok(also + &manual::module(entry))
            }
            None => Ok(word(known)),
        },
        Meaning::Refused(why, instead) => {
            term::wrong(format!("`{name}` is not supported: {why}"), Some(instead));
            Err(Exit::Wrong)
        }
        Meaning::Unknown(_) if tunerun::playbook::meanings::meaning(name).is_some() => {
            Ok(tunerun::report::manual::keyword(name).unwrap_or_default())
        }
        Meaning::Unknown(near) => {
            let topics = TOPICS.iter().map(|(topic, _)| *topic);
            let near = did_you_mean(name, topics).map(str::to_owned).or(near);
            let help = near.map_or_else(
                || "`tunerun doc` lists modules and topics".to_owned(),
                |near| format!("did you mean `{near}`?"),
            );
            term::wrong(format!("there is no module, keyword or topic `{name}`"), Some(&help));
            Err(Exit::Wrong)
        }
    }
}

/// What only steers a run: as in Ansible.
fn word(known: &tunerun::playbook::Known) -> String {
    let arguments = match known.arguments {
        [] => "any, as in Ansible".to_owned(),
        names => names.join(", "),
    };
    format!(
        "{}\n\nIt steers a run and changes nothing on a host; it means what it means in Ansible.\n\nArguments: {arguments}\n",
        known.name
    )
}
