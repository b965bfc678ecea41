//! The names of modules: which there are, how Ansible's longer names map to them, and which are refused with a reason.
use std::collections::HashMap;
use std::sync::OnceLock;

use serde_json::Value as Json;

use crate::diagnostic::did_you_mean;

/// Arguments that fit their schema, made into a planner.
pub type Parse = fn(Json) -> Result<Box<dyn modules::Planner>, serde_json::Error>;

/// A module that can be named in a task.
#[derive(Debug, Default)]
pub struct Known {
    /// Its canonical short name.
    pub name: &'static str,
    /// Its arguments; with none and no schema any are taken (`set_fact`).
    pub arguments: &'static [&'static str],
    /// Other names for arguments, as `(alias, argument)`.
    pub aliases: &'static [(&'static str, &'static str)],
    /// The argument that free text stands for.
    pub free_form: Option<&'static str>,
    /// Makes its JSON schema, by which literal values are checked before any host is contacted.
    pub schema: Option<fn() -> Json>,
    /// Makes typed arguments of fitted ones: a type may refuse what its schema takes.
    pub parse: Option<Parse>,
    made: OnceLock<Json>,
}

impl Known {
    /// A module that takes any arguments.
    pub fn any(name: &'static str) -> Self {
        Self { name, ..Self::default() }
    }

    /// A module with a schema of its arguments.
    pub fn typed(name: &'static str, schema: fn() -> Json) -> Self {
        Self { name, schema: Some(schema), ..Self::default() }
    }

    /// The same with other names for arguments, as `(alias, argument)`.
    pub fn aliased(self, aliases: &'static [(&'static str, &'static str)]) -> Self {
        Self { aliases, ..self }
    }

    /// The same, with the argument that free text stands for.
    pub fn free(self, argument: Option<&'static str>) -> Self {
        Self { free_form: argument, ..self }
    }

    /// The same, with the names of its arguments, where it has no schema.
    pub fn taking(self, arguments: &'static [&'static str]) -> Self {
        Self { arguments, ..self }
    }

    /// A module as the modules' own list has it.
    pub fn of(entry: &modules::Entry) -> Self {
        let known = Self::typed(entry.name, entry.schema).aliased(entry.aliases).free(entry.free_form);
        Self { parse: Some(entry.parse), ..known }
    }

    /// The schema of its arguments, made when it is first asked for; `null` where there is none.
    pub fn schema(&self) -> &Json {
        self.made.get_or_init(|| self.schema.map_or(Json::Null, |make| make()))
    }
}

/// All modules that a playbook may name.
#[derive(Debug)]
pub struct Vocabulary {
    known: HashMap<&'static str, Known>,
}

/// What a written name means.
pub enum Meaning<'a> {
    /// A module.
    Module(&'a Known),
    /// One that is known and refused: why, and the way to say it here.
    Refused(&'static str, &'static str),
    /// Nothing, with the nearest name if there is one.
    Unknown(Option<String>),
}

/// What only steers a run, with the arguments that it takes.
const WORDS: [(&str, &[&str]); 17] = [
    ("add_host", &[]),
    ("assert", &["that", "fail_msg", "msg", "success_msg", "quiet"]),
    ("debug", &["msg", "var", "verbosity"]),
    ("fail", &["msg"]),
    ("group_by", &["key", "parents"]),
    ("import_playbook", &[]),
    ("import_role", ROLE_ARGUMENTS),
    ("import_tasks", &["file", "tags"]),
    ("include_role", ROLE_ARGUMENTS),
    ("include_tasks", &["file", "apply"]),
    (
        "include_vars",
        &[
            "file",
            "dir",
            "name",
            "depth",
            "files_matching",
            "ignore_files",
            "extensions",
            "ignore_unknown_extensions",
            "hash_behaviour",
        ],
    ),
    ("meta", &[]),
    ("pause", &["prompt", "seconds", "minutes", "echo"]),
    ("set_fact", &[]),
    ("set_stats", &["data", "per_host", "aggregate"]),
    ("setup", &["gather_subset", "gather_timeout", "filter", "fact_path"]),
    ("wait_for_connection", &["timeout", "delay", "sleep", "connect_timeout"]),
];

