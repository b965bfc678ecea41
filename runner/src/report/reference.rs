//! The reference of all modules as Markdown, from their schemas, documentation and examples.
use super::arguments::{Argument, arguments, paragraphs, summary};
use modules::{Entry, Scope};

/// Every module in the order of their names, with a list of them on top.
pub fn reference() -> String {
    let mut text = "# Modules\n\n\
         What each module does, its arguments and an example. Made from the modules' own schemas and documentation: \
         `tunerun doc MODULE` shows one of them.\n\n"
        .to_owned();
    for entry in modules::ALL {
        text.push_str(&format!("- [`{0}`](#{0}): {1}\n", entry.name, summary(entry)));
    }
    for entry in modules::ALL {
        text.push('\n');
        text.push_str(&one(entry));
    }
    text.push_str(&super::coverage::table());
    text
}

/// One module; none where no module has that name.
pub fn module(name: &str) -> Option<String> {
    modules::find(name).map(one)
}

fn one(entry: &Entry) -> String {
    let mut text = format!("## {}\n\n", entry.name);
    paragraphs(entry).iter().for_each(|paragraph| text.push_str(&format!("{paragraph}\n\n")));
    text.push_str(match entry.scope {
        Scope::Host => "Acts on a host.",
        Scope::Guest => "Acts on a guest.",
        Scope::Cluster => "Acts on a cluster.",
    });
    if let Some(argument) = entry.free_form {
        text.push_str(&format!(" Free text behind `{}:` is the argument `{argument}`.", entry.name));
    }
    text.push_str("\n\n");
    let rows: Vec<String> = arguments(entry).iter().map(row).collect();
    if rows.is_empty() {
        text.push_str("It takes no arguments.\n\n");
    } else {
        text.push_str("| argument | value | default | what it says |\n| --- | --- | --- | --- |\n");
        rows.iter().for_each(|row| text.push_str(row));
        text.push('\n');
    }
    text.push_str(&format!("```yaml\n{}\n```\n", entry.example.trim()));
    text
}

fn row(argument: &Argument) -> String {
    let also: Vec<String> = argument.also.iter().map(|other| format!("`{other}`")).collect();
    let also = if also.is_empty() { String::new() } else { format!(", also {}", also.join(", ")) };
    let default = match (&argument.default, argument.needed) {
        (_, true) => "required",
        (Some(default), false) => default,
        (None, false) => "",
    };
    format!(
        "| `{}`{also} | {} | {default} | {} |\n",
        argument.name,
        cell(&argument.value),
        cell(&argument.words)
    )
}

/// Text that may stand between bars.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::{module, reference};

    #[test]
    fn one_module_tells_arguments_names_and_an_example() {
        let text = module("sysctl").unwrap();
        assert!(text.starts_with("## sysctl\n\n"), "{text}");
        for part in [
            "| `name`, also `key` | text | required |",
            "| `state` | `present` or `absent` | `present` |",
            "`absent`: It is not.",
            "```yaml\n- name: ",
        ] {
            assert!(text.contains(part), "no {part} in\n{text}");
        }
        assert!(module("sysctrl").is_none());
    }

    #[test]
    fn parts_of_a_mapping_have_rows_of_their_own() {
        assert!(module("systemd_unit").unwrap().contains("| `drop_in.name` | text | required |"));
    }

    #[test]
    fn every_argument_has_a_row_of_four_cells() {
        let text = reference();
        for entry in modules::ALL {
            let schema = (entry.schema)();
            for name in schema["properties"].as_object().into_iter().flat_map(|all| all.keys()) {
                assert!(
                    module(entry.name).unwrap().contains(&format!("\n| `{name}`")),
                    "{} {name}",
                    entry.name
                );
            }
        }
        let (arguments, tunings) = text.split_once("\n# Coverage\n").unwrap();
        assert!(tunings.lines().filter(|line| line.starts_with('|')).count() > 115);
        for row in arguments.lines().filter(|line| line.starts_with('|')) {
            assert_eq!(row.replace("\\|", "").matches('|').count(), 5, "{row}");
        }
    }
}
