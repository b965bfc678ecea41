//! Which value wins, where it was written, and which files are read.
use super::{Paper, ini, one, paths, shown};
use crate::inventory::{Inventory, InventorySource, resolve};
use serde_json::json;
use std::path::Path;

/// All nine places of the table in the module's documentation, weakest first.
#[test]
fn every_place_beats_the_ones_before_it() {
    const PLACES: usize = 9;
    let inventory_text = |upto: usize| {
        let set = |place: usize| if place < upto { format!("v={place}\n") } else { "w=0\n".to_owned() };
        let host = if upto > 6 { "h v=6\n" } else { "h\n" };
        format!("[g]\n{host}[all:vars]\n{}[g:vars]\n{}", set(0), set(1))
    };
    for upto in 1..=PLACES {
        let mut files = vec![("inv/hosts".to_owned(), inventory_text(upto))];
        for (place, file) in [
            (2, "inv/group_vars/all"),
            (3, "play/group_vars/all.yml"),
            (4, "inv/group_vars/g.yaml"),
            (5, "play/group_vars/g.json"),
            (7, "inv/host_vars/h"),
            (8, "play/host_vars/h/main.yml"),
        ] {
            if place < upto {
                files.push((file.to_owned(), format!("{{\"v\": {place}}}")));
            }
        }
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (&**path, &**text)).collect();
        let loaded = Inventory::load(&paths(&["inv/hosts"]), &Paper::with(&files), Some(Path::new("play")));
        let (inventory, _) = loaded.unwrap_or_else(|problems| panic!("{}", shown(&problems)));
        let host = inventory.host("h").unwrap();
        assert_eq!(inventory.vars(host)["v"].value, json!(upto - 1));
        assert_eq!(inventory.var(host, "v"), Some(inventory.vars(host)["v"]));
    }
}

#[test]
fn depth_then_priority_then_name_orders_groups() {
    let text = "
[top:children]
mid
[mid:children]
b
a
[a]
h
[b]
h
[top:vars]
x=top
y=top
z=top
[mid:vars]
x=mid
y=mid
[a:vars]
x=a
n=a
[b:vars]
x=b
n=b
";
    let inventory = ini(text);
    let value = |inventory: &Inventory, name: &str| {
        let host = inventory.host("h").unwrap();
        inventory.var(host, name).unwrap().value.as_str().unwrap().to_owned()
    };
    assert_eq!(["x", "y", "z", "n"].map(|name| value(&inventory, name)), ["b", "mid", "top", "b"]);
    assert_eq!(inventory.groups_of(inventory.host("h").unwrap()), ["a", "b", "mid", "top"]);
    let inventory =
        ini(&format!("{text}[top:vars]\nansible_group_priority=99\n[a:vars]\nansible_group_priority=2\n"));
    assert_eq!(["x", "y", "z", "n"].map(|name| value(&inventory, name)), ["a", "mid", "top", "a"]);
    assert!(inventory.var(inventory.host("h").unwrap(), "ansible_group_priority").is_none());
}

#[test]
fn variables_remember_their_place_and_trust() {
    let text = "all:\n  hosts:\n    h:\n      a: '{{ x }}'\n      b: !unsafe '{{ x }}'\n      c: !vault |\n        $ANSIBLE_VAULT;1.1;AES256\n        3132\n";
    let (inventory, _) = one("h.yml", text).unwrap();
    let host = inventory.host("h").unwrap();
    let vars = inventory.vars(host);
    assert_eq!(vars["a"].origin.to_string(), "h.yml:4:10");
    assert!(vars["a"].trusted);
    assert_eq!((&vars["b"].value, vars["b"].trusted), (&json!("{{ x }}"), false));
    assert_eq!(vars["c"].value, json!({"__ansible_vault": "$ANSIBLE_VAULT;1.1;AES256\n3132\n"}));
    assert_eq!(inventory.host_json(host)["b"], json!({"__ansible_unsafe": "{{ x }}"}));
    let inventory = ini("h v='a b'\n[all:vars]\nw = [1]\n");
    let host = inventory.host("h").unwrap();
    assert_eq!(inventory.var(host, "v").unwrap().origin.to_string(), "hosts.ini:1:3");
    assert_eq!(inventory.var(host, "w").unwrap().origin.to_string(), "hosts.ini:3:5");
    assert_eq!(inventory.host_origin(host).to_string(), "hosts.ini:1:1");
}

#[test]
fn files_of_variables_are_found_as_ansible_finds_them() {
    let paper = Paper::with(&[
        ("inv", "[g]\nh\n"),
        ("group_vars/g/b", "v: b\n"),
        ("group_vars/g/a.yml", "v: a\nw: a\n"),
        ("group_vars/g/sub/c.yaml", "u: c\n"),
        ("group_vars/g/no.txt", "v: [\n"),
        ("group_vars/g/.hid", "v: [\n"),
        ("group_vars/g/x~", "v: [\n"),
        ("group_vars/g.yml", "v: passed over\n"),
        ("group_vars/other.yml", "v: [\n"),
        ("group_vars/all.yaml", "$ANSIBLE_VAULT;1.1;AES256\nsecret: yes\n"),
        ("host_vars/h.json", "{\"j\": [1, null]}"),
        ("host_vars/empty", ""),
        ("group_vars/al.yml", "v: [\n"),
    ]);
    let (inventory, warnings) = Inventory::load(&paths(&["inv"]), &paper, Some(Path::new(".")))
        .unwrap_or_else(|problems| panic!("{}", shown(&problems)));
    let host = inventory.host("h").unwrap();
    assert_eq!(
        inventory.host_json(host),
        json!({"secret": true, "v": "b", "w": "a", "u": "c", "j": [1, null]})
    );
    let messages: Vec<&str> = warnings.iter().map(|warning| warning.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "group_vars/g.yml is not read, since group_vars/g exists",
            "group_vars/al.yml is not read: nothing is named `al`"
        ]
    );
}

