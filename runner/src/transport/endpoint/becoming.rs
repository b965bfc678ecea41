//! Who a task runs as: its `become` keywords and the host's `ansible_become*` variables.
use super::vars::Vars;
use crate::diagnostic::Problems;
use crate::transport::identity::{Become, BecomeMethod, Identity};
use crate::transport::secret::Secret;
use serde_json::{Map, Value};

/// What a task's own keywords say; the host's variables go before them, as in Ansible.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// `become`.
    pub wanted: bool,
    /// `become_user`.
    pub user: Option<String>,
    /// `become_method`.
    pub method: Option<String>,
    /// `become_flags`.
    pub flags: Option<String>,
    /// `become_exe`.
    pub exe: Option<String>,
    /// What a person typed at the start (`--ask-become-pass`).
    pub password: Option<Secret>,
}

/// The identity of a task on a host. `login` is the login user: who is that user already becomes nobody.
pub fn identity(
    host: &str,
    vars: &Map<String, Value>,
    wish: &Wish,
    login: &str,
) -> Result<Identity, Problems> {
    let mut vars = Vars { host, vars, problems: Problems::new() };
    let wanted = vars.truth("ansible_become").unwrap_or(wish.wanted);
    let method = vars.text(&["ansible_become_method"]).or_else(|| wish.method.clone());
    let method = method.unwrap_or_else(|| "sudo".into());
    let short = method.rsplit('.').next().unwrap_or(&method).to_owned();
    let own = |what: &str| format!("ansible_{short}_{what}");
    let user = vars.text(&["ansible_become_user", &own("user")]).or_else(|| wish.user.clone());
    let user = user.unwrap_or_else(|| "root".into());
    let password =
        vars.text(&["ansible_become_password", "ansible_become_pass", &own("pass"), &own("password")]);
    let flags = vars.text(&["ansible_become_flags", &own("flags")]).or_else(|| wish.flags.clone());
    let exe = vars.text(&["ansible_become_exe", &own("exe")]).or_else(|| wish.exe.clone());
    let known = BecomeMethod::from_name(&short);
    if wanted && known.is_none() {
        vars.problem(
            format!("`become_method: {method}` is not supported"),
            Some("sudo, su and doas are; the others ask on a terminal or need more than a POSIX shell"),
        );
    }
    let flags = flags.as_deref().map(shlex::split).unwrap_or_else(|| Some(Vec::new()));
    if flags.is_none() {
        vars.problem("`become_flags` has a quote that is not closed".into(), None);
    }
    if !vars.problems.is_empty() {
        return Err(vars.problems);
    }
    match (wanted && user != login, known, flags) {
        (true, Some(method), Some(mut flags)) => {
            // Ansible's default flags; these are what we give anyway.
            flags.retain(|flag| !matches!(flag.as_str(), "-H" | "-S" | "-n"));
            let password = password.map(Secret::new).or_else(|| wish.password.clone());
            Ok(Identity::Become(Become { method, user, password, exe, flags }))
        }
        _ => Ok(Identity::Login),
    }
}
