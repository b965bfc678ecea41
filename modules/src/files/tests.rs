//! What Ansible's own modules made of files, against ours. The tables were written by ansible-core 2.19 and
//! community.general 12.
use crate::find;
use crate::fold::fold;
use crate::host::Host;
use crate::vocabulary::{Body, Bytes, Change, Facts, HostPath, Identity, Read, Seen, Stop, TaskId};
use serde::Deserialize;
use serde_json::Value as Json;
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
