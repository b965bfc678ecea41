//! Ansible's connection variables.
use super::{Defaults, Endpoint, Way, resolve};
use crate::diagnostic::{Diagnostic, Problems};
use crate::transport::secret::Secret;
use crate::transport::ssh_config::options::{self, Options};
use serde_json::{Map, Value};
use std::time::Duration;

/// Reads variables, collecting what is wrong.
pub(super) struct Vars<'a> {
    pub host: &'a str,
    pub vars: &'a Map<String, Value>,
    pub problems: Problems,
}

impl Vars<'_> {
    /// The first of several names that is set, as text. Null and the empty text count as not set.
    pub fn text(&mut self, names: &[&str]) -> Option<String> {
        for name in names {
            match self.vars.get(*name) {
                None | Some(Value::Null) => {}
                Some(Value::String(text)) if text.is_empty() => {}
                Some(Value::String(text)) => return Some(text.clone()),
                Some(Value::Number(number)) => return Some(number.to_string()),
                Some(Value::Bool(value)) => return Some(if *value { "yes" } else { "no" }.into()),
                Some(_) => self.problem(format!("`{name}` must be a text"), None),
            }
        }
        None
    }

    /// A truth value in any of Ansible's spellings.
    pub fn truth(&mut self, name: &str) -> Option<bool> {
        let text = self.text(&[name])?;
        match text.to_ascii_lowercase().as_str() {
            "yes" | "true" | "on" | "1" | "y" | "t" => Some(true),
            "no" | "false" | "off" | "0" | "n" | "f" => Some(false),
            _ => {
                self.problem(format!("`{name}` must be yes or no, not `{text}`"), None);
                None
            }
        }
    }

    fn number<T: std::str::FromStr>(&mut self, names: &[&str]) -> Option<T> {
        let text = self.text(names)?;
        let number = text.trim().parse().ok();
        if number.is_none() {
            self.problem(format!("`{}` must be a number, not `{text}`", names[0]), None);
        }
        number
    }

    pub fn problem(&mut self, message: String, help: Option<&str>) {
        let problem = Diagnostic::error(format!("host `{}`: {message}", self.host), None);
        self.problems.push(match help {
            Some(help) => problem.help(help),
            None => problem,
        });
    }
}

/// The endpoint of a host from its variables, whose templates are rendered already. `ansible_become*` is read by
/// [`Acting`](crate::engine::target::Acting); `ansible_python_interpreter` and its kin mean nothing here.
pub fn from_vars(host: &str, vars: &Map<String, Value>, defaults: &Defaults) -> Result<Endpoint, Problems> {
    let mut vars = Vars { host, vars, problems: Problems::new() };
    let mut endpoint = Endpoint::local(host);
    let is_local = connection(&mut vars, &mut endpoint);
    if let Some(interpreter) = vars.text(&["ansible_shell_executable"]) {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._- ".contains(letter);
        if interpreter.chars().all(plain) && !interpreter.starts_with(['-', ' ']) {
            endpoint.interpreter = interpreter;
        } else {
            vars.problem(format!("`ansible_shell_executable` is no program: `{interpreter}`"), None);
        }
    }
    if let Some(kind) = vars.text(&["ansible_shell_type"])
        && ["powershell", "cmd"].contains(&kind.as_str())
    {
        vars.problem(
            format!("`ansible_shell_type: {kind}` is not supported: hosts need a POSIX shell"),
            None,
        );
    }
    if !is_local && let Some(way) = ssh_way(&mut vars, &mut endpoint, defaults) {
        endpoint.way = way;
    }
    if vars.problems.is_empty() { Ok(endpoint) } else { Err(vars.problems) }
}

