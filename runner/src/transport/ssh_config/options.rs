//! The options of the ssh command line that people put into `ansible_ssh_common_args` and its kin.
use super::{Settings, keywords, line};
use crate::diagnostic::{Diagnostic, Problems, did_you_mean};
use std::path::PathBuf;

/// What a command line says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// As if they stood first in ssh_config.
    pub settings: Settings,
    /// `-F`: read this file in place of the user's and the machine's.
    pub file: Option<PathBuf>,
    /// The arguments that `ssh -G` would need, as they came.
    pub words: Vec<String>,
}

/// Flags that change nothing here.
const IDLE: [&str; 11] = ["-C", "-q", "-v", "-vv", "-vvv", "-T", "-n", "-x", "-a", "-4", "-6"];

/// Reads the text of a variable. Options that are not understood are refused by name.
pub fn parse(variable: &str, text: &str) -> Result<Options, Problems> {
    let Some(words) = shlex::split(text) else {
        return Err(vec![Diagnostic::error(
            format!("`{variable}` has a quote that is not closed: {text}"),
            None,
        )]);
    };
    let mut options = Options { words: words.clone(), ..Options::default() };
    let mut problems = Problems::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        if IDLE.contains(&word.as_str()) {
            continue;
        }
        let (flag, glued) = match word.char_indices().nth(2) {
            Some((at, _)) => (word[..at].to_owned(), Some(word[at..].to_owned())),
            None => (word.clone(), None),
        };
        if !["-o", "-F", "-i", "-p", "-l", "-J"].contains(&flag.as_str()) {
            problems.push(
                Diagnostic::error(format!("`{variable}`: the ssh option `{word}` is not understood"), None)
                    .help("understood are -o, -F, -i, -p, -l, -J, and flags that change nothing here such as -C"),
            );
            continue;
        }
        let Some(value) = glued.or_else(|| words.next()) else {
            problems.push(Diagnostic::error(format!("`{variable}`: `{flag}` has no value"), None));
            continue;
        };
        match flag.as_str() {
            "-o" => problems.extend(set(variable, &value, &mut options.settings)),
            "-F" => options.file = Some(PathBuf::from(value)),
            "-i" => options.settings.add("identityfile", value),
            "-p" => options.settings.add("port", value),
            "-l" => options.settings.add("user", value),
            _ => options.settings.add("proxyjump", value),
        }
    }
    if problems.is_empty() { Ok(options) } else { Err(problems) }
}

/// One `-o`.
fn set(variable: &str, text: &str, settings: &mut Settings) -> Option<Diagnostic> {
    let line = match line::parse(text) {
        Ok(Some(line)) => line,
        Ok(None) => return None,
        Err(why) => return Some(Diagnostic::error(format!("`{variable}`: `-o {text}`: {why}"), None)),
    };
    if !keywords::is_known(&line.keyword) {
        let written = text.split(['=', ' ']).next().unwrap_or(text);
        let problem = Diagnostic::error(format!("`{variable}`: there is no ssh option `{written}`"), None);
        return Some(match did_you_mean(&line.keyword, keywords::all()) {
            Some(near) => problem.help(format!("did you mean `{near}`?")),
            None => problem,
        });
    }
    let value = if line.keyword == "proxycommand" { line.raw } else { line.arguments.join(" ") };
    settings.add(&line.keyword, value);
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_ones() {
        let text = r#"-C -o ControlMaster=auto -oControlPersist=60s -o "ProxyCommand ssh -W %h:%p 'gw'" -i ~/.ssh/k -p2222 -J a@b:3,c -l me -F /x -o Port=1"#;
        let options = parse("ansible_ssh_common_args", text).unwrap();
        let get = |keyword: &str| options.settings.get(keyword).unwrap().to_owned();
        assert_eq!(get("proxycommand"), "ssh -W %h:%p 'gw'");
        assert_eq!(
            (get("identityfile"), get("port"), get("proxyjump"), get("user")),
            ("~/.ssh/k".into(), "2222".into(), "a@b:3,c".into(), "me".into())
        );
        assert_eq!(options.file, Some("/x".into()));
    }

    #[test]
    fn all_that_is_not_understood_is_named() {
        let problems = parse("v", "-L 1:a:2 -o Prot=2 -o").unwrap_err();
        let shown: Vec<_> = problems.iter().map(|problem| problem.message.as_str()).collect();
        assert_eq!(shown[0], "`v`: the ssh option `-L` is not understood");
        assert!(shown.contains(&"`v`: there is no ssh option `Prot`"), "{shown:?}");
        assert!(problems.iter().any(|problem| problem.help.as_deref() == Some("did you mean `port`?")));
        assert!(shown.contains(&"`v`: `-o` has no value"));
        assert!(parse("v", "-o 'x").is_err());
    }
}
