//! What `command`, `shell` and `script` share: when they run, what they spoil, how they go back, what they answer.
use super::split::words;
use crate::argument::Names;
use crate::vocabulary::{
    Act, Back, Bytes, Change, Claim, Diff, Facts, HostPath, Match, Output, Read, Row, Seen, Spoil, Step, Stop,
};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// The arguments that the three share, borrowed.
pub(crate) struct Call<'a> {
    /// The row of the mutating table.
    pub row: &'a str,
    /// The row that is asked where the author says that nothing changes.
    pub probe_row: &'a str,
    /// The words of the row.
    pub words: Vec<String>,
    /// What `cmd` in the result is.
    pub shown: Json,
    /// See the modules' documentation.
    pub chdir: Option<&'a str>,
    /// See the modules' documentation.
    pub creates: Option<&'a str>,
    /// See the modules' documentation.
    pub removes: Option<&'a str>,
    /// What the program reads.
    pub stdin: Option<String>,
    /// Added variables.
    pub env: &'a BTreeMap<String, String>,
    /// See the modules' documentation.
    pub spoils: &'a Names,
    /// See the modules' documentation.
    pub undo: Option<&'a str>,
    /// See the modules' documentation.
    pub probe: bool,
    /// Whether newlines at the end of a probe's answer go.
    pub strip: bool,
}

impl Call<'_> {
    fn folder(&self) -> Result<Option<HostPath>, Stop> {
        self.chdir.map(|path| HostPath::new(path).map_err(|why| Stop::refused("chdir", why))).transpose()
    }

    fn row(&self, name: &str) -> Result<Row, Stop> {
        Ok(Row {
            name: name.to_owned(),
            args: self.words.clone(),
            dir: self.folder()?,
            env: self.env.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
            stdin: self.stdin.clone(),
        })
    }

    /// A path or pattern of `creates` or `removes`, taken against `chdir`.
    fn place(&self, path: &str) -> String {
        match (path.starts_with('/'), self.chdir) {
            (false, Some(folder)) => format!("{}/{path}", folder.trim_end_matches('/')),
            _ => path.to_owned(),
        }
    }

    fn condition(&self, argument: &'static str, path: &str) -> Result<Read, Stop> {
        let place = self.place(path);
        if place.contains(['*', '?', '[']) {
            return Ok(Read::Glob(place));
        }
        HostPath::new(&place).map(Read::Stat).map_err(|why| Stop::refused(argument, why))
    }

    fn conditions(&self) -> [(&'static str, Option<&str>); 2] {
        [("creates", self.creates), ("removes", self.removes)]
    }

    /// Why it does not run, where it does not.
    fn skipped(&self, facts: &Facts) -> Result<Option<String>, Stop> {
        let conditions = self.conditions().into_iter().filter_map(|(argument, path)| Some((argument, path?)));
        let conditions: Vec<(&str, &str, Read)> = conditions
            .map(|(argument, path)| Ok((argument, path, self.condition(argument, path)?)))
            .collect::<Result<_, Stop>>()?;
        facts.need(conditions.iter().map(|(.., read)| read))?;
        for (argument, path, read) in conditions {
            let there = match &read {
                Read::Glob(pattern) => !facts.names(pattern)?.is_empty(),
                Read::Stat(path) => facts.stat(path)?.is_some(),
                _ => false,
            };
            match (argument, there) {
                ("creates", true) => return Ok(Some(format!("`{path}` exists"))),
                ("removes", false) => return Ok(Some(format!("`{path}` does not exist"))),
                _ => {}
            }
        }
        Ok(None)
    }

    fn spoils(&self) -> Result<Vec<Spoil>, Stop> {
        let mut spoils = Vec::new();
        for name in self.spoils.list() {
            spoils.push(match name.as_str() {
                "volatile" => Spoil::Volatile,
                "all" => Spoil::All,
                path => Spoil::Below(fixed_part(path).map_err(|why| {
                    Stop::refused("spoils", why)
                        .way_out("give absolute paths or patterns, or `volatile` for kernel values, or `all`")
                })?),
            });
        }
        for (argument, path) in self.conditions() {
            if let Some(path) = path {
                let folder = fixed_part(&self.place(path)).map_err(|why| Stop::refused(argument, why))?;
                spoils.push(Spoil::Below(folder));
            }
        }
        Ok(spoils)
    }

    fn back(&self) -> Result<Back, Stop> {
        let Some(undo) = self.undo else {
            return Ok(Back::None {
                why: "nobody said how to undo this command: `undo:` says it".to_owned(),
            });
        };
        let row = Row { dir: self.folder()?, ..Row::new("shell", [undo]) };
        Ok(Back::Approximately {
            act: Act::Call { row, spoils: self.spoils()? },
            stays: "what the task's own `undo:` does not take back".to_owned(),
        })
    }

    /// The change.
    pub fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        if let Some(why) = self.skipped(facts)? {
            let words = format!("skipped, since {why}");
            let mut result = answered(&Output::ok(&words), true);
            result["cmd"] = self.shown.clone();
            result["msg"] = json!(format!("Did not run command since {why}"));
            return Ok(Change::nothing(result));
        }
        if self.probe {
            let mut result = answered(&facts.output(&self.row(self.probe_row)?)?, self.strip);
            result["cmd"] = self.shown.clone();
            return Ok(Change::nothing(result));
        }
        let mut step = Step::call(self.claim(), self.row(self.row)?, self.spoils()?, self.back()?);
        for (argument, path) in self.conditions() {
            // Where it shall make or take away one path, a look at that tells after a crash whether it ran.
            if let Some(look) = path.map(|path| self.condition(argument, path)).transpose()? {
                step.before = facts.get(&look).unwrap_or(Seen::Absent);
                step.after = Match::Any;
                step.look = Some(look);
                break;
            }
        }
        let shown = match &self.shown {
            Json::String(text) => text.clone(),
            other => other.as_array().map_or_else(String::new, |words| {
                words.iter().filter_map(Json::as_str).collect::<Vec<_>>().join(" ")
            }),
        };
        Ok(Change {
            result: json!({ "cmd": self.shown }),
            steps: vec![step],
            answer: Some(0),
            diff: vec![Diff::Note(format!("runs: {shown}"))],
            ..Change::default()
        })
    }

    fn claim(&self) -> Claim {
        let all = self.words.join("\0");
        let digest = Bytes::from(&all).digest().to_string();
        let first = self.words.first().map_or("", String::as_str);
        let first =
            first.split_whitespace().next().unwrap_or_default().rsplit('/').next().unwrap_or_default();
        Claim::new("command", &format!("{first}#{}", &digest[..8]))
    }
}