/// Whether the host is this machine.
fn connection(vars: &mut Vars<'_>, endpoint: &mut Endpoint) -> bool {
    let Some(given) = vars.text(&["ansible_connection"]) else { return false };
    match given.strip_prefix("ansible.builtin.").unwrap_or(&given) {
        "local" => true,
        "ssh" | "smart" => false,
        "paramiko" | "paramiko_ssh" | "ansible.netcommon.libssh" | "libssh" => {
            endpoint.notes.push(format!("`ansible_connection: {given}` is taken as ssh"));
            false
        }
        _ => {
            let help = "use `ssh` or `local`; for machines inside others, connect to them by ssh";
            vars.problem(format!("`ansible_connection: {given}` is not supported"), Some(help));
            false
        }
    }
}

fn ssh_way(vars: &mut Vars<'_>, endpoint: &mut Endpoint, defaults: &Defaults) -> Option<Way> {
    let address = vars.text(&["ansible_host", "ansible_ssh_host"]).unwrap_or_else(|| vars.host.to_owned());
    let before = vars.problems.len();
    let options = command_line(vars);
    if [vars.truth("ansible_host_key_checking"), vars.truth("ansible_ssh_host_key_checking")]
        .contains(&Some(false))
    {
        vars.problem(
            "`ansible_host_key_checking: false` is refused: anybody in between could read and change all"
                .into(),
            Some("say `ansible_ssh_common_args: -o StrictHostKeyChecking=accept-new`"),
        );
    }
    if let Some(retries) = vars.number(&["ansible_ssh_retries"]) {
        endpoint.retries = retries;
    }
    let mut settings = options.settings;
    match defaults.settings(options.file.as_deref(), &options.words, &address, &settings) {
        Ok(all) => settings = all,
        Err(why) => vars.problem(why, None),
    }
    if let Some(seconds) = settings.get("connecttimeout").filter(|text| *text != "none") {
        match seconds.parse::<u64>() {
            Ok(seconds @ 1..) => endpoint.connect_timeout = Duration::from_secs(seconds),
            _ => vars.problem(format!("the connect timeout must be seconds, not `{seconds}`"), None),
        }
    }
    let password = vars.text(&["ansible_password", "ansible_ssh_pass", "ansible_ssh_password"]);
    match resolve::way(&address, &settings, defaults, 0) {
        Ok(mut way) => {
            way.password = password.map(Secret::new);
            (vars.problems.len() == before).then(|| Way::Ssh(Box::new(way)))
        }
        Err(whys) => {
            whys.into_iter().for_each(|why| vars.problem(why, None));
            None
        }
    }
}

/// All that Ansible would put on ssh's command line, in its order: the first value counts.
fn command_line(vars: &mut Vars<'_>) -> Options {
    let mut all = Options::default();
    arguments(vars, "ansible_ssh_args", &mut all);
    let mut own = |vars: &mut Vars<'_>, names: &[&str], keyword: &str| {
        if let Some(text) = vars.text(names) {
            all.words.extend(["-o".into(), format!("{keyword}={text}")]);
            all.settings.add(keyword, text);
        }
    };
    own(vars, &["ansible_port", "ansible_ssh_port"], "port");
    own(vars, &["ansible_user", "ansible_ssh_user"], "user");
    own(vars, &["ansible_private_key_file", "ansible_ssh_private_key_file"], "identityfile");
    own(vars, &["ansible_ssh_timeout", "ansible_timeout"], "connecttimeout");
    arguments(vars, "ansible_ssh_common_args", &mut all);
    arguments(vars, "ansible_ssh_extra_args", &mut all);
    all
}

fn arguments(vars: &mut Vars<'_>, name: &str, all: &mut Options) {
    let Some(text) = vars.text(&[name]) else { return };
    match options::parse(name, &text) {
        Ok(options) => {
            all.settings.add_all(&options.settings);
            all.file = all.file.take().or(options.file);
            all.words.extend(options.words);
        }
        Err(problems) => {
            for mut problem in problems {
                problem.message = format!("host `{}`: {}", vars.host, problem.message);
                vars.problems.push(problem);
            }
        }
    }
}
