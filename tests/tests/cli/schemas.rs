//! The schemas that `tunerun schema` prints: what the repository holds fits them, and what is broken does not.
use jsonschema::Validator;
use serde_json::{Value as Json, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use tunerun::source::Source;

fn validator(of: &str) -> (Validator, Json) {
    let output = Command::new(tests::program::tunerun()).args(["schema", of]).output().unwrap();
    let schema: Json = serde_json::from_slice(&output.stdout).unwrap();
    jsonschema::meta::validate(&schema).unwrap();
    (jsonschema::validator_for(&schema).unwrap(), schema)
}

/// A YAML file as JSON; nothing where it is not one.
fn read(path: &Path) -> Option<Json> {
    let text = std::fs::read_to_string(path).ok()?;
    let node = tunerun::yaml::parse_one(&Source::new(path.display().to_string(), text)).ok()?;
    let mut value = node.to_json();
    on(&mut value);
    Some(value)
}

/// Editors read YAML 1.2, where `on` is a word and no boolean.
fn on(value: &mut Json) {
    match value {
        Json::Object(map) => {
            if let Some(found) = map.remove("true") {
                map.insert("on".to_owned(), found);
            }
            map.values_mut().for_each(on);
        }
        Json::Array(list) => list.iter_mut().for_each(on),
        _ => {}
    }
}

fn faults(validator: &Validator, value: &Json) -> Vec<String> {
    validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All YAML files below a folder.
fn below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.extension().and_then(|end| end.to_str()) {
            _ if path.is_dir() => below(&path, found),
            Some("yaml" | "yml") => found.push(path),
            _ => {}
        }
    }
}

#[test]
fn playbooks_of_the_repository_fit() {
    let (playbooks, schema) = validator("playbook");
    let items =
        jsonschema::validator_for(&json!({"$ref": "#/$defs/items", "$defs": schema["$defs"]})).unwrap();
    let mut files = Vec::new();
    below(&root().join("playbooks"), &mut files);
    below(&root().join("tests/data/playbooks/site"), &mut files);
    let (mut plays, mut tasks) = (0, 0);
    let mut wrong = Vec::new();
    for path in &files {
        let Some(value @ Json::Array(_)) = read(path) else { continue };
        let is_play = value[0].get("hosts").is_some() || value[0].get("import_playbook").is_some();
        let validator = if is_play { &playbooks } else { &items };
        *(if is_play { &mut plays } else { &mut tasks }) += 1;
        wrong
            .extend(faults(validator, &value).into_iter().map(|fault| format!("{} {fault}", path.display())));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(plays >= 10 && tasks >= 1, "{plays} playbooks, {tasks} files of tasks");
}

#[test]
fn inventories_of_the_repository_fit() {
    let (inventories, _) = validator("inventory");
    let mut files = Vec::new();
    below(&root().join("inventories"), &mut files);
    files.push(root().join("tests/data/corpus/inventory/05-seapath-cluster/inventory.yaml"));
    assert!(files.len() >= 3);
    for path in files {
        let value = read(&path).unwrap();
        let wrong = faults(&inventories, &value);
        assert!(wrong.is_empty(), "{}:\n{}", path.display(), wrong.join("\n"));
    }
}

#[test]
fn examples_of_modules_fit() {
    let (_, schema) = validator("playbook");
    let items =
        jsonschema::validator_for(&json!({"$ref": "#/$defs/items", "$defs": schema["$defs"]})).unwrap();
    for entry in modules::ALL {
        let node = tunerun::yaml::parse_one(&Source::new(entry.name, entry.example)).unwrap();
        let value = match node.to_json() {
            list @ Json::Array(_) => list,
            task => json!([task]),
        };
        let wrong = faults(&items, &value);
        assert!(wrong.is_empty(), "{}: {}", entry.name, wrong.join("\n"));
    }
}

#[test]
fn what_is_broken_does_not_fit() {
    let (playbooks, _) = validator("playbook");
    let cases = root().join("tests/cases/broken");
    for case in [
        "guard-words",
        "rollout-words",
        "gate-words",
        "risks",
        "many-at-once",
        "play-without-hosts",
        "mapping-as-playbook",
        "units",
    ] {
        let value = read(&cases.join(case).join("site.yaml")).unwrap();
        assert!(!playbooks.is_valid(&value), "{case} fits");
    }
    let (inventories, _) = validator("inventory");
    for case in ["inventory-keys", "connection-words"] {
        let value = read(&cases.join(case).join("hosts.yaml")).unwrap();
        assert!(!inventories.is_valid(&value), "{case} fits");
    }
}

/// One word each that is wrong, and is the only thing that is.
#[test]
fn each_wrong_word_is_found() {
    let (playbooks, _) = validator("playbook");
    let play = |task: Json| json!([{"hosts": "all", "tasks": [task]}]);
    let fine = play(json!({"sysctl": {"name": "vm.swappiness", "value": 1}, "become": "{{ root }}"}));
    assert_eq!(faults(&playbooks, &fine), Vec::<String>::new());
    for task in [
        json!({"sysctl": {"nam": "vm.swappiness", "value": 1}}),
        json!({"sysctl": {"name": "vm.swappiness", "state": "presnt"}}),
        json!({"sysctl": {"name": "x"}, "become": "perhaps"}),
        json!({"sysctl": {"name": "x"}, "notfy": "x"}),
        json!({"sysctl": {"name": "x"}, "retries": "many"}),
        json!({"sysctl": {"name": "x"}, "accept_risk": {"none_such": "x"}}),
        json!({"block": {"sysctl": {}}}),
    ] {
        assert!(!playbooks.is_valid(&play(task.clone())), "{task} fits");
    }
}

#[test]
fn a_plan_fits_its_schema() {
    let (plans, schema) = validator("plan");
    let folder = std::env::temp_dir().join(format!("tunerun-plan-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let playbook = folder.join("site.yaml");
    let text = "- hosts: all\n  tasks:\n    - copy: {dest: /tmp/tunerun-none/x, content: y}\n    - command: echo a\n    - debug: {msg: \"{{ nothing }}\"}\n";
    std::fs::write(&playbook, text).unwrap();
    std::fs::write(folder.join("hosts.yaml"), "all: {hosts: {a: {ansible_connection: local}}}\n").unwrap();
    let output = Command::new(tests::program::tunerun())
        .args(["plan", "site.yaml", "-i", "hosts.yaml", "--format", "json"])
        .current_dir(&folder)
        .env("TUNERUN_RUNS", folder.join("runs"))
        .output()
        .unwrap();
    let _ = std::fs::remove_dir_all(&folder);
    let plan: Json = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|why| panic!("{why}: {}", String::from_utf8_lossy(&output.stderr)));
    assert_eq!(faults(&plans, &plan), Vec::<String>::new());
    assert!(plan["plans"].as_object().is_some_and(|plans| !plans.is_empty()), "{plan}");
    let mut broken = plan;
    broken["format"] = json!("one");
    assert!(!plans.is_valid(&broken));
    assert!(schema["properties"]["made_from"]["description"].is_string());
}
