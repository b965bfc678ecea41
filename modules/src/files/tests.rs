//! What Ansible's own modules made of files, against ours. The tables were written by ansible-core 2.19 and
//! community.general 12.
use crate::find;
use crate::fold::fold;
use crate::host::Host;
use crate::vocabulary::{Body, Bytes, Change, Facts, HostPath, Identity, Read, Seen, Stop, TaskId};
use serde::Deserialize;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One case: arguments, the file before and after, and what Ansible said.
#[derive(Deserialize)]
struct Case {
    args: Json,
    before: Option<Bytes>,
    after: Option<Bytes>,
    changed: bool,
    failed: bool,
    msg: String,
    mode: Option<String>,
    /// Whether Ansible changed something at a second run.
    again: Option<bool>,
}

/// What one run of a module left: the file, its mode, whether anything changed, the message; or the refusal.
type Left = Result<(Option<Bytes>, Option<String>, bool, String), String>;

const PATH: &str = "/etc/f";

fn plan(module: &str, args: &Json, host: &Host) -> Result<Change, Stop> {
    let mut args = args.clone();
    args["path"] = PATH.into();
    let entry = find(module).unwrap();
    let planner = (entry.parse)(args).map_err(|why| Stop::failed(why.to_string()))?;
    let mut base = BTreeMap::new();
    for _ in 0..5 {
        let reads = planner.reads(&Facts::new(Arc::new(base.clone()), Identity::default()));
        base.extend(reads.into_iter().map(|read| (read.clone(), host.see(&read))));
    }
    planner.plan(&Facts::new(Arc::new(base), Identity::default()))
}

fn run(module: &str, args: &Json, host: &mut Host) -> Left {
    let change = plan(module, args, host).map_err(|stop| format!("{stop:?}"))?;
    let changed = !change.steps.is_empty();
    for folded in fold(change.steps.iter().map(|step| (TaskId(0), step.clone()))) {
        host.act(&folded.step.act).unwrap();
    }
    let message = change.result["msg"].as_str().unwrap_or_default().to_owned();
    let path = HostPath::new(PATH).unwrap();
    Ok(match host.see(&Read::text(&path)) {
        Seen::Node(node) => {
            let Some(Body::Bytes(bytes)) = node.body else { panic!("no bytes") };
            (Some(bytes), Some(format!("{:04o}", node.mode)), changed, message)
        }
        _ => (None, None, changed, message),
    })
}

