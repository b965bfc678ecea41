//! Variables and what they come to.
use super::*;
use crate::transport::ssh_config::Settings;
use serde_json::{Map, Value, json};

fn map(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn way(vars: Value) -> SshWay {
    let endpoint = from_vars("h1", &map(vars), &Defaults::bare("/home/me", "me")).unwrap();
    let Way::Ssh(way) = endpoint.way else { panic!("local") };
    *way
}

fn problems(vars: Value) -> String {
    let problems = from_vars("h1", &map(vars), &Defaults::bare("/home/me", "me")).unwrap_err();
    problems
        .iter()
        .map(|problem| format!("{}|{}\n", problem.message, problem.help.clone().unwrap_or_default()))
        .collect()
}

#[test]
fn nothing_said() {
    let way = way(json!({}));
    assert_eq!(way.shown(), "me@h1:22");
    assert_eq!(way.default_keys[0], PathBuf::from("/home/me/.ssh/id_ed25519"));
    assert_eq!(way.known_hosts[0], PathBuf::from("/home/me/.ssh/known_hosts"));
    assert_eq!(way.global_known_hosts[0], PathBuf::from("/etc/ssh/ssh_known_hosts"));
    assert_eq!(way.new_keys, NewKeys::Refuse);
}

#[test]
fn the_usual_variables() {
    let vars = json!({
        "ansible_host": "10.0.0.1", "ansible_port": 2222, "ansible_user": "root", "ansible_password": "s3cret",
        "ansible_ssh_private_key_file": "~/keys/%r", "ansible_timeout": 3, "ansible_ssh_retries": "2",
        "ansible_shell_executable": "/bin/bash", "ansible_python_interpreter": "/usr/bin/python3",
        "ansible_ssh_common_args": "-o StrictHostKeyChecking=accept-new -o UserKnownHostsFile=/k/a -o IdentitiesOnly=yes -o User=other",
    });
    let endpoint = from_vars("h1", &map(vars), &Defaults::bare("/home/me", "me")).unwrap();
    assert_eq!(endpoint.address(), "root@10.0.0.1:2222");
    assert_eq!((endpoint.connect_timeout, endpoint.retries), (Duration::from_secs(3), 2));
    assert_eq!(endpoint.interpreter, "/bin/bash");
    assert!(!format!("{endpoint:?}").contains("s3cret"));
    let Way::Ssh(way) = endpoint.way else { panic!() };
    assert_eq!(way.keys, [PathBuf::from("/home/me/keys/root")]);
    assert_eq!(way.known_hosts, [PathBuf::from("/k/a")]);
    assert!(way.identities_only && way.new_keys == NewKeys::Accept && way.default_keys.is_empty());
}

#[test]
fn connections_other_than_ssh() {
    let local =
        from_vars("h1", &map(json!({"ansible_connection": "local"})), &Defaults::bare("/h", "me")).unwrap();
    assert!(matches!(local.way, Way::Local));
    let paramiko =
        from_vars("h1", &map(json!({"ansible_connection": "paramiko"})), &Defaults::bare("/h", "me"))
            .unwrap();
    assert_eq!(paramiko.notes, ["`ansible_connection: paramiko` is taken as ssh"]);
    assert!(
        problems(json!({"ansible_connection": "community.docker.docker"})).starts_with(
            "host `h1`: `ansible_connection: community.docker.docker` is not supported|use `ssh`"
        )
    );
}

#[test]
fn all_problems_at_once() {
    let text = problems(json!({
        "ansible_host": "<mgmt_if_ip>", "ansible_port": "ssh", "ansible_shell_executable": "sh; reboot",
        "ansible_ssh_common_args": "-o StrictHostKeyChecking=no -L 1:a:1", "ansible_host_key_checking": false,
    }));
    for part in [
        "host `h1`: `<mgmt_if_ip>` is no address",
        "`ssh` is no value for `port`",
        "`-L` is not understood",
        "`ansible_shell_executable` is no program",
        "ansible_host_key_checking",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let text = problems(json!({"ansible_ssh_args": "-o StrictHostKeyChecking=no"}));
    assert!(text.contains("`StrictHostKeyChecking=no` is refused") && text.contains("accept-new"), "{text}");
    assert!(problems(json!({"ansible_host": "-oProxyCommand=x"})).contains("is no address"));
    assert!(
        problems(json!({"ansible_ssh_extra_args": "-o PreferredAuthentications=gssapi-with-mic"}))
            .contains("no way to log in is left")
    );
}

#[test]
fn roads_through_others() {
    let way1 = way(json!({"ansible_ssh_common_args": "-o ProxyJump=a@gw1:2201,[fe80::1]:2202"}));
    assert_eq!(way1.jumps.iter().map(SshWay::shown).collect::<Vec<_>>(), ["a@gw1:2201", "me@[fe80::1]:2202"]);
    let through = |user: &str| json!({"ansible_user": user, "ansible_ssh_common_args": "-o \"ProxyCommand=ssh -W '%h:%p' -l '%r' gw%%\""});
    assert_eq!(way(through("root")).proxy_command.unwrap(), "ssh -W 'h1:22' -l 'root' gw%");
    assert!(problems(through("x'; reboot; '")).contains("cannot stand for %r in the ProxyCommand"));
}

fn defaults_of(home: &std::path::Path) -> Defaults {
    let mut defaults = Defaults::new(home, "me", Some("/agent".into()));
    defaults.machine_config = None;
    defaults
}

#[test]
fn ssh_config_is_heeded_and_ssh_g_asked_once() {
    let home = std::env::temp_dir().join(format!("tunerun-ep-{}", std::process::id()));
    std::fs::create_dir_all(home.join(".ssh")).unwrap();
    std::fs::write(
        home.join(".ssh/config"),
        "Host gw\nUser jump\nHost h*\nHostName %h.lab\nProxyJump gw\nPort 77\nIdentityAgent none\n",
    )
    .unwrap();
    let asked = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let defaults = || defaults_of(&home);
    let endpoint = from_vars("h1", &map(json!({"ansible_port": 5})), &defaults()).unwrap();
    assert_eq!(endpoint.address(), "me@h1.lab:5");
    let Way::Ssh(way) = endpoint.way else { panic!() };
    assert_eq!(
        (way.jumps[0].shown().as_str(), &way.agent, way.jumps[0].agent.is_some()),
        ("jump@gw:22", &None, true)
    );
    std::fs::write(home.join(".ssh/config"), "Host loop\nProxyJump loop\nMatch exec true\nPort 1\n").unwrap();
    let defaults = defaults().ask_by(move |words, host| {
        assert_eq!((words, host), (["-o".to_owned(), "user=x".to_owned()].as_slice(), "h1"));
        count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        Ok(Settings::from_ssh_g(
            "user x\nport 1\nhostname h1\nidentityfile ~/.ssh/id_rsa\nidentityfile ~/.ssh/id_ed25519\n",
        ))
    });
    for _ in 0..3 {
        let endpoint = from_vars("h1", &map(json!({"ansible_user": "x"})), &defaults).unwrap();
        assert_eq!(endpoint.address(), "x@h1:1");
        let Way::Ssh(way) = endpoint.way else { panic!() };
        assert!(way.keys.is_empty() && way.default_keys.len() == 3);
    }
    assert_eq!(asked.load(std::sync::atomic::Ordering::SeqCst), 1);
    std::fs::write(home.join(".ssh/config"), "Host loop\nProxyJump loop\n").unwrap();
    let error = from_vars("loop", &Map::new(), &defaults_of(&home)).unwrap_err();
    assert!(error[0].message.contains("go round in a circle"), "{error:?}");
    std::fs::remove_dir_all(&home).unwrap();
}
