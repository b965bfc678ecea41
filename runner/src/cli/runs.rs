//! `tunerun runs`: the runs that the journals hold, chosen by time, host, playbook and end.
use super::compare::Format;
use super::exit::Exit;
use super::options::runs_folder;
use super::term;
use clap::Args;
use serde_json::{Value as Json, json};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};
use tunerun::diagnostic::did_you_mean;
use tunerun::inventory::is_like;
use tunerun::journal::Store;
use tunerun::report::history::{History, Moment, Standing};

/// Lists runs, newest last.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  tunerun runs                                   names, how they ended, what was typed
  tunerun runs --since 7d --ended rolled-back    what went back this week?
  tunerun runs --host 'osd*' --playbook site     runs of site.yaml that met an OSD host
  tunerun runs --limit 1 --format json")]
pub struct Runs {
    /// Only runs that began since then: a date, a time in UTC, or a span such as 7d or 12h
    #[arg(long, value_name = "DATE|7d")]
    pub since: Option<String>,
    /// Only runs with such a host: names, `*`, `?` and `[…]`; several with commas
    #[arg(long, value_name = "PATTERN")]
    pub host: Option<String>,
    /// Only runs of this playbook: its file's name, with or without its end
    #[arg(long, value_name = "NAME")]
    pub playbook: Option<String>,
    /// Only runs that ended so: done, failed, rolled-back, held, open and others; several with commas
    #[arg(long, value_name = "WORD", value_delimiter = ',')]
    pub ended: Vec<String>,
    /// Only the newest N of them
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    /// As text or as JSON
    #[arg(long, value_enum, default_value_t, hide_possible_values = true, value_name = "text|json")]
    pub format: Format,
    /// Folder of the run journals
    #[arg(long, value_name = "DIR", env = "TUNERUN_RUNS", hide_env_values = true)]
    pub runs: Option<PathBuf>,
}

/// Which runs are wanted.
struct Wanted<'a> {
    since: Option<Moment>,
    host: Option<&'a str>,
    playbook: Option<&'a str>,
    ended: Vec<Standing>,
}

impl Runs {
    /// Runs it.
    pub fn run(self) -> Exit {
        let store = Store::new(runs_folder(self.runs.as_ref()));
        let wanted = match self.wanted() {
            Ok(wanted) => wanted,
            Err((words, help)) => {
                term::wrong(words, Some(&help));
                return Exit::Wrong;
            }
        };
        let mut found: Vec<History> = Vec::new();
        let all = store.runs();
        // The newest first, so that a limit reads no more than it shows.
        for name in all.iter().rev() {
            if self.limit.is_some_and(|limit| found.len() >= limit) {
                break;
            }
            let history = match store.read(name) {
                Ok(journaled) => History::of(name, &journaled, Vec::new()),
                Err(why) => History::unreadable(name, why.to_string(), Vec::new()),
            };
            if wanted.has(&history) {
                found.push(history);
            }
        }
        found.reverse();
        match self.format {
            Format::Json => {
                let rows: Vec<Json> = found.iter().map(row).collect();
                term::data(&serde_json::to_string_pretty(&rows).unwrap_or_default());
            }
            Format::Text if all.is_empty() => term::say(&format!("no run yet in {}", store.root().display())),
            Format::Text if found.is_empty() => {
                let root = store.root().display();
                term::say(&format!("none of the {} runs in {root} is as asked for", all.len()));
            }
            Format::Text => term::data(&text(&found)),
        }
        Exit::Done
    }

    /// What is wanted; else what is wrong with it, and the way out.
    fn wanted(&self) -> Result<Wanted<'_>, (String, String)> {
        let since = self.since.as_deref().map(moment).transpose()?;
        let standing = |word: &String| {
            Standing::of_word(word).ok_or_else(|| {
                let words: Vec<&str> = Standing::words().collect();
                let near = did_you_mean(word, words.iter().copied());
                let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
                (format!("no run ends as `{word}`"), format!("{near}the words are {}", words.join(", ")))
            })
        };
        let ended = self.ended.iter().map(standing).collect::<Result<_, _>>()?;
        Ok(Wanted { since, host: self.host.as_deref(), playbook: self.playbook.as_deref(), ended })
    }
}