const ROLE_ARGUMENTS: &[&str] = &[
    "name",
    "role",
    "tasks_from",
    "vars_from",
    "defaults_from",
    "handlers_from",
    "public",
    "allow_duplicates",
    "apply",
    "rolespec_validate",
];

/// Words that take free-form text.
const FREE: [&str; 5] = ["meta", "include_vars", "include_tasks", "import_tasks", "import_playbook"];

/// Collections whose modules are known here by their short names.
const COLLECTIONS: [&str; 7] = [
    "ansible.builtin",
    "ansible.legacy",
    "ansible.posix",
    "ansible.utils",
    "community.general",
    "community.libvirt",
    "tunerun",
];

/// Ansible's names for modules that have another name here; of several the first that there is counts.
const RENAMED: [(&str, &str); 12] = [
    ("systemd", "systemd_unit"),
    ("systemd_service", "systemd_unit"),
    ("apt", "package"),
    ("dnf", "package"),
    ("dnf5", "dnf"),
    ("dnf5", "package"),
    ("yum", "dnf"),
    ("yum", "package"),
    ("zypper", "package"),
    ("gather_facts", "setup"),
    ("lvg", "lvm_vg"),
    ("lvol", "lvm_lv"),
];

const OUT: &str = "it is no part of tuning";

/// Modules of Ansible that are known and refused, unless the vocabulary brings them: name, why, the way to say it here.
pub const REFUSED: [(&str, &str, &str); 40] = [
    ("include", "Ansible itself dropped it", "use `import_tasks` or `include_tasks`"),
    (
        "raw",
        "a raw command has no proof and no way back",
        "use `shell`, which needs no Python on the host here",
    ),
    ("expect", "answering prompts cannot be planned", "use `command` with arguments that ask nothing"),
    ("async_status", "there is no `async` here", "take it out: tasks are always waited for"),
    (
        "get_url",
        "a download has no fixed content to plan with",
        "fetch it once beside the playbook, then `copy`",
    ),
    ("uri", "what a server answers cannot be planned", "use `command: curl …` with `changed_when: false`"),
    (
        "unarchive",
        "what an archive holds is not known while planning",
        "unpack it beside the playbook, then `copy`",
    ),
    ("archive", OUT, "use `command: tar …` with `creates:`"),
    ("git", OUT, "check out beside the playbook, then `copy`; or use `package`"),
    (
        "make",
        "a build has no way back",
        "build a package elsewhere, then `package`; or `command` with `creates:`",
    ),
    ("pip", OUT, "use `package`"),
    ("user", "accounts are managed elsewhere", "use `command: useradd …` with `creates:` and `undo:`"),
    ("group", "accounts are managed elsewhere", "use `command: groupadd …` with `undo:`"),
    ("authorized_key", "accounts are managed elsewhere", "use `lineinfile` on the authorized_keys file"),
    (
        "iptables",
        "firewall rules are managed elsewhere",
        "use `template` for the rules file and `notify` its service",
    ),
    (
        "firewalld",
        "firewall rules are managed elsewhere",
        "use `copy` for the zone file and `notify` its service",
    ),
    ("ufw", "firewall rules are managed elsewhere", "use `command` with `undo:`"),
    ("parted", "partitioning has no way back", "use `manual` with a verify probe"),
    ("apt_repository", "package sources are managed elsewhere", "use `copy` into /etc/apt/sources.list.d"),
    ("apt_key", "package sources are managed elsewhere", "use `copy` into /etc/apt/keyrings"),
    ("deb822_repository", "package sources are managed elsewhere", "use `copy` into /etc/apt/sources.list.d"),
    ("yum_repository", "package sources are managed elsewhere", "use `copy` into /etc/yum.repos.d"),
    ("rpm_key", "package sources are managed elsewhere", "use `copy` into /etc/pki/rpm-gpg"),
    ("virt", "guests are not changed by this version", "use `command: virsh …` with `undo:`"),
    ("virt_net", "guests are not changed by this version", "use `command: virsh …` with `undo:`"),
    ("virt_pool", "guests are not changed by this version", "use `command: virsh …` with `undo:`"),
    ("ceph_volume", "making an OSD destroys what was on the disk", "use `manual` with a verify probe"),
    ("kubernetes.core.k8s", "objects of Kubernetes are not hosts", "use `command: kubectl …` with `undo:`"),
    ("kubernetes.core.k8s_info", "objects of Kubernetes are not hosts", "use `command: kubectl get …`"),
    ("tempfile", "a random name cannot be planned", "use `file` with a fixed path and `state: directory`"),
    ("synchronize", "rsync has no way back", "use `copy`"),
    ("fetch", "files of hosts are not collected", "use `slurp` with `register`"),
    ("assemble", "its parts are not known while planning", "use `template` with a loop"),
    ("cron", OUT, "use `copy` into /etc/cron.d, or a `systemd_unit` timer"),
    ("hostname", OUT, "use `copy` on /etc/hostname, then `reboot`"),
    ("timezone", OUT, "use `command: timedatectl …` with `undo:`"),
    ("seboolean", "SELinux is managed elsewhere", "use `command: setsebool …` with `undo:`"),
    ("selinux", "SELinux is managed elsewhere", "use `lineinfile` on /etc/selinux/config, then `reboot`"),
    ("sr_fingerprint", "it belongs to one collection's own tests", "take it out"),
    (
        "kernel_settings_get_config",
        "it belongs to one role's own files",
        "use `sysctl`, `sysfs` and `kernel_args`",
    ),
];

