//! Saved plans: what they were made from, down to the files that tasks bring to hosts.
use crate::bed::{Bed, on_all};

/// What a plan is made from, by kind.
const FILES: [(&str, &str); 9] = [
    ("roles/r/tasks/main.yml", "playbook"),
    ("roles/r/files/in_role.txt", "source"),
    ("roles/r/templates/in_role.j2", "source"),
    ("roles/r/defaults/main.yml", "vars"),
    ("files/plain.txt", "source"),
    ("files/tree/below/deep.txt", "source"),
    ("files/make.sh", "source"),
    ("more.yml", "playbook"),
    ("looked.txt", "source"),
];

#[test]
fn what_changed_since_a_plan_was_made_is_named_file_by_file() {
    let bed = Bed::one();
    let role = "- copy: {src: in_role.txt, dest: \"{{ root }}/in_role\"}\n- template: {src: in_role.j2, dest: \"{{ root }}/template\"}\n";
    bed.file("roles/r/tasks/main.yml", role).file("roles/r/files/in_role.txt", "one\n");
    bed.file("roles/r/templates/in_role.j2", "{{ level }}\n").file("roles/r/defaults/main.yml", "level: 1\n");
    bed.file("files/plain.txt", "plain\n").file("files/make.sh", "#!/bin/sh\ntrue\n");
    bed.file("files/tree/below/deep.txt", "deep\n").file("more.yml", "- debug: {msg: more}\n");
    let tasks = "- copy: {src: plain.txt, dest: \"{{ root }}/plain\"}\n- copy: {src: tree, dest: \"{{ root }}/tree\"}\n\
        - script: make.sh\n  args: {creates: \"{{ root }}/plain\"}\n- include_tasks: more.yml\n\
        - copy: {dest: \"{{ root }}/looked\", content: \"{{ lookup('file', 'looked.txt') }}\"}\n- include_role: {name: r}";
    bed.file("looked.txt", "looked\n").file("site.yml", &on_all(tasks));
    let path = |name: &str| bed.dir.join(name).display().to_string();
    let (site, hosts, plan) = (path("site.yml"), path("hosts.yml"), path("p.plan"));
    bed.tunerun(&["plan", &site, "-i", &hosts, "--out", &plan, "--late"]).ok();
    let check = ["apply", &plan, "--check"];
    bed.tunerun(&check).ok().never_says("since the plan was made");
    for (name, kind) in FILES {
        let old = std::fs::read_to_string(bed.dir.join(name)).unwrap();
        bed.file(name, &format!("{old}# more\n"));
        let done = bed.tunerun(&check);
        done.says(&format!("since the plan was made: {kind} ")).says(&format!("{name} has changed"));
        assert_eq!(done.err.matches("since the plan was made").count(), 1, "{}", done.err);
        bed.file(name, &old);
    }
    bed.tunerun(&["apply", &plan, "--yes"]).ok();
    assert_eq!(bed.got("a/looked").as_deref(), Some("looked"));
}

#[test]
fn only_a_plan_that_somebody_has_approved_is_applied() {
    let bed = Bed::one();
    bed.file("site.yml", &on_all("- copy: {dest: \"{{ root }}/f\", content: x}"));
    let ssh_keygen = |words: &[&str], input: Option<&str>| {
        let mut command = std::process::Command::new("ssh-keygen");
        command.args(words).current_dir(&bed.dir).stdin(match input {
            Some(name) => std::fs::File::open(bed.dir.join(name)).unwrap().into(),
            None => std::process::Stdio::null(),
        });
        let output = command.output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    for name in ["ann", "bob", "eve"] {
        ssh_keygen(&["-q", "-t", "ed25519", "-N", "", "-C", name, "-f", name], None);
    }
    let public = |name: &str| std::fs::read_to_string(bed.dir.join(format!("{name}.pub"))).unwrap();
    bed.file("approvers", &format!("ann@x {}bob@x {}", public("ann"), public("bob")));
    let (plan_of, approvers) =
        (bed.dir.join("p.plan").display().to_string(), bed.dir.join("approvers").display().to_string());
    let check = |code: i32, words: &[&str], said: &str| {
        let words = [&["apply", &plan_of, "--check", "--require-approval", &approvers], words].concat();
        bed.tunerun(&words).ended(code).says(said);
    };
    let path = |name: &str| bed.dir.join(name).display().to_string();
    let (site, hosts, plan) = (path("site.yml"), path("hosts.yml"), path("p.plan"));
    bed.tunerun(&["plan", &site, "-i", &hosts, "--out", &plan]).ok();
    check(2, &[], "is approved by nobody whom");
    // Whom nobody names approves nothing.
    let sign = |key: &str| {
        let mut command = std::process::Command::new(tests::program::tunerun());
        let output = command.args(["sign", &plan, "--key", &path(key)]).output().unwrap();
        assert!(
            output.status.success()
                && String::from_utf8_lossy(&output.stderr).contains("signed with SHA256:")
        );
    };
    sign("eve");
    check(2, &[], "is not among the approvers");
    // What this program signs, OpenSSH verifies; and the other way round.
    std::fs::remove_file(bed.dir.join("p.plan.sig")).unwrap();
    sign("ann");
    let verify = ["-Y", "verify", "-f", "approvers", "-I", "ann@x", "-n", "tunerun-plan", "-s", "p.plan.sig"];
    ssh_keygen(&verify, Some("p.plan"));
    check(0, &[], "1 to change");
    check(2, &["--approvals", "2"], "approved by 1 of those");
    let first = std::fs::read_to_string(bed.dir.join("p.plan.sig")).unwrap();
    std::fs::remove_file(bed.dir.join("p.plan.sig")).unwrap();
    ssh_keygen(&["-q", "-Y", "sign", "-n", "tunerun-plan", "-f", "bob", "p.plan"], None);
    let second = std::fs::read_to_string(bed.dir.join("p.plan.sig")).unwrap();
    bed.file("p.plan.sig", &format!("{first}{second}"));
    let words = ["apply", &plan, "--require-approval", &approvers, "--approvals", "2", "--yes"];
    bed.tunerun(&words).ok();
    bed.tunerun(&["show", "last"]).ok().says("the plan is approved: signed with SHA256:").says("bob@x");
    // Another plan in the same file is not approved by them.
    bed.file("site.yml", &on_all("- copy: {dest: \"{{ root }}/f\", content: y}"));
    bed.tunerun(&["plan", &site, "-i", &hosts, "--out", &plan]).ok();
    check(2, &[], "is of another plan, or of this one before it was changed");
}
