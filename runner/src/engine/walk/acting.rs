//! Whom a task acts on, and as whom.
use super::instance::Frame;
use super::items::Walker;
use super::setting::Unknown;
use crate::diagnostic::Diagnostic;
use crate::engine::target::{Acting, Target};
use crate::template::Vars as _;

impl Walker<'_> {
    /// Whom the task acts on, and as whom.
    pub(super) fn target(&self, frame: &Frame<'_>) -> Result<Target, Unknown> {
        let task = frame.task;
        let scope = self.scope(Some(task), frame.locals.clone());
        let delegated = scope.text(task.settings.delegate_to.as_ref())?;
        let host = match delegated {
            None => self.state.name.clone(),
            Some(name) => {
                let inventory = self.scene.inventory();
                match inventory.host(&name) {
                    Some(id) => inventory.host_name(id).to_owned(),
                    None => {
                        return Err(Unknown::Wrong(Box::new(
                            Diagnostic::error(
                                format!(
                                    "the task is delegated to `{name}`, which the inventory does not have"
                                ),
                                task.action.span.clone(),
                            )
                            .help("add the host to the inventory, with how it is reached"),
                        )));
                    }
                }
            }
        };
        self.acting(frame, host)
    }

    /// As whom the task acts on a host.
    pub(super) fn acting(&self, frame: &Frame<'_>, host: String) -> Result<Target, Unknown> {
        let task = frame.task;
        let scope = self.scope(Some(task), frame.locals.clone());
        let settings = &task.settings;
        let var = |name: &str| -> Option<String> {
            scope.get(name)?;
            let rendered =
                scope.templates().value(&format!("{{{{ {name} | default('') }}}}"), &scope).ok()?;
            super::setting::text_of(&rendered.value).filter(|text| !text.is_empty())
        };
        let becomes = match &settings.r#become {
            Some(setting) => scope.flag(Some(setting), false)?,
            None => var("ansible_become").is_some_and(|text| crate::playbook::boolean(&text) == Some(true)),
        };
        if !becomes {
            return Ok(Target { host, user: Acting::Login });
        }
        let text = |setting: Option<&crate::playbook::Setting<String>>,
                    name: &str|
         -> Result<Option<String>, Unknown> {
            Ok(scope.text(setting)?.or_else(|| var(name)))
        };
        let user =
            text(settings.become_user.as_ref(), "ansible_become_user")?.unwrap_or_else(|| "root".into());
        let method =
            text(settings.become_method.as_ref(), "ansible_become_method")?.unwrap_or_else(|| "sudo".into());
        let flags = text(settings.become_flags.as_ref(), "ansible_become_flags")?.unwrap_or_default();
        let exe = text(settings.become_exe.as_ref(), "ansible_become_exe")?;
        // Becoming who one is already would only cost a shell.
        let login =
            self.state.known.iter().find(|(target, _)| target.host == host && target.user == Acting::Login);
        if login.and_then(|(_, known)| known.who.as_ref()).is_some_and(|who| who.user == user) {
            return Ok(Target { host, user: Acting::Login });
        }
        let flags = shlex::split(&flags).unwrap_or_default();
        Ok(Target { host, user: Acting::Becoming { method, user, flags, exe } })
    }
}