impl Vocabulary {
    /// The words that steer a run, and the modules that the runner has. A module named like a word replaces it.
    pub fn new(modules: impl IntoIterator<Item = Known>) -> Self {
        let words = WORDS.iter().map(|(name, arguments)| Known::any(name).taking(arguments));
        Self { known: words.chain(modules).map(|known| (known.name, known)).collect() }
    }

    /// The names, sorted.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.known.keys().copied().collect();
        names.sort_unstable();
        names
    }

    /// A module by its canonical name.
    pub fn get(&self, name: &str) -> Option<&Known> {
        self.known.get(name)
    }

    /// What a name in a playbook means.
    pub fn meaning(&self, written: &str) -> Meaning<'_> {
        let (collection, short) = match written.rsplit_once('.') {
            Some((collection, short)) => (Some(collection), short),
            None => (None, written),
        };
        if collection.is_none_or(|name| COLLECTIONS.contains(&name))
            && let Some(known) = self.find(short)
        {
            return Meaning::Module(known);
        }
        let refused = REFUSED.iter().find(|(name, ..)| *name == written).or_else(|| {
            // The last part is telling in any collection: `community.general.parted` is `parted`.
            REFUSED.iter().find(|(name, ..)| *name == short)
        });
        if let Some((_, why, instead)) = refused {
            return Meaning::Refused(why, instead);
        }
        let near = match collection {
            Some(_) if self.find(short).is_some() => Some(short.to_owned()),
            _ => did_you_mean(short, self.known.keys().copied().chain(RENAMED.map(|(name, _)| name)))
                .map(str::to_owned),
        };
        Meaning::Unknown(near)
    }

    fn find(&self, short: &str) -> Option<&Known> {
        self.known.get(short).or_else(|| {
            let mut targets = RENAMED.iter().filter(|(name, _)| *name == short).map(|(_, target)| target);
            targets.find_map(|target| self.known.get(*target))
        })
    }
}

/// Ansible's names of modules that have another name here.
pub fn renamed() -> impl Iterator<Item = &'static str> {
    RENAMED.iter().map(|(name, _)| *name)
}

/// Whether a word that steers takes free-form text; modules say so themselves.
pub fn takes_text(module: &str) -> bool {
    FREE.contains(&module)
}
