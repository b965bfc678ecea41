//! Names, examples, schemas and documentation.
use crate::trial::{example, none_wrong};
use modules::{ALL, find};
use serde_json::Value as Json;

#[test]
fn the_list_is_sorted_and_each_name_is_found() {
    assert!(ALL.windows(2).all(|pair| pair[0].name < pair[1].name), "the list of modules is not in order");
    for entry in ALL {
        assert_eq!(find(entry.name).map(|found| found.name), Some(entry.name));
    }
}

#[test]
fn every_module_is_tried_on_hosts() {
    let without: Vec<&str> =
        ALL.iter().filter(|entry| (entry.samples)().is_empty()).map(|entry| entry.name).collect();
    assert!(without.is_empty(), "modules without samples: {without:?}");
    for entry in ALL {
        let mut abouts: Vec<&str> = (entry.samples)().iter().map(|sample| sample.about).collect();
        let many = abouts.len();
        abouts.sort_unstable();
        abouts.dedup();
        assert_eq!(abouts.len(), many, "{}: two samples are about the same", entry.name);
    }
}

#[test]
fn examples_fit_their_schema() {
    let mut wrong = Vec::new();
    for entry in ALL {
        let args = example(entry);
        let schema = (entry.schema)();
        for name in args.as_object().into_iter().flat_map(|args| args.keys()) {
            if schema["properties"].get(name).is_none() {
                wrong.push(format!("{}: the example gives `{name}`, which is no argument", entry.name));
            }
        }
        if let Err(why) = (entry.parse)(args) {
            wrong.push(format!("{}: the example is not taken: {why}", entry.name));
        }
    }
    none_wrong(wrong);
}

#[test]
fn every_argument_is_documented() {
    let mut wrong = Vec::new();
    for entry in ALL {
        let schema = (entry.schema)();
        let described = |schema: &Json| {
            schema.get("description").and_then(Json::as_str).is_some_and(|text| text.trim().len() > 3)
        };
        if !described(&schema) {
            wrong.push(format!("{}: the module says not what it does", entry.name));
        }
        for (name, argument) in schema["properties"].as_object().into_iter().flatten() {
            if !described(argument) {
                wrong.push(format!("{}: `{name}` is not documented", entry.name));
            }
        }
        for (other, own) in entry.aliases {
            if schema["properties"].get(own).is_none() {
                wrong.push(format!("{}: `{other}` stands for `{own}`, which is no argument", entry.name));
            }
        }
        if let Some(own) = entry.free_form.filter(|own| schema["properties"].get(own).is_none()) {
            wrong.push(format!("{}: free text stands for `{own}`, which is no argument", entry.name));
        }
    }
    none_wrong(wrong);
}

#[test]
fn unknown_arguments_are_refused() {
    for entry in ALL {
        let mut args = example(entry);
        let open =
            (entry.schema)().get("additionalProperties").is_some_and(|more| *more != Json::Bool(false));
        if open {
            continue;
        }
        args["no_such_argument"] = Json::from(1);
        assert!((entry.parse)(args).is_err(), "{} takes an argument that nobody knows", entry.name);
    }
}

#[test]
fn what_is_called_cluster_is_how_a_cluster_is_reached() {
    // Its fields are filled from the variables `ceph_*`, by the argument's name.
    for entry in modules::ALL {
        let schema = (entry.schema)();
        let Some(cluster) = schema["properties"].get("cluster") else { continue };
        let meant = cluster.to_string().contains("\"#/$defs/Cluster\"");
        assert!(meant, "{}: `cluster` is something else: {cluster}", entry.name);
    }
}
