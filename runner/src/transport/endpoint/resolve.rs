//! From settings to a login: tokens, paths, jump hosts.
use super::{Defaults, NewKeys, SshWay};
use crate::transport::ssh_config::{Settings, is_yes};
use std::path::PathBuf;
use std::time::Duration;

/// Jump hosts that have jump hosts are followed so far.
const DEPTH: usize = 8;

/// In this order: ed25519 is what people have, and what is fast.
const DEFAULT_KEYS: [&str; 3] = ["id_ed25519", "id_ecdsa", "id_rsa"];
/// What `ssh -G` lists where nothing was set.
const OPENSSH_DEFAULT_KEYS: [&str; 7] =
    ["id_rsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk", "id_xmss", "id_dsa"];

/// Turns settings into a login. `name` is the host as ssh would be given it.
pub(super) fn way(
    name: &str,
    settings: &Settings,
    defaults: &Defaults,
    depth: usize,
) -> Result<SshWay, Vec<String>> {
    let mut problems = Vec::new();
    let address =
        settings.get("hostname").unwrap_or(name).replace("%%", "\0").replace("%h", name).replace('\0', "%");
    if !is_address(&address) {
        problems.push(format!("`{address}` is no address"));
    }
    let user = settings.get("user").unwrap_or(&defaults.user);
    let mut way = SshWay::new(address, user);
    way.port = number(settings, "port", 22, &mut problems);
    way.keepalive_max = number(settings, "serveralivecountmax", 3, &mut problems);
    if settings.get("serveraliveinterval").is_some_and(|value| value != "0") {
        way.keepalive = Some(Duration::from_secs(number(settings, "serveraliveinterval", 20, &mut problems)));
    }
    way.host_key_alias = settings.get("hostkeyalias").map(str::to_owned);
    keys(&mut way, name, settings, defaults);
    known_hosts(&mut way, name, settings, defaults, &mut problems);
    methods(&mut way, settings, &mut problems);
    match (settings.get("proxycommand"), settings.get("proxyjump")) {
        (_, Some(jumps)) if jumps != "none" => match chain(jumps, defaults, depth) {
            Ok(jumps) => way.jumps = jumps,
            Err(whys) => problems.extend(whys),
        },
        (Some(command), _) if command != "none" => {
            // Quotes cannot help: the command may have its own around a token. So, as ssh does, only plain values.
            for (token, value) in [("%r", way.user.as_str()), ("%n", name), ("%u", &defaults.user)] {
                if command.contains(token) && !is_plain(value) {
                    problems
                        .push(format!("`{value}` cannot stand for {token} in the ProxyCommand `{command}`"));
                }
            }
            way.proxy_command = Some(expand(command, name, &way, defaults));
        }
        _ => {}
    }
    if problems.is_empty() { Ok(way) } else { Err(problems) }
}

/// Whether a text can be a host name or an address; placeholders such as `<ip>` and templates are not.
fn is_address(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with('-')
        && text.chars().all(|letter| letter.is_alphanumeric() || ".-_:%".contains(letter))
}

/// Whether a value is no shell syntax in any place.
fn is_plain(value: &str) -> bool {
    !value.starts_with('-')
        && value.chars().all(|letter| letter.is_ascii_alphanumeric() || "._:@+-%/".contains(letter))
}

fn number<T: std::str::FromStr>(
    settings: &Settings,
    keyword: &str,
    default: T,
    problems: &mut Vec<String>,
) -> T {
    let Some(text) = settings.get(keyword) else { return default };
    text.parse().unwrap_or_else(|_| {
        problems.push(format!("`{text}` is no value for `{keyword}`"));
        default
    })
}

/// The tokens of ssh_config that we know; others are left as they stand.
fn expand(text: &str, name: &str, way: &SshWay, defaults: &Defaults) -> String {
    let mut out = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            out.push(letter);
            continue;
        }
        match letters.next() {
            Some('%') => out.push('%'),
            Some('h') => out.push_str(&&way.address),
            Some('n') => out.push_str(&name),
            Some('p') => out.push_str(&way.port.to_string()),
            Some('r') => out.push_str(&&way.user),
            Some('u') => out.push_str(&&defaults.user),
            Some('d') => out.push_str(&&defaults.home.to_string_lossy()),
            Some(other) => out.extend(['%', other]),
            None => out.push('%'),
        }
    }
    out
}

fn path(text: &str, name: &str, way: &SshWay, defaults: &Defaults) -> PathBuf {
    defaults.path(&expand(text, name, way, defaults))
}

