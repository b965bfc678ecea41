//! Tests of `package`, `apt` and `dnf` on hosts in memory.
use super::*;
use crate::packages::{Apt, Dnf, Package};
use crate::trial::{planned, refusal};

fn host(installed: &str, policy: &str, names: &[&str]) -> Host {
    let names = owned(names);
    Host::new()
        .file("/usr/bin/apt-get", "")
        .answer(
            Family::Apt.look(&names),
            Seen::Output(Output { status: 1, stdout: installed.into(), stderr: "".into() }),
        )
        .answer(Family::Apt.candidates(&names), Seen::Output(Output::ok(policy)))
}

fn row(change: &Change, step: usize) -> &Row {
    match &change.steps[step].act {
        Act::Call { row, .. } => row,
        other => panic!("{other:?}"),
    }
}

#[test]
fn only_what_is_missing_is_installed() {
    let policy = "a:\n  Installed: 1\n  Candidate: 1\nb:\n  Installed: (none)\n  Candidate: 2\n";
    let host = host("a installed\na=1 installed\n", policy, &["a", "b"]);
    let change = planned::<Package>(&host, json!({ "name": "b, a" }));
    assert_eq!(row(&change, 0).args, ["--", "b"]);
    let step = &change.steps[0];
    assert!(step.after.holds(&Seen::Output(Output::ok("a installed\nb installed\nb=2 installed\n"))));
    assert!(!step.after.holds(&step.before));
    assert!(
        matches!(&step.back, Back::Approximately { act: Act::Call { row, .. }, stays } if row.args == ["b"] && stays.contains("logs"))
    );
}

#[test]
fn versions_and_latest() {
    let policy = "a:\n  Installed: 1:1.2-3\n  Candidate: 1:1.3-1\n";
    let host = host("a installed\na=1:1.2-3 installed\n", policy, &["a"]);
    for fine in ["a=1:1.2-3", "a=1.2-3", "a=1.2*", "a"] {
        assert!(planned::<Package>(&host, json!({ "name": fine })).is_empty(), "{fine}");
    }
    let change = planned::<Package>(&host, json!({ "name": "a", "state": "latest" }));
    assert_eq!(change.steps[0].after, Match::Has(vec!["a=1:1.3-1 installed".to_owned()]));
    assert!(
        matches!(&change.steps[0].back, Back::Approximately { act: Act::Call { row, .. }, .. } if row.args == ["--allow-downgrades", "--", "a=1:1.2-3"])
    );
    let change =
        planned::<Apt>(&host, json!({ "name": "a=1.1", "allow_downgrade": true, "update_cache": true }));
    assert_eq!(row(&change, 0).name, "apt-get-update");
    assert_eq!(row(&change, 1).args, ["--allow-downgrades", "--", "a=1.1"]);
}

#[test]
fn strangers_are_refused() {
    let host = host("", "N: Unable to locate package nmactl\n", &["nmactl"]);
    assert!(refusal::<Package>(&host, json!({ "name": "nmactl" })).contains("update_cache"));
    assert_eq!(planned::<Package>(&host, json!({ "name": "nmactl", "update_cache": true })).steps.len(), 2);
    for bad in ["--force", "./x.deb", "http://x/y.deb", "@core", "a b"] {
        assert!(refusal::<Package>(&host, json!({ "name": bad })).contains("not the name"), "{bad}");
    }
    assert!(refusal::<Dnf>(&host, json!({ "name": "x" })).contains("kept by apt"));
    assert!(refusal::<Package>(&Host::new(), json!({ "name": "x" })).contains("neither"));
    assert!(
        refusal::<Package>(&Host::new().file("/usr/bin/zypper", ""), json!({ "name": "x" }))
            .contains("zypper")
    );
}