/// What `register` holds of a program's answer: `rc`, `stdout`, `stderr` and their lines. `strip` takes newlines at
/// the ends away, as Ansible does unless told otherwise.
pub fn answered(output: &Output, strip: bool) -> Json {
    let text = |text: String| if strip { text.trim_end_matches(['\r', '\n']).to_owned() } else { text };
    let lines = |text: &str| text.lines().map(|line| json!(line)).collect::<Vec<Json>>();
    let (stdout, stderr) = (text(output.text()), text(output.error_text()));
    let (stdout_lines, stderr_lines) = (lines(&stdout), lines(&stderr));
    json!({
        "rc": output.status,
        "stdout": stdout,
        "stdout_lines": stdout_lines,
        "stderr": stderr,
        "stderr_lines": stderr_lines,
    })
}

/// The folder above the first pattern of a path.
fn fixed_part(path: &str) -> Result<HostPath, String> {
    let fixed: Vec<&str> = path.split('/').take_while(|part| !part.contains(['*', '?', '['])).collect();
    HostPath::new(&(fixed.join("/") + "/"))
}

/// The words of a command line.
pub(crate) fn argv(cmd: Option<&str>, argv: Option<&[String]>) -> Result<Vec<String>, Stop> {
    let words = match (cmd, argv) {
        (Some(cmd), None) => words(cmd).map_err(|why| Stop::refused("cmd", why))?,
        (None, Some(argv)) => argv.to_vec(),
        (Some(_), Some(_)) => return Err(Stop::refused("argv", "either `cmd` or `argv`, not both")),
        (None, None) => return Err(Stop::refused("cmd", "no command is given")),
    };
    match words.first() {
        Some(first) if !first.is_empty() => Ok(words),
        _ => Err(Stop::refused("cmd", "the command is empty")),
    }
}

/// What a program reads, with a newline at its end where that is wanted.
pub(crate) fn input(stdin: Option<&str>, newline: bool) -> Option<String> {
    stdin.map(|text| if newline && !text.ends_with('\n') { format!("{text}\n") } else { text.to_owned() })
}
