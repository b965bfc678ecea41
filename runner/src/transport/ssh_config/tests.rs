//! The forms that other readers get wrong.
use super::*;

fn get(text: &str, host: &str, keyword: &str) -> Option<String> {
    SshConfig::from_text(text)
        .lookup(host, "me", &Settings::default())
        .unwrap()
        .get(keyword)
        .map(str::to_owned)
}

#[test]
fn the_first_value_counts() {
    let text = "Port 10\nHost a*\n\tPort=20\n  User me\nHost * !b\nUser you\nHost b\nUser b";
    assert_eq!(get(text, "a1", "port").unwrap(), "10");
    assert_eq!(get(text, "a1", "user").unwrap(), "me");
    assert_eq!(get(text, "b", "user").unwrap(), "b");
    assert_eq!(get(text, "c", "user").unwrap(), "you");
}

#[test]
fn identity_files_gather() {
    let settings = SshConfig::from_text("Host a\nIdentityFile one\nHost *\nIdentityFile \"two b\"")
        .lookup("a", "me", &Settings::default())
        .unwrap();
    assert_eq!(settings.all("identityfile"), ["one", "two b"]);
}

#[test]
fn what_we_do_not_understand_needs_ssh_g() {
    for (text, why) in [
        ("Port 1\nMatch exec \"true\"\nPort 2", "config:2: `Match exec \"true\"`"),
        ("Host *\nIdentityFile ${HOME}/x", "config:2: `${HOME}/x` names a variable of the environment"),
        ("Prot 1", "config:1: `prot` is not a keyword that is known here"),
        ("CanonicalizeHostname yes", "config:1: host names are made canonical"),
        ("User \"x", "config:1: a quote is not closed"),
    ] {
        assert_eq!(SshConfig::from_text(text).lookup("a", "me", &Settings::default()).unwrap_err().why, why);
    }
    assert_eq!(get("Host b\nPrton 3\nHost a\nPort 4\nMatch all\nUser x", "a", "user").unwrap(), "x");
}

#[test]
fn matches_are_judged_where_that_is_possible() {
    let text = "HostName %h.lab\nMatch final all\nPort 5\nUser late\nMatch host *.lab user root\nPort 1\n\
        Match originalhost a,b !user root\nPort 2\nMatch localuser me !host a.lab\nPort 3";
    let port = |host: &str, user: Option<&str>| {
        let mut given = Settings::default();
        user.into_iter().for_each(|user| given.add("user", user));
        SshConfig::from_text(text).lookup(host, "me", &given).unwrap().get("port").map(str::to_owned).unwrap()
    };
    assert_eq!([port("a", Some("root")), port("a", None), port("c", None)], ["1", "2", "3"]);
    let last = SshConfig::from_text("Match final all\nPort 5\nHost *\nUser x\nIdentityFile k");
    let settings = last.lookup("a", "me", &Settings::default()).unwrap();
    assert_eq!((settings.get("port"), settings.all("identityfile").len()), (Some("5"), 1));
}

#[test]
fn includes_are_read_where_they_stand() {
    let home = std::env::temp_dir().join(format!("tunerun-sshc-{}", std::process::id()));
    let folder = home.join(".ssh/conf.d");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("1.conf"), "User one\nHost z\nPort 9").unwrap();
    std::fs::write(folder.join("2.conf"), "User two\nPort 2").unwrap();
    std::fs::write(folder.join(".hidden.conf"), "User hidden").unwrap();
    let main = home.join(".ssh/config");
    std::fs::write(
        &main,
        "Host a\nInclude conf.d/*.conf\nHostName real\nHost *\nPort 1\nInclude ~/.ssh/config",
    )
    .unwrap();
    let config = SshConfig::read(Some(&main), None, &home);
    let looped = config.lookup("a", "me", &Settings::default()).unwrap_err();
    assert!(looped.why.contains("includes go too deep"), "{looped:?}");
    std::fs::write(&main, "Host a\nInclude conf.d/*.conf conf.d/none\nHostName real\nHost *\nPort 1")
        .unwrap();
    let config = SshConfig::read(Some(&main), Some(&home.join("none")), &home);
    let settings = config.lookup("a", "me", &Settings::default()).unwrap();
    let get = |keyword: &str| settings.get(keyword).unwrap_or_default();
    assert_eq!((get("user"), get("port"), get("hostname")), ("one", "2", "real"));
    assert_eq!(
        config.lookup("z", "me", &Settings::default()).unwrap().get("port"),
        Some("1"),
        "a Host line below an unmatched one never counts"
    );
    std::fs::remove_dir_all(&home).unwrap();
}

#[test]
fn the_output_of_ssh_g() {
    let settings = Settings::from_ssh_g(
        "hostname 10.0.0.1\nport 22\nidentityfile ~/.ssh/a\nidentityfile ~/.ssh/b c\nuser root\n",
    );
    assert_eq!(settings.get("hostname"), Some("10.0.0.1"));
    assert_eq!(settings.all("identityfile"), ["~/.ssh/a", "~/.ssh/b c"]);
}

#[test]
fn we_read_as_ssh_does() {
    // Where ssh is installed, both readers are compared on one file.
    let file = std::env::temp_dir().join(format!("tunerun-sshcmp-{}", std::process::id()));
    let text = "User=first\nHost h1 \"h2\"\n Port\t2201 # why\n IdentityFile \"/k/a b\"\n ServerAliveInterval = 7\nHost * !h2\n HostKeyAlias alias\n ProxyJump gw:2\nHost h*\n UserKnownHostsFile /k/one /k/two\n StrictHostKeyChecking accept-new\n ConnectTimeout 4\n";
    std::fs::write(&file, text).unwrap();
    let config = SshConfig::from_text(text);
    for host in ["h1", "h2", "h3", "x"] {
        let ours = config.lookup(host, "me", &Settings::default()).unwrap();
        let arguments = ["-F".to_owned(), file.display().to_string()];
        let theirs = match ssh_g(&arguments, host) {
            Ok(theirs) => theirs,
            Err(why) if std::env::var_os("CI").is_none() => {
                eprintln!("SKIPPED, not compared with ssh: {why}");
                break;
            }
            Err(why) => panic!("{why}"),
        };
        for keyword in [
            "user",
            "port",
            "serveraliveinterval",
            "hostkeyalias",
            "proxyjump",
            "userknownhostsfile",
            "connecttimeout",
        ] {
            if let Some(value) = ours.get(keyword) {
                assert_eq!(theirs.get(keyword), Some(value), "{keyword} of {host}");
            }
        }
        if !ours.all("identityfile").is_empty() {
            assert_eq!(theirs.all("identityfile"), ours.all("identityfile"), "{host}");
        }
    }
    std::fs::remove_file(&file).unwrap();
}
