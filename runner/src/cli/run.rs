//! `tunerun run`: one module on some hosts, without a playbook.
use super::exit::Exit;
use super::gather;
use super::noted::NOTED;
use super::options::{Whom, typed};
use super::play::Play;
use super::purpose::Purpose;
use super::term;
use clap::Args;
use serde_json::{Map, Value as Json, json};
use std::path::PathBuf;
use tunerun::engine::run::HostRun;
use tunerun::engine::vocabulary::vocabulary;
use tunerun::engine::walk::{Walked, What};
use tunerun::playbook::{Files, Loader};

/// What the playbook in memory is called.
pub(super) const NAME: &str = tunerun::report::diagnostic::COMMAND_LINE;

/// Runs one module on the hosts of a pattern: planned, shown, asked, applied, proven and undone as a playbook is.
///
/// Options come before the module's name, since all that follows it belongs to the module.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  tunerun run osds -i prod sysctl name=vm.swappiness value=1
  tunerun run osds -i prod --check --diff lineinfile path=/etc/fstab line='tmpfs /scratch tmpfs'
  tunerun run all -i prod --read command uptime     it only reads: nothing is asked
  tunerun run osd1 -i prod -b systemd_unit name=chrony state=restarted
  tunerun run localhost setup                       without -i there is only localhost")]
pub struct Run {
    #[command(flatten)]
    pub whom: Whom,
    /// The module, then its arguments: k=v, or a command's words
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "MODULE")]
    pub words: Vec<String>,
    /// Become another user, root unless --become-user names one
    #[arg(short, long)]
    pub r#become: bool,
    /// The user to become
    #[arg(long, value_name = "USER")]
    pub become_user: Option<String>,
    /// The command only reads: run it while planning, ask nothing
    #[arg(short, long)]
    pub read: bool,
    /// Only plan and show; change nothing
    #[arg(short = 'C', long)]
    pub check: bool,
    /// Show what changes line by line
    #[arg(short = 'D', long)]
    pub diff: bool,
    /// Apply without asking
    #[arg(short, long)]
    pub yes: bool,
    /// Go on though some hosts cannot be reached
    #[arg(long)]
    pub allow_partial: bool,
    /// Go on on hosts where this earlier run was left open
    #[arg(long, value_name = "RUN")]
    pub over: Vec<String>,
}

/// The disk, and the one playbook that is not on it.
struct Overlay {
    text: String,
}

impl Files for Overlay {
    fn read(&self, path: &str) -> std::io::Result<String> {
        if path == NAME { Ok(self.text.clone()) } else { NOTED.read(path) }
    }

    fn bytes(&self, path: &str) -> std::io::Result<Vec<u8>> {
        NOTED.bytes(path)
    }

    fn is_file(&self, path: &str) -> bool {
        path == NAME || NOTED.is_file(path)
    }

    fn is_folder(&self, path: &str) -> bool {
        NOTED.is_folder(path)
    }

    fn list(&self, path: &str) -> std::io::Result<Vec<String>> {
        NOTED.list(path)
    }
}

/// A loader of a playbook that is not on the disk, by [`NAME`].
pub(super) fn loader_of_text(text: String) -> Loader<'static> {
    // It lives as long as the program: loaders hold on to where files come from.
    let files: &'static Overlay = Box::leak(Box::new(Overlay { text }));
    gather::loader_of(files)
}

