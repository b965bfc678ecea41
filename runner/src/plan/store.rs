//! The text of a saved plan, and its own digest.
use super::{FORMAT, Saved};
use crate::diagnostic::Diagnostic;
use modules::vocabulary::Digest;

/// The text of a plan; its `id` is made here.
pub fn to_text(saved: &mut Saved) -> String {
    saved.format = FORMAT;
    saved.id = id(saved);
    serde_json::to_string_pretty(saved).unwrap_or_default() + "\n"
}

/// The digest of all but the `id` itself.
fn id(saved: &Saved) -> String {
    let bare = Saved { id: String::new(), ..saved.clone() };
    Digest::of(&serde_json::to_vec(&bare).unwrap_or_default()).to_string()
}

/// Reads a plan's text.
///
/// # Errors
/// It is no plan, of a newer format, or changed since it was saved.
pub fn parse(name: &str, text: &str) -> Result<Saved, Box<Diagnostic>> {
    let wrong = |words: String| Box::new(Diagnostic::error(format!("{name} {words}"), None));
    const MAKE: &str = "make one by `tunerun plan PLAYBOOK -i INVENTORY --out FILE`";
    let json: serde_json::Value = serde_json::from_str(text)
        .map_err(|_| Box::new(wrong("is no plan, or one that was cut off".to_owned()).help(MAKE)))?;
    match json.get("format").and_then(serde_json::Value::as_u64) {
        Some(format) if format == u64::from(FORMAT) => {}
        Some(format) => {
            return Err(Box::new(
                wrong(format!("has the format {format}, and this program knows {FORMAT}"))
                    .help("plan again, or use the tunerun that made it"),
            ));
        }
        None => {
            return Err(Box::new(wrong("is no plan: it does not say its format".to_owned()).help(MAKE)));
        }
    }
    let saved: Saved =
        serde_json::from_value(json).map_err(|why| wrong(format!("is damaged: {why}; plan again")))?;
    if id(&saved) != saved.id {
        return Err(Box::new(
            wrong("was changed after it was saved: what it holds is not what was reviewed".to_owned())
                .help("plan again"),
        ));
    }
    Ok(saved)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Asks, Origin, OriginKind, Part};

    fn saved() -> Saved {
        let mut saved = Saved { by: "root on here".into(), ..Saved::default() };
        let part = Part {
            key: "0/1".into(),
            title: "set it".into(),
            label: None,
            module: "sysctl".into(),
            host: None,
            cluster: None,
            what: Asks::Late { on: "`ask`".into() },
        };
        saved.made_from.push(Origin {
            kind: OriginKind::Playbook,
            name: "site.yaml".into(),
            digest: "aa".into(),
        });
        let digest = Digest::of(b"x");
        saved.hosts.insert("osd1".into(), digest);
        saved.plans.insert(digest.to_string(), vec![part]);
        saved
    }

    #[test]
    fn a_plan_survives_its_file() {
        let mut made = saved();
        let text = to_text(&mut made);
        assert_eq!(parse("p", &text).unwrap(), made);
        assert_eq!(made.open(), ["set it (decided after `ask`)"]);
        assert!(made.moved(&made.made_from).is_empty());
        let mut now = made.made_from.clone();
        now[0].digest = "bb".into();
        assert_eq!(made.moved(&now), ["playbook site.yaml has changed"]);
    }

    #[test]
    fn what_was_edited_or_is_none_is_refused() {
        let text = to_text(&mut saved());
        let edited = text.replace("set it", "set other");
        assert!(parse("p", &edited).unwrap_err().message.contains("was changed after it was saved"));
        let newer = text.replace("\"format\": 1", "\"format\": 2");
        assert!(parse("p", &newer).unwrap_err().message.contains("has the format 2"));
        for none in ["", "{}", "[]", "- hosts: all"] {
            assert!(parse("p", none).unwrap_err().message.contains("is no plan"), "{none}");
        }
    }
}
