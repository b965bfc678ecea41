//! Who a script runs as: the login user, or somebody it becomes by sudo, su or doas.
use super::secret::Secret;
use super::shell::word::quote;
use serde::{Deserialize, Serialize};

/// Who a script runs as. Each identity has its own long-lived interpreter on a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Identity {
    /// The user that logged in.
    #[default]
    Login,
    /// Somebody else.
    Become(Become),
}

impl Identity {
    /// Becomes `user` by sudo without a password.
    pub fn sudo(user: impl Into<String>) -> Self {
        Self::Become(Become::new(BecomeMethod::Sudo, user))
    }
}

/// How to become another user.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Become {
    /// The program.
    pub method: BecomeMethod,
    /// The user to become.
    pub user: String,
    /// The password, given when the program prompts; nothing means that it must not prompt.
    pub password: Option<Secret>,
    /// The program's path where it is not `sudo`, `su` or `doas` of PATH.
    pub exe: Option<String>,
    /// Further arguments, already split.
    pub flags: Vec<String>,
}

/// The programs that are supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BecomeMethod {
    /// `sudo`.
    Sudo,
    /// `su` of util-linux; others (busybox) ask only on a terminal.
    Su,
    /// `doas`, without a password only: it asks on a terminal and nowhere else.
    Doas,
}

impl BecomeMethod {
    /// As Ansible spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sudo => "sudo",
            Self::Su => "su",
            Self::Doas => "doas",
        }
    }

    /// By its name; nothing for the methods that are not supported.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Sudo, Self::Su, Self::Doas].into_iter().find(|method| method.name() == name)
    }
}

impl Become {
    /// With no password, flags or path.
    pub fn new(method: BecomeMethod, user: impl Into<String>) -> Self {
        Self { method, user: user.into(), password: None, exe: None, flags: Vec::new() }
    }

    /// The command line that runs `program` (shell text) by `interpreter` (words that need no quotes) as that user.
    /// `prompt` is what sudo shows before it reads the password from stdin. The language is fixed by `env`, which any
    /// login shell understands: the programs' words are read when they refuse.
    pub(crate) fn command(&self, interpreter: &str, program: &str, prompt: &str) -> String {
        let exe = quote(self.exe.as_deref().unwrap_or(self.method.name()));
        let flags = self.flags.iter().map(|flag| format!(" {}", quote(flag))).collect::<String>();
        let (user, run) = (quote(&self.user), format!("{interpreter} -c {}", quote(program)));
        match self.method {
            BecomeMethod::Sudo if self.password.is_some() => {
                format!("exec env LC_ALL=C {exe} -H -S -p {}{flags} -u {user} -- {run}", quote(prompt))
            }
            BecomeMethod::Sudo => format!("exec env LC_ALL=C {exe} -H -n{flags} -u {user} -- {run}"),
            // Accounts of daemons have nologin as their shell.
            BecomeMethod::Su => {
                format!(
                    "exec env LC_ALL=C {exe}{flags} -s /bin/sh -c {} {user}",
                    quote(&format!("exec {run}"))
                )
            }
            BecomeMethod::Doas => format!("exec env LC_ALL=C {exe} -n{flags} -u {user} {run}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_password_is_in_no_argument() {
        for method in [BecomeMethod::Sudo, BecomeMethod::Su, BecomeMethod::Doas] {
            let mut who = Become::new(method, "root");
            who.password = Some(Secret::new("hunter2"));
            assert!(!who.command("sh", "exit", "p").contains("hunter2"));
            assert!(!format!("{who:?}").contains("hunter2"));
        }
    }
}