/// Where we differ on purpose: module, a part of the arguments, and why.
const DIFFERENT: &[(&str, &str, &str)] = &[
    (
        "lineinfile",
        r#""line":"beta=2\n"}"#,
        "Ansible adds the line again at every run: the newline of `|` is no part of it",
    ),
    (
        "lineinfile",
        r#""insertafter":"^beta"} on Some("alpha=1\nbeta=2")"#,
        "Ansible glues the line to an open last one",
    ),
    ("blockinfile", r##""marker":"# BEGIN""##, "Ansible adds the block again at every run"),
    ("ini_file", r#"[m]\r\n"#, "Ansible rewrites every newline of the file"),
];

fn check(module: &str, table: &str, least: usize) {
    let cases: Vec<Case> = serde_json::from_str(table).unwrap();
    assert!(cases.len() >= least);
    let mut wrong = Vec::new();
    for case in cases {
        let mut host = Host::new().dir("/etc");
        if let Some(before) = &case.before {
            host = host.file(PATH, before.as_slice());
        }
        let ours = run(module, &case.args, &mut host);
        let same = match &ours {
            Err(_) => case.failed,
            Ok((after, mode, changed, message)) => {
                !case.failed
                    && *after == case.after
                    && *mode == case.mode
                    && *changed == case.changed
                    && (case.msg.replace("PATH", PATH) == *message || case.msg.starts_with("Pattern for"))
            }
        };
        let known = DIFFERENT.iter().any(|(of, part, _)| {
            *of == module && format!("{} on {:?}", case.args, case.before).contains(part)
        });
        if same == known {
            wrong.push(format!(
                "{} on {:?}\n   theirs: {:?} {:?} changed {} failed {} {} again {:?}\n   ours:   {ours:?}",
                case.args,
                case.before,
                case.after,
                case.mode,
                case.changed,
                case.failed,
                case.msg,
                case.again
            ));
        }
        // Whatever Ansible does, ours settles.
        if ours.is_ok() {
            let again = run(module, &case.args, &mut host);
            if !again.as_ref().is_ok_and(|again| !again.2) {
                wrong.push(format!("{} on {:?}: a second run: {again:?}", case.args, case.before));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn lineinfile_leaves_what_ansible_leaves() {
    check("lineinfile", include_str!("../../../tests/data/modules/lineinfile.json"), 80);
}

#[test]
fn blockinfile_leaves_what_ansible_leaves() {
    check("blockinfile", include_str!("../../../tests/data/modules/blockinfile.json"), 50);
}

#[test]
fn replace_leaves_what_ansible_leaves() {
    check("replace", include_str!("../../../tests/data/modules/replace.json"), 35);
}

#[test]
fn ini_file_leaves_what_ansible_leaves() {
    check("ini_file", include_str!("../../../tests/data/modules/ini_file.json"), 60);
}

/// The change of a module with its own arguments.
fn change(module: &str, args: Json, host: &Host) -> Result<Change, Stop> {
    let planner = (find(module).unwrap().parse)(args).map_err(|why| Stop::failed(why.to_string()))?;
    let mut base = BTreeMap::new();
    for _ in 0..5 {
        let reads = planner.reads(&Facts::new(Arc::new(base.clone()), Identity::default()));
        base.extend(reads.into_iter().map(|read| (read.clone(), host.see(&read))));
    }
    planner.plan(&Facts::new(Arc::new(base), Identity::default()))
}

fn refusal(module: &str, args: Json, host: &Host) -> String {
    match change(module, args, host) {
        Err(Stop::Refused(refusal)) => format!("{}: {}", refusal.argument.unwrap_or_default(), refusal.why),
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn a_look_at_a_file_has_ansibles_names() {
    let host = Host::new().file_mode("/etc/f", "text\n", 0o4751).link("/etc/l", "f");
    let stat = change("stat", json!({ "path": "/etc/f" }), &host).unwrap().result["stat"].clone();
    for (name, value) in [
        ("exists", json!(true)),
        ("isreg", json!(true)),
        ("isdir", json!(false)),
        ("mode", json!("4751")),
        ("pw_name", json!("root")),
        ("size", json!(5)),
        ("isuid", json!(true)),
        ("woth", json!(false)),
        ("xoth", json!(true)),
    ] {
        assert_eq!(stat[name], value, "{name}");
    }
    assert_eq!(stat["checksum"], crate::vocabulary::Digest::of(b"text\n").to_string());
    let link = change("stat", json!({ "path": "/etc/l" }), &host).unwrap().result["stat"].clone();
    assert_eq!((&link["lnk_source"], &link["lnk_target"]), (&json!("/etc/f"), &json!("f")));
    assert!(
        refusal("stat", json!({ "path": "/etc/f", "checksum_algorithm": "sha1" }), &host).contains("sha1")
    );
}

#[test]
fn a_copy_says_where_and_what() {
    let host = Host::new().dir("/etc/d").file_mode("/etc/secret", "old", 0o600);
    let args =
        json!({ "dest": "/etc/d", "source": "a.conf", "content": "x", "mode": "0640", "owner": "ceph" });
    let copied = change("copy", args, &host).unwrap();
    assert_eq!(copied.result["dest"], "/etc/d/a.conf");
    assert_eq!((&copied.result["mode"], &copied.result["owner"]), (&json!("0640"), &json!("ceph")));
    let private = change("copy", json!({ "dest": "/etc/secret", "content": "new" }), &host).unwrap();
    assert!(matches!(&private.diff[0], crate::vocabulary::Diff::Text { private: true, .. }));
    assert!(refusal("copy", json!({ "dest": "/etc/d", "content": "x" }), &host).contains("no name"));
    assert!(
        refusal("copy", json!({ "dest": "/none/x", "content": "x" }), &host).contains("/none is not there")
    );
    assert!(refusal("copy", json!({ "dest": "/proc/x", "content": "x" }), &host).contains("kernel"));
}

#[test]
fn what_was_planned_before_counts() {
    let host = Host::new().dir("/etc");
    let made = change("file", json!({ "path": "/etc/new", "state": "directory" }), &host).unwrap();
    let parse = find("copy").unwrap().parse;
    let planner = parse(json!({ "dest": "/etc/new/f", "content": "x" })).unwrap();
    let mut base = BTreeMap::new();
    let mut facts = Facts::default();
    for _ in 0..5 {
        base.extend(planner.reads(&facts).into_iter().map(|read| (read.clone(), host.see(&read))));
        facts = Facts::new(Arc::new(base.clone()), Identity::default());
        facts.plan(TaskId(0), made.steps.clone());
    }
    assert_eq!(planner.plan(&facts).unwrap().steps.len(), 1);
}

#[test]
fn large_files_are_not_edited() {
    let big = "x".repeat(crate::vocabulary::TEXT_LIMIT as usize + 1);
    let mut host = Host::new().file("/etc/f", big);
    let path = HostPath::new("/etc/f").unwrap();
    // A real host answers with the digest alone.
    if let Seen::Node(mut node) = host.see(&Read::text(&path)) {
        node.body = node.body.map(|body| Body::Digest(body.digest()));
        host = host.node("/etc/f", node);
    }
    for module in ["lineinfile", "blockinfile"] {
        let args = match module {
            "lineinfile" => json!({ "path": "/etc/f", "line": "y" }),
            _ => json!({ "path": "/etc/f", "block": "y" }),
        };
        assert!(refusal(module, args, &host).contains("1048576"));
    }
    assert!(refusal("slurp", json!({ "src": "/etc/f" }), &host).contains("1 MiB"));
    // Taking it away needs no text: it is kept under its digest.
    let gone = change("file", json!({ "path": "/etc/f", "state": "absent" }), &host).unwrap();
    assert!(matches!(gone.steps[0].back, crate::vocabulary::Back::Exactly(_)));
    let mode = change("file", json!({ "path": "/etc/f", "mode": "0600" }), &host).unwrap();
    assert!(matches!(mode.steps[0].back, crate::vocabulary::Back::Exactly(_)));
}

#[test]
fn found_files_are_sorted_and_filtered() {
    let host = Host::new().file("/d/b", "22").file("/d/a", "1").file("/d/.h", "").file("/d/e/c", "");
    let names = |args: Json| -> Vec<String> {
        let found = change("find", args, &host).unwrap().result;
        let files = found["files"].as_array().unwrap();
        files.iter().map(|file| file["path"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(json!({ "paths": ["/d"] })), ["/d/a", "/d/b"]);
    assert_eq!(names(json!({ "paths": ["/d"], "recurse": true, "hidden": true })).len(), 4);
    assert_eq!(names(json!({ "paths": ["/d"], "size": "2" })), ["/d/b"]);
    assert_eq!(names(json!({ "paths": ["/d"], "contains": "^1" })), ["/d/a"]);
    assert_eq!(names(json!({ "paths": ["/d"], "file_type": "directory" })), ["/d/e"]);
    assert_eq!(names(json!({ "paths": ["/d"], "excludes": ["a*"] })), ["/d/b"]);
}
