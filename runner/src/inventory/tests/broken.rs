//! A broken inventory is an error with file and line, and every break is shown.
use super::{Paper, one, paths, shown};
use crate::diagnostic::Severity;
use crate::inventory::Inventory;
use proptest::prelude::*;

/// Loads one file and compares the place and message of each problem.
#[track_caller]
fn broken(name: &str, text: &str, wanted: &[&str]) {
    let Err(problems) = one(name, text) else { panic!("{text:?} was read") };
    let got: Vec<String> = problems
        .iter()
        .filter(|problem| problem.severity == Severity::Error)
        .map(|problem| match &problem.span {
            Some(span) => format!("{span}: {}", problem.message),
            None => problem.message.clone(),
        })
        .collect();
    assert_eq!(got, wanted, "\n{}", shown(&problems));
    assert!(problems.iter().all(|problem| problem.help.is_some()), "no way out: {problems:?}");
}

#[test]
fn broken_ini() {
    for (text, wanted) in [
        ("[a:children]\nb\n", "h:2:1: `[a:children]` names the group `b`, which is not defined"),
        ("[a]\nx\n[b:vars]\nv=1\n", "h:3:2: variables for the group `b`, which is not defined"),
        ("[a:children]\na\n", "h:2:1: group `a` is made its own child"),
        ("[a:children]\nb\n[b:children]\nc\n[c:children]\na\n", "h:6:1: group `a` becomes its own ancestor"),
        ("[a:children]\nall\n[b]\nx", "h:2:1: `all` cannot be a child of `a`: it holds every group"),
        ("[a:vras]\nx=1\n", "h:1:4: a section cannot hold `vras`"),
        ("[a b]\nx\n", "h:1:1: not a section header: there is a blank in it"),
        ("[a\nx\n", "h:1:1: not a section header: the `]` is missing"),
        ("[]\n", "h:1:1: not a section header: the group has no name"),
        ("[a:]\n", "h:1:1: not a section header: nothing after the `:`"),
        ("[a:b:c]\n", "h:1:1: not a section header: there are two `:` in it"),
        ("[a] x\n", "h:1:1: not a section header: `x` after the `]`"),
        ("[a]\nx v='1\n", "h:2:5: a single quote that nothing closes"),
        ("[a]\nx v=\"1\n", "h:2:5: a double quote that nothing closes"),
        ("[a]\nx v=1\\", "h:2:6: a backslash with nothing after it"),
        ("[a]\nx y\n", "h:2:3: `y` is not a `name=value` setting"),
        ("[a]\nx =y\n", "h:2:3: `=y` is not a `name=value` setting"),
        (
            "[a]\nx v=1 ; old\n",
            "h:2:7: `;` is not a `name=value` setting|h:2:9: `old` is not a `name=value` setting",
        ),
        ("[a]\nx v=1 v=2\n", "h:2:7: `v` is set twice for this host"),
        ("[a]\nansible_user=root\n", "h:2:1: `ansible_user=root` stands where a host belongs"),
        ("[a]\nx[3:1]\n", "h:2:1: the range `[3:1]` ends before it begins"),
        ("[a]\nx[1-3]\n", "h:2:1: `[1-3]` is not a range"),
        ("[a]\nx:y\n", "h:2:1: `y` is not a port"),
        ("[a]\nx:\n", "h:2:1: `x:` ends with a colon"),
        ("[a]\nx\n[a:vars]\nv\n", "h:4:1: a variable without a value: `v`"),
        ("[a]\nx\n[a:vars]\n=v\n", "h:4:1: a value without a name"),
        ("[a]\nx\n[a:vars]\nv=1\nv=2\n", "h:5:1: `v` of group `a` is set twice"),
        (
            "[a]\nx\n[a:vars]\nansible_group_priority=high\n",
            "h:4:24: `ansible_group_priority` is not a whole number",
        ),
        ("[a]\nx\n[b:children]\na v=1\n", "h:4:1: `a v=1` is not a group name"),
        ("a\n\n  b v='\n c[\n", "h:3:7: a single quote that nothing closes|h:4:2: `[` is not closed"),
    ] {
        broken("h", text, &wanted.split('|').collect::<Vec<_>>());
    }
}