fn keys(way: &mut SshWay, name: &str, settings: &Settings, defaults: &Defaults) {
    let folder = defaults.home.join(".ssh");
    let is_default = |path: &PathBuf| OPENSSH_DEFAULT_KEYS.iter().any(|key| *path == folder.join(key));
    let named: Vec<PathBuf> = settings
        .all("identityfile")
        .iter()
        .filter(|text| *text != "none")
        .map(|text| path(text, name, way, defaults))
        .collect();
    if named.iter().all(is_default) && settings.all("identityfile") != ["none"] {
        way.default_keys = DEFAULT_KEYS.iter().map(|key| folder.join(key)).collect();
    } else {
        way.keys = named;
    }
    way.certificates =
        settings.all("certificatefile").iter().map(|text| path(text, name, way, defaults)).collect();
    way.identities_only = settings.get("identitiesonly").is_some_and(is_yes);
    way.agent = match settings.get("identityagent") {
        Some("none") => None,
        Some("SSH_AUTH_SOCK") | None => defaults.agent.clone(),
        Some(socket) => Some(path(socket, name, way, defaults)),
    };
}

fn known_hosts(
    way: &mut SshWay,
    name: &str,
    settings: &Settings,
    defaults: &Defaults,
    problems: &mut Vec<String>,
) {
    let files = |keyword: &str, default: [&str; 2]| -> Vec<PathBuf> {
        match settings.get(keyword) {
            Some("none") => Vec::new(),
            Some(text) => text.split_whitespace().map(|text| path(text, name, way, defaults)).collect(),
            None => default.iter().map(|text| defaults.path(text)).collect(),
        }
    };
    let user = files("userknownhostsfile", ["~/.ssh/known_hosts", "~/.ssh/known_hosts2"]);
    let global = files("globalknownhostsfile", ["/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"]);
    (way.known_hosts, way.global_known_hosts) = (user, global);
    match settings.get("stricthostkeychecking").map(str::to_ascii_lowercase).as_deref() {
        None | Some("yes" | "ask" | "true") => {}
        Some("accept-new") => way.new_keys = NewKeys::Accept,
        Some(other) => problems.push(format!(
            "`StrictHostKeyChecking={other}` is refused: anybody in between could read and change all that is sent; \
             say `accept-new`, which takes the keys of new hosts and refuses changed ones"
        )),
    }
}

fn methods(way: &mut SshWay, settings: &Settings, problems: &mut Vec<String>) {
    const OURS: [&str; 3] = ["publickey", "password", "keyboard-interactive"];
    let mut methods: Vec<String> = match settings.get("preferredauthentications") {
        Some(list) => list.split(',').map(|method| method.trim().to_owned()).collect(),
        None => OURS.map(str::to_owned).to_vec(),
    };
    let is_off = |keyword: &str| settings.get(keyword).is_some_and(|value| value.eq_ignore_ascii_case("no"));
    methods.retain(|method| match method.as_str() {
        "publickey" => !is_off("pubkeyauthentication"),
        "password" => !is_off("passwordauthentication"),
        "keyboard-interactive" => {
            !is_off("kbdinteractiveauthentication") && !is_off("challengeresponseauthentication")
        }
        _ => false,
    });
    if methods.is_empty() {
        problems.push(format!("no way to log in is left; this runner knows {}", OURS.join(", ")));
    }
    if methods != OURS {
        way.methods = Some(methods);
    }
}

/// The jump hosts of a list, each with those that its own settings name before it.
fn chain(list: &str, defaults: &Defaults, depth: usize) -> Result<Vec<SshWay>, Vec<String>> {
    if depth >= DEPTH {
        return Err(vec![format!("the jump hosts of `{list}` go round in a circle")]);
    }
    let mut jumps = Vec::new();
    for (index, text) in list.split(',').map(str::trim).enumerate() {
        let mut settings = Settings::default();
        let text = text.strip_prefix("ssh://").unwrap_or(text);
        let (user, place) = match text.rsplit_once('@') {
            Some((user, place)) => (Some(user), place),
            None => (None, text),
        };
        let (host, port) = split_port(place);
        if let Some(user) = user {
            settings.add("user", user);
        }
        if let Some(port) = port {
            settings.add("port", port);
        }
        if index > 0 {
            // Only the first jump host is reached by its own road; the others are reached through it.
            settings.add("proxyjump", "none");
            settings.add("proxycommand", "none");
        }
        let settings = defaults
            .settings(None, &[], host, &settings)
            .map_err(|why| vec![format!("jump host `{text}`: {why}")])?;
        let mut jump = way(host, &settings, defaults, depth + 1).map_err(|whys| {
            whys.iter().map(|why| format!("jump host `{text}`: {why}")).collect::<Vec<_>>()
        })?;
        jumps.append(&mut jump.jumps);
        jumps.push(jump);
    }
    Ok(jumps)
}

/// `host`, `host:port`, `[v6]:port`, and a bare v6 address.
fn split_port(place: &str) -> (&str, Option<&str>) {
    if let Some((host, rest)) = place.strip_prefix('[').and_then(|place| place.split_once(']')) {
        return (host, rest.strip_prefix(':'));
    }
    match place.split_once(':') {
        Some((host, port)) if !port.contains(':') => (host, Some(port)),
        _ => (place, None),
    }
}
