//! Tests of `command`, `shell` and `script` on hosts in memory.
use super::{Command, Script, Shell};
use crate::host::Host;
use crate::trial::{planned, refusal};
use crate::vocabulary::{Act, Back, HostPath, Match, Output, Row, Seen, Spoil};
use serde_json::json;

#[test]
fn a_command_is_a_call_of_its_own_words() {
    let change = planned::<Command>(
        &Host::new(),
        json!({ "cmd": "echo 'a b' $HOME", "chdir": "/srv", "stdin": "x", "env": { "A": "1" }, "spoils": "volatile,/etc/x/*.conf", "undo": "rm /x" }),
    );
    let Act::Call { row, spoils } = &change.steps[0].act else { panic!() };
    assert_eq!(row.args, ["echo", "a b", "$HOME"]);
    assert_eq!((row.stdin.as_deref(), row.dir.as_ref().unwrap().as_str()), (Some("x\n"), "/srv"));
    assert_eq!(row.env, [("A".to_owned(), "1".to_owned())]);
    assert_eq!(spoils[..], [Spoil::Volatile, Spoil::Below(HostPath::new("/etc/x").unwrap())]);
    assert!(
        matches!(&change.steps[0].back, Back::Approximately { act: Act::Call { row, .. }, .. } if row.args == ["rm /x"])
    );
    assert_eq!(change.answer, Some(0));
    assert!(change.steps[0].is_act());
}

#[test]
fn without_undo_there_is_no_way_back() {
    let change = planned::<Shell>(&Host::new(), json!({ "cmd": "a | b", "executable": "/bin/bash" }));
    assert!(matches!(change.steps[0].back, Back::None { .. }));
    let Act::Call { row, .. } = &change.steps[0].act else { panic!() };
    assert_eq!((row.name.as_str(), row.args.len()), ("shell-by", 3));
}

#[test]
fn creates_and_removes_are_looked_at() {
    let host = Host::new().file("/opt/a/bin/x", "");
    for (args, runs) in [
        (json!({ "cmd": "true", "creates": "/opt/a/bin/x" }), false),
        (json!({ "cmd": "true", "creates": "/opt/*/bin/x" }), false),
        (json!({ "cmd": "true", "creates": "bin/x", "chdir": "/opt/a" }), false),
        (json!({ "cmd": "true", "creates": "/opt/b" }), true),
        (json!({ "cmd": "true", "removes": "/opt/b" }), false),
        (json!({ "cmd": "true", "removes": "/opt/a" }), true),
    ] {
        let change = planned::<Command>(&host, args.clone());
        assert_eq!(!change.is_empty(), runs, "{args}");
        if runs {
            assert!(change.steps[0].look.is_some() && change.steps[0].after == Match::Any);
        } else {
            assert_eq!(change.result["rc"], json!(0));
            assert!(change.result["stdout"].as_str().unwrap().starts_with("skipped, since"));
        }
    }
}

#[test]
fn a_probe_is_asked_and_answers() {
    let row = Row::new("probe", ["uname", "-r"]);
    let output = Output { status: 3, stdout: "6.1\n\n".into(), stderr: "bad\n".into() };
    let host = Host::new().answer(row, Seen::Output(output));
    let change = planned::<Command>(&host, json!({ "cmd": "uname -r", "probe": true }));
    assert!(change.is_empty());
    assert_eq!(change.result["rc"], json!(3));
    assert_eq!(change.result["stdout"], json!("6.1"));
    assert_eq!(change.result["stderr_lines"], json!(["bad"]));
    let change =
        planned::<Command>(&host, json!({ "cmd": "uname -r", "probe": true, "strip_empty_ends": false }));
    assert_eq!(change.result["stdout"], json!("6.1\n\n"));
}

#[test]
fn faults_are_refused() {
    let host = Host::new();
    assert!(refusal::<Command>(&host, json!({ "cmd": "echo 'a" })).contains("not closed"));
    assert!(refusal::<Command>(&host, json!({ "cmd": " " })).contains("empty"));
    assert!(refusal::<Command>(&host, json!({})).contains("no command"));
    assert!(refusal::<Command>(&host, json!({ "cmd": "a", "argv": ["a"] })).contains("not both"));
    assert!(refusal::<Command>(&host, json!({ "cmd": "a", "spoils": "etc" })).contains("absolute"));
    assert!(refusal::<Script>(&host, json!({ "cmd": "x.sh" })).contains("empty"));
}

#[test]
fn a_script_travels_as_input() {
    let change = planned::<Script>(&Host::new(), json!({ "cmd": "x.sh a 'b c'", "body": "#!/bin/sh\n" }));
    let Act::Call { row, .. } = &change.steps[0].act else { panic!() };
    assert_eq!(row.args, ["", "a", "b c"]);
    assert_eq!(row.stdin.as_deref(), Some("#!/bin/sh\n"));
}