#[test]
fn broken_yaml() {
    for (text, wanted) in [
        ("", "h.yml:1:1: an empty inventory"),
        ("- a\n- b\n", "h.yml:1:1: a YAML inventory is a mapping of groups, this is a list"),
        ("hosts:\n  a:\n", "h.yml:1:1: `hosts` stands where a group belongs"),
        ("plugin: aws_ec2\n", "h.yml:1:1: the inventory plugin `aws_ec2` cannot be run here"),
        ("all:\n  hots:\n    a:\n", "h.yml:2:3: the group `all` cannot hold `hots`"),
        ("all:\n  mtu: 9000\n", "h.yml:2:3: the group `all` cannot hold `mtu`"),
        (
            "all:\n  hosts:\n    - a\n    - b\n",
            "h.yml:3:5: `hosts` of the group `all` is a list, not a mapping",
        ),
        ("all:\n  vars: [a]\n", "h.yml:2:9: `vars` of the group `all` is a list, not a mapping"),
        ("web: [a]\n", "h.yml:1:6: the group `web` is a list, not a mapping"),
        (
            "all:\n  hosts:\n    a: 5\n",
            "h.yml:3:8: the host `a` is a whole number, not a mapping of variables",
        ),
        ("all:\n  hosts:\n    5:\n", "h.yml:3:5: the name of a host is text, this is a whole number"),
        ("all:\n  hosts:\n    a[1:]:\n", "h.yml:3:5: the range `[1:]` has no end"),
        (
            "a:\n  children:\n    b:\n      children:\n        a:\n",
            "h.yml:3:5: group `b` becomes its own ancestor",
        ),
        (
            "all:\n  vars:\n    ansible_group_priority: x\nb:\n  vars: 5\n",
            "h.yml:3:29: `ansible_group_priority` is not a whole number|h.yml:5:9: `vars` of the group `b` is a whole number, not a mapping",
        ),
    ] {
        broken("h.yml", text, &wanted.split('|').collect::<Vec<_>>());
    }
    let Err(problems) = one("h.yml", "all:\n  hosts:\n    a: {x: 1, x: 2}\n  vars: {y: 1}\n") else {
        panic!()
    };
    assert!(shown(&problems).contains("h.yml:3"), "{}", shown(&problems));
}

#[test]
fn a_problem_is_rendered_with_its_line_and_a_suggestion() {
    let Err(problems) = one("inventories/prod.ini", "[osds]\nosd1\n[ceph:children]\nosd\n") else { panic!() };
    let text = shown(&problems);
    for wanted in ["inventories/prod.ini:4:1", "osd", "did you mean `osds`?"] {
        assert!(text.contains(wanted), "{text}");
    }
}

#[test]
fn what_is_odd_is_a_warning() {
    for (text, wanted) in [
        ("<mgmt_if_ip>\n", "h:1:1: `<` in the host name `<mgmt_if_ip>`"),
        ("a pw=abc#1\n", "h:1:9: `#` begins a comment here"),
        ("a\nb\na\n", "h:3:1: host `a` is listed twice in one section"),
        ("a my-var=1\n", "h:1:3: no expression can name the variable `my-var`"),
        ("[a]\na\n", "h:2:1: `a` names both a host and a group"),
        ("[a]\nx v=1\n[b]\nx v=2\n", "h:4:3: `v` of host `x` is set again, to another value"),
        ("[a]\nx v=1\n[b]\nx v=1\n", ""),
        (
            "[a]\nx\n[a:vars]\nnic=eth0 # first\nmtu=9000 # jumbo\nq='a' # b\n",
            "h:4:10: this is part of the value of `nic`, not a comment",
        ),
        ("[a-b]\nx\n", ""),
    ] {
        let (inventory, warnings) = one("h", text).unwrap_or_else(|problems| panic!("{}", shown(&problems)));
        let got: Vec<String> = warnings
            .iter()
            .map(|warning| format!("{}: {}", warning.span.as_ref().unwrap(), warning.message))
            .collect();
        assert_eq!(got.join("|"), wanted);
        assert!(inventory.hosts().next().is_some());
    }
}

