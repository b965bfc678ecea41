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