#[test]
fn sources_are_merged_in_order() {
    let paper = Paper::with(&[
        ("a/hosts", "[g]\nh v=1\n"),
        ("a/group_vars/g", "w: 1\n"),
        ("b/hosts.yml", "g:\n  hosts:\n    h: {v: 2}\n    i:\n"),
        ("b/group_vars/g", "w: 2\n"),
    ]);
    for (order, wanted) in [(["a/hosts", "b"], 2), (["b", "a/hosts"], 1)] {
        let mut sources = paths(&order);
        sources.push(InventorySource::Hosts("solo:2200, h,".into()));
        let (inventory, _) = Inventory::load(&sources, &paper, None).unwrap();
        let host = inventory.host("h").unwrap();
        assert_eq!(inventory.host_json(host), json!({"v": wanted, "w": wanted}));
        assert_eq!(inventory.groups_of(host), ["g"]);
        let solo = inventory.host("solo").unwrap();
        assert_eq!(inventory.groups_of(solo), ["ungrouped"]);
        assert_eq!(inventory.host_json(solo), json!({"ansible_port": 2200}));
    }
}

#[test]
fn content_tells_the_form_where_the_ending_does_not() {
    for (name, text) in [
        ("hosts", "# c\n---\nall:\n  hosts:\n    h:\n"),
        ("hosts", "all:   # all of them\n  hosts:\n    h:\n"),
        ("hosts", "{\"all\": {\"hosts\": {\"h\": {}}}}"),
        ("hosts", "{\"all\": {\"hosts\": [\"h\"]}}"),
        ("hosts.json", "{\"_meta\": {\"hostvars\": {}}, \"all\": {\"hosts\": [\"h\"]}}"),
        ("hosts", "h\n"),
        ("hosts", "; c\nh a=b:\n"),
        ("hosts", "h:22\n"),
        ("hosts.prod", "[g]\nh"),
        ("hosts", "\u{feff}[g]\r\nh a=1\r\n"),
    ] {
        let (inventory, _) = one(name, text).unwrap_or_else(|problems| panic!("{}", shown(&problems)));
        let names: Vec<&str> = inventory.hosts().map(|host| inventory.host_name(host)).collect();
        assert_eq!(names, ["h"], "{text:?}");
    }
}

#[test]
fn a_program_gives_an_inventory() {
    let with_meta = r#"#!run
--list: {"g": {"hosts": ["a", "b"], "vars": {"v": "{{ x }}", "u": {"__ansible_unsafe": "{{ y }}"}}}, "p": {"children": ["g"]}, "_meta": {"hostvars": {"a": {"n": 1}}}}
"#;
    let without = "#!run\n--list: {\"g\": [\"a\"]}\n--host a: {\"n\": 2}\n";
    let paper = Paper::with(&[("one", with_meta), ("two", without)]);
    let (inventory, _) = Inventory::load(&paths(&["one"]), &paper, None).unwrap();
    let host = inventory.host("a").unwrap();
    assert_eq!(inventory.groups_of(host), ["g", "p"]);
    assert!(inventory.var(host, "v").unwrap().trusted);
    assert!(!inventory.var(host, "u").unwrap().trusted);
    assert_eq!(inventory.host_json(host)["n"], 1);
    let (inventory, _) = Inventory::load(&paths(&["two"]), &paper, None).unwrap();
    assert_eq!(inventory.host_json(inventory.host("a").unwrap()), json!({"n": 2}));
}

#[test]
fn a_name_finds_its_inventory() {
    let paper = Paper::with(&[
        ("inventories/prod.yaml", "x"),
        ("inventories/stage.ini", "x"),
        ("inventories/test/hosts", "x"),
        ("here", "x"),
    ]);
    let find = |text| resolve(text, Path::new("inventories"), &paper);
    let path = |path: &str| Ok(InventorySource::Path(path.into()));
    assert_eq!(find("prod"), path("inventories/prod.yaml"));
    assert_eq!(find("stage"), path("inventories/stage.ini"));
    assert_eq!(find("test"), path("inventories/test"));
    assert_eq!(find("here"), path("here"));
    assert_eq!(find("inventories/test/hosts"), path("inventories/test/hosts"));
    assert_eq!(find("a,b"), Ok(InventorySource::Hosts("a,b".into())));
    let problem = find("pord").unwrap_err().remove(0);
    assert_eq!(problem.message, "no inventory `pord`");
    assert_eq!(
        problem.notes,
        ["tried: pord, inventories/pord, inventories/pord.yaml, inventories/pord.yml, inventories/pord.ini"]
    );
    assert_eq!(problem.help.unwrap(), "did you mean `prod`?");
    let problem = find("web1.example.org").unwrap_err().remove(0);
    assert!(problem.help.unwrap().ends_with("one host is written with a comma: `-i web1.example.org,`"));
    assert!(find(" ").is_err());
}