#[test]
fn broken_files_and_programs() {
    for (files, wanted) in [
        (&[("other", "")][..], "no inventory at inv"),
        (&[("inv/x.bak", "a"), ("inv/.y", "b")], "no inventory in the folder inv"),
        (&[("inv", "DENIED")], "inv cannot be read: permission denied"),
        (&[("inv", "#!/bin/sh\n")], "inv is a program but may not be run"),
        (&[("inv", "#!run\n")], "inv --list failed (exit status: 2)"),
        (
            &[("inv", "#!run\n--list: hello\n")],
            "inv --list did not print JSON: expected value at line 1 column 1",
        ),
        (&[("inv", "#!run\n--list: []\n")], "the inventory that inv gives is not an object of groups"),
        (
            &[("inv", "#!run\n--list: {\"g\": {\"hosts\": \"a\"}, \"_meta\": {}}\n")],
            "the inventory that inv gives has `hosts` of the group `g` that are not a list of names",
        ),
        (&[("inv", "#!run\n--list: {\"g\": [\"a\"]}\n")], "inv --host a failed (exit status: 2)"),
        (
            &[("inv", "#!run\n--list: {\"g\": {\"x\": 1}}\n")],
            "the inventory that inv gives has a group `g` without `hosts`, `vars` or `children`",
        ),
        (
            &[("inv", "$ANSIBLE_VAULT;1.1;AES256\nwrong\n")],
            "inv is vaulted and cannot be decrypted: the password is not right",
        ),
        (&[("inv", "a\n"), ("group_vars/all", "- x\n")], "a file of variables is a mapping, this is a list"),
        (
            &[("inv", "a\n"), ("host_vars/a.yml", "DENIED")],
            "host_vars/a.yml cannot be read: permission denied",
        ),
    ] {
        let Err(problems) = Inventory::load(&paths(&["inv"]), &Paper::with(files), None) else {
            panic!("{files:?} was read")
        };
        assert_eq!(problems[0].message, wanted);
        assert!(problems[0].help.is_some(), "{problems:?}");
    }
    let Err(problems) = one("inv.toml", "[a]\n") else { panic!() };
    assert_eq!(problems[0].message, "inv.toml is TOML, which is not read");
}

#[test]
fn bytes_that_are_not_utf8_are_errors_outside_of_comments() {
    let mut paper = Paper::default();
    paper.0.insert("h".into(), b"# caf\xe9\na v=1\n".to_vec());
    assert!(Inventory::load(&paths(&["h"]), &paper, None).is_ok());
    paper.0.insert("h".into(), b"# x\na v=caf\xe9\n".to_vec());
    let problems = Inventory::load(&paths(&["h"]), &paper, None).unwrap_err();
    assert_eq!(problems[0].span.as_ref().unwrap().to_string(), "h:2:8");
}

proptest! {
    /// Whatever stands in a file: no panic, and never an error without a way out; what is read can be printed.
    #[test]
    fn any_text_is_read_or_refused(text in "([\\[\\]:=#;'\"\\\\ \t\n{},a-c0-2é\u{feff}-]|:vars\\]\n|:children\\]\n|\n\\[a|hosts:\n ){0,40}") {
        for name in ["h", "h.yml"] {
            match one(name, &text) {
                Ok((inventory, _)) => {
                    let listed = inventory.list_json();
                    prop_assert!(listed["_meta"]["hostvars"].is_object());
                }
                Err(problems) => {
                    prop_assert!(problems.iter().any(|problem| problem.severity == Severity::Error));
                    shown(&problems);
                }
            }
        }
    }
}