impl Run {
    /// Runs it.
    pub fn run(self) -> Exit {
        let text = match self.playbook() {
            Ok(text) => text,
            Err(exit) => return exit,
        };
        let loader = loader_of_text(text);
        let mut line = vec!["tunerun run".to_owned(), typed(&self.whom.pattern)];
        line.extend(self.r#become.then(|| "-b".to_owned()));
        line.extend(self.words.iter().map(|word| typed(word)));
        let play = Play {
            playbook: PathBuf::from(NAME),
            hosts: self.whom.hosts,
            links: self.whom.links,
            check: self.check,
            diff: self.diff,
            yes: self.yes || self.read,
            allow_partial: self.allow_partial || self.read,
            over: self.over,
            purpose: Purpose::Task(line.join(" ")),
            ..Play::default()
        };
        play.with(loader)
    }

    /// A play of one task, and of one that says what came of it where that is the point.
    fn playbook(&self) -> Result<String, Exit> {
        let module = &self.words[0];
        let known = match vocabulary().meaning(module) {
            tunerun::playbook::vocabulary::Meaning::Module(known) => known,
            // The loader says it, with the nearest name.
            _ => return Ok(self.text(json!({ module: {} }), None)),
        };
        let args = arguments(known, &self.words[1..])?;
        let mut task = Map::new();
        task.insert("name".into(), json!(self.words.join(" ")));
        task.insert(module.clone(), Json::Object(args));
        let is_command = matches!(known.name, "command" | "shell" | "script");
        if self.read && !is_command {
            term::wrong(
                format!("--read is for commands, and `{module}` says itself whether it only reads"),
                Some("leave it out"),
            );
            return Err(Exit::Wrong);
        }
        if self.read {
            task.insert("probe".into(), json!(true));
            task.insert("changed_when".into(), json!(false));
        }
        let says = is_command || READERS.contains(&known.name);
        if says {
            task.insert("register".into(), json!("answer"));
        }
        let text = match is_command {
            true => "{{ ([answer.stdout, answer.stderr] | select | join('\\n')) }}",
            false => "{{ answer | to_nice_json }}",
        };
        let say = says.then_some(text);
        Ok(self.text(Json::Object(task), say))
    }

    fn text(&self, task: Json, say: Option<&str>) -> String {
        let mut tasks = vec![task];
        tasks.extend(say.map(|say| json!({"name": "answer", "debug": {"msg": say}})));
        let mut play = json!({
            "name": self.words[0],
            "hosts": self.whom.pattern,
            "gather_facts": false,
            "tasks": tasks,
        });
        if let (true, Some(play)) = (self.r#become || self.become_user.is_some(), play.as_object_mut()) {
            play.insert("become".into(), json!(true));
            if let Some(user) = &self.become_user {
                play.insert("become_user".into(), json!(user));
            }
        }
        // JSON is YAML, and its places are good enough for messages.
        serde_json::to_string_pretty(&json!([play])).unwrap_or_default() + "\n"
    }
}

/// Modules whose answer is what they are run for.
const READERS: [&str; 10] = [
    "capture",
    "diagnose",
    "stat",
    "slurp",
    "find",
    "setup",
    "package_facts",
    "service_facts",
    "ping",
    "getent",
];

/// The answers of hosts on which nothing is to be changed; none where something is.
pub fn answers(planned: &[(HostRun, Walked)]) -> Option<String> {
    let mut out = String::new();
    for (run, walked) in planned {
        let mut text = String::new();
        for task in &walked.planned {
            match &task.what {
                What::Change(_) | What::Late { .. } | What::Pause { .. } | What::Failed(_) => return None,
                What::Said { text: said, .. } => text.push_str(said.trim_end()),
                _ => {}
            }
        }
        let host = &run.state.name;
        match text.lines().count() {
            0 => out.push_str(&format!("{host}: as it should be\n")),
            1 => out.push_str(&format!("{host}: {text}\n")),
            _ => {
                out.push_str(&format!("{host}:\n"));
                for line in text.lines() {
                    out.push_str(format!("  {line}").trim_end());
                    out.push('\n');
                }
            }
        }
    }
    Some(out)
}

/// `k=v` words, or the words of a command.
fn arguments(known: &tunerun::playbook::Known, words: &[String]) -> Result<Map<String, Json>, Exit> {
    let mut args = Map::new();
    let mut free: Vec<&str> = Vec::new();
    for word in words {
        let pair = word.split_once('=').filter(|(name, _)| {
            let is_name = name.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
            let is_argument = tunerun::playbook::arguments::names(known, name);
            // A command may hold `a=b`; elsewhere a name that is not known is for the loader to tell, with a near one.
            is_name && !name.is_empty() && (is_argument || known.free_form.is_none())
        });
        match pair {
            Some((name, value)) => {
                let value = match value.starts_with(['{', '[']) {
                    true => serde_json::from_str(value).unwrap_or_else(|_| json!(value)),
                    false => json!(value),
                };
                args.insert(name.to_owned(), value);
            }
            None => free.push(word),
        }
    }
    if free.is_empty() {
        return Ok(args);
    }
    let Some(argument) = known.free_form else {
        let word = free[0];
        let help = match word.starts_with('-') {
            true => "options of tunerun come before the module's name".to_owned(),
            false => format!("`tunerun doc {}` lists its arguments", known.name),
        };
        term::wrong(format!("`{word}` is no argument of `{}`: write k=v", known.name), Some(&help));
        return Err(Exit::Wrong);
    };
    let line = match known.name {
        "shell" => free.join(" "),
        _ if free.len() == 1 => free[0].to_owned(),
        _ => free.iter().map(|word| typed(word)).collect::<Vec<_>>().join(" "),
    };
    args.insert(argument.to_owned(), json!(line));
    Ok(args)
}