/// A date, a time, or a span before now.
fn moment(text: &str) -> Result<Moment, (String, String)> {
    let help = "say a date (2026-11-30), a time in UTC (2026-11-30T14:00:00Z) or a span (7d, 12h, 30min)";
    let wrong = || (format!("`--since {text}` is neither a date nor a span of time"), help.to_owned());
    if let Ok(span) = humantime::parse_duration(text) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(|_| wrong())?;
        return Ok(Moment::of_seconds(now.saturating_sub(span).as_secs()));
    }
    let whole = match text.len() {
        10 => format!("{text}T00:00:00Z"),
        _ => text.trim_end_matches(" UTC").replace(' ', "T"),
    };
    let whole = if whole.ends_with('Z') { whole } else { format!("{whole}Z") };
    Moment::parse(&whole).ok_or_else(wrong)
}

impl Wanted<'_> {
    fn has(&self, history: &History) -> bool {
        let host = |patterns: &str| {
            let matches = |name: &str| patterns.split(',').any(|pattern| is_like(pattern.trim(), name));
            history.hosts.iter().any(|host| matches(&host.name))
        };
        self.since.is_none_or(|since| began(history).is_some_and(|at| at >= since))
            && self.host.is_none_or(host)
            && self.playbook.is_none_or(|name| is_of(history, name))
            && (self.ended.is_empty() || self.ended.contains(&history.standing))
    }
}

/// When a run began: by its journal, else by its name.
fn began(history: &History) -> Option<Moment> {
    history.began_at().or_else(|| {
        let digits: String = history.run.chars().take(15).filter(char::is_ascii_digit).collect();
        let (date, hour) = (digits.get(..8)?, digits.get(8..14)?);
        let (year, month, day) = (&date[..4], &date[4..6], &date[6..]);
        Moment::parse(&format!("{year}-{month}-{day}T{}:{}:{}Z", &hour[..2], &hour[2..4], &hour[4..]))
    })
}

/// Whether a run is of a playbook: by its path, its file's name, or that without its end.
fn is_of(history: &History, name: &str) -> bool {
    let file = history.playbook();
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    let path = history.began.as_ref().and_then(|began| began.asked.as_ref()).map(|asked| &asked.playbook);
    !file.is_empty() && (is_like(name, file) || is_like(name, stem) || path.is_some_and(|path| path == name))
}

fn text(found: &[History]) -> String {
    let rows: Vec<(String, String, String)> = found
        .iter()
        .map(|history| {
            let command = history.began.as_ref().map(|began| began.command.clone());
            let words = history.unreadable.clone().or(command).unwrap_or_default();
            (history.run.clone(), history.standing.to_string(), words)
        })
        .collect();
    let width = rows.iter().map(|(_, standing, _)| standing.len()).max().unwrap_or(0);
    let mut out = String::new();
    for (name, standing, command) in rows {
        let _ = writeln!(out, "{name}  {standing:width$}  {command}");
    }
    out
}

fn row(history: &History) -> Json {
    let asked = history.began.as_ref();
    json!({
        "run": history.run,
        "ended": history.standing.word(),
        "standing": history.standing.to_string(),
        "exit": history.exit,
        "began": began(history),
        "until": history.ended.or(history.until),
        "by": asked.map(|began| &began.by),
        "command": asked.map(|began| &began.command),
        "playbook": Some(history.playbook()).filter(|name| !name.is_empty()),
        "hosts": history.hosts.iter().map(|host| &host.name).collect::<Vec<_>>(),
        "gates": history.gates.iter().map(|gate| json!({"gate": gate.id, "verdict": gate.word()})).collect::<Vec<_>>(),
        "unreadable": history.unreadable,
    })
}

#[cfg(test)]
mod tests {
    use super::moment;

    #[test]
    fn dates_times_and_spans_are_understood() {
        let at = |text: &str| moment(text).unwrap().to_string();
        assert_eq!(at("2026-11-30"), "2026-11-30 00:00:00 UTC");
        assert_eq!(at("2026-11-30 14:05:00"), "2026-11-30 14:05:00 UTC");
        assert_eq!(at("2026-11-30T14:05:00Z"), "2026-11-30 14:05:00 UTC");
        assert!(moment("7d").unwrap() < moment("1h").unwrap());
        let (words, help) = moment("last tuesday").unwrap_err();
        assert!(words.contains("`--since last tuesday`") && help.contains("7d"), "{words} {help}");
        assert!(moment("2026-13-45").is_err());
    }
}
