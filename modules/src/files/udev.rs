//! Lines of our own in files of udev's rules, and what must lie between a rule that goes and a value that comes back.
use super::place::known;
use super::text::{TextFile, ended};
use crate::vocabulary::{Act, Back, Change, Claim, Diff, Facts, HostPath, Row, Step, Stop};

/// One line of ours: what it begins with tells it from all others.
pub(crate) struct Rule {
    /// The line up to what it sets.
    pub head: String,
    /// The rest of it.
    pub rest: String,
    /// What the line is called in the claim.
    pub name: String,
}

/// Adds the steps that make a file hold these lines; all other lines stay. Says whether that is anything.
///
/// They must come behind the steps that write what the rules say: an undo goes the other way, and takes the rules away
/// before it writes the old values. udev looks at its files again after some seconds only, and events may still wait in
/// its queue, so that between the two it is told to read them and waited for.
pub(crate) fn keep(facts: &Facts, path: &str, rules: &[Rule], change: &mut Change) -> Result<bool, Stop> {
    let path = known(path)?;
    let mut puts = Change::default();
    for rule in rules {
        let mut planned = facts.clone();
        planned.plan(Default::default(), puts.steps.iter().cloned());
        put(&planned, &path, rule, &mut puts)?;
    }
    let changed = !puts.steps.is_empty();
    if changed {
        change.steps.push(settled());
    }
    change.steps.extend(puts.steps);
    change.diff.extend(puts.diff.into_iter().fold(Vec::new(), shown_once));
    change.notes.extend(puts.notes);
    Ok(changed)
}

fn put(facts: &Facts, path: &HostPath, rule: &Rule, change: &mut Change) -> Result<(), Stop> {
    let text = TextFile::read(facts, path)?;
    let after = edited(&text.text, rule);
    text.put(facts, Claim::part(path, &rule.name), &after, change)?;
    Ok(())
}

/// Adds a diff to those before it, as one where it goes on in the same file.
fn shown_once(mut shown: Vec<Diff>, diff: Diff) -> Vec<Diff> {
    if let Diff::Text { title, after, .. } = &diff
        && let Some(Diff::Text { title: last, after: end, .. }) = shown.last_mut()
        && last == title
    {
        end.clone_from(after);
    } else {
        shown.push(diff);
    }
    shown
}

/// udev reads its rules and is done with its events.
fn settled() -> Step {
    let row = || Row::new("udev-settled", Vec::<String>::new());
    let back = Back::Exactly(Act::Call { row: row(), spoils: Vec::new() });
    Step::call(Claim::new("udev", "settled"), row(), Vec::new(), back)
}

/// The text with one line set; all other bytes stay.
fn edited(text: &str, rule: &Rule) -> String {
    let line = format!("{}{}\n", rule.head, rule.rest);
    let mut out = String::new();
    let mut is_set = false;
    for old in text.split_inclusive('\n') {
        if !old.starts_with(&rule.head) {
            out.push_str(old);
        } else if !is_set {
            is_set = true;
            out.push_str(&line);
        }
    }
    if is_set { out } else { format!("{}{line}", ended(&out)) }
}

#[cfg(test)]
mod tests {
    use super::{Rule, edited};

    #[test]
    fn a_line_of_ours_is_told_by_its_head() {
        let rule = |head: &str, rest: &str| Rule {
            head: format!("KERNEL==\"{head}\", ATTR{{queue/scheduler}}="),
            rest: format!("\"{rest}\""),
            name: String::new(),
        };
        let one = edited("# mine", &rule("vda", "none"));
        assert_eq!(one, "# mine\nKERNEL==\"vda\", ATTR{queue/scheduler}=\"none\"\n");
        let two = edited(&one, &rule("vdb", "none"));
        assert_eq!(two.lines().count(), 3);
        assert_eq!(
            edited(&two, &rule("vdb", "kyber")),
            format!("{one}KERNEL==\"vdb\", ATTR{{queue/scheduler}}=\"kyber\"\n")
        );
        // A line that stands twice is one again.
        let twice = format!("{two}KERNEL==\"vda\", ATTR{{queue/scheduler}}=\"bfq\"\n");
        assert_eq!(edited(&twice, &rule("vda", "none")), two);
    }
}
