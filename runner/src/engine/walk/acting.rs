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

    /// As whom the task acts on a host. The variables `ansible_become*` go before the keywords, as in Ansible.
    pub(super) fn acting(&self, frame: &Frame<'_>, host: String) -> Result<Target, Unknown> {
        let task = frame.task;
        let scope = self.scope(Some(task), frame.locals.clone());
        let settings = &task.settings;
        let at = &task.action.span;
        let var = |name: &str| -> Result<Option<String>, Unknown> {
            if scope.get(name).is_none() {
                return Ok(None);
            }
            let rendered = scope.templates().value(&format!("{{{{ {name} | default('') }}}}"), &scope);
            let rendered = rendered.map_err(|fault| Unknown::of(&fault, at))?;
            Ok(super::setting::text_of(&rendered.value).filter(|text| !text.is_empty()))
        };
        let becomes = match var("ansible_become")? {
            Some(text) => crate::playbook::boolean(&text).ok_or_else(|| {
                Unknown::wrong(format!("`ansible_become: {text}` is neither yes nor no"), at)
            })?,
            None => scope.flag(settings.r#become.as_ref(), false)?,
        };
        if !becomes {
            return Ok(Target { host, user: Acting::Login });
        }
        let text = |setting: Option<&crate::playbook::Setting<String>>,
                    name: &str|
         -> Result<Option<String>, Unknown> {
            match var(name)? {
                Some(text) => Ok(Some(text)),
                None => scope.text(setting),
            }
        };
        let user =
            text(settings.become_user.as_ref(), "ansible_become_user")?.unwrap_or_else(|| "root".into());
        // Becoming who one is already would only cost a shell.
        let login =
            self.state.known.iter().find(|(target, _)| target.host == host && target.user == Acting::Login);
        if login.and_then(|(_, known)| known.who.as_ref()).is_some_and(|who| who.user == user) {
            return Ok(Target { host, user: Acting::Login });
        }
        let method = text(settings.become_method.as_ref(), "ansible_become_method")?;
        let flags = text(settings.become_flags.as_ref(), "ansible_become_flags")?;
        let exe = text(settings.become_exe.as_ref(), "ansible_become_exe")?;
        let user = Acting::becoming(method.as_deref().unwrap_or("sudo"), user, flags.as_deref(), exe)
            .map_err(|why| Unknown::wrong(why, at))?;
        Ok(Target { host, user })
    }
}
