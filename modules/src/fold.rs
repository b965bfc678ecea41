//! Neighbouring steps on one subject become one: the first before, the last after.
use crate::vocabulary::{Act, Back, Content, Image, Match, Meta, Node, Read, Seen, Step, TaskId};
use crate::xml::Want;
use serde::{Deserialize, Serialize};

/// A step that stands for one or more planned ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Folded {
    /// The tasks that asked for it, in order.
    pub tasks: Vec<TaskId>,
    /// The step.
    pub step: Step,
}

/// Folds the steps of one batch. Order is kept; a call of a program is a border that nothing is folded across,
/// since it may look at what the steps before it left. What comes back to where it was is dropped.
pub fn fold(steps: impl IntoIterator<Item = (TaskId, Step)>) -> Vec<Folded> {
    let mut folded: Vec<Folded> = Vec::new();
    let mut border = 0;
    for (task, step) in steps {
        let merged = match &step.act {
            Act::Put { path, image, .. } => {
                let earlier =
                    folded[border..].iter_mut().rev().find(|earlier| earlier.step.path() == Some(path));
                earlier.is_some_and(|earlier| merge_put(earlier, task, image, &step))
            }
            Act::Write { path, .. } => match folded[border..].last_mut() {
                Some(earlier) if earlier.step.path() == Some(path) => {
                    earlier.tasks.push(task);
                    earlier.step.act = step.act.clone();
                    earlier.step.after = step.after.clone();
                    true
                }
                _ => false,
            },
            Act::Call { .. } => merge_call(&mut folded, task, &step),
            Act::Rpc { .. } => false,
        };
        if !merged {
            let is_border = matches!(step.act, Act::Call { .. } | Act::Rpc { .. });
            folded.push(Folded { tasks: vec![task], step });
            if is_border {
                border = folded.len();
            }
        }
    }
    folded.retain(|folded| !comes_back(&folded.step));
    folded
}

/// Lets an earlier call say what a later one says too: of two texts that are sent whole to one thing the later counts,
/// since it was made from the earlier one. Only other such calls may stand between them.
fn merge_call(folded: &mut [Folded], task: TaskId, later: &Step) -> bool {
    let (Act::Call { row: sent, .. }, Match::Xml { text, wants }) = (&later.act, &later.after) else {
        return false;
    };
    let whole = |step: &Step| matches!(step.after, Match::Xml { .. });
    let mut near = folded.iter_mut().rev().take_while(|earlier| whole(&earlier.step));
    let Some(earlier) = near.find(|earlier| earlier.step.look == later.look) else { return false };
    let (Act::Call { row, .. }, Match::Xml { wants: before, .. }) = (&earlier.step.act, &earlier.step.after)
    else {
        return false;
    };
    if (&row.name, &row.args, &row.env) != (&sent.name, &sent.args, &sent.env) {
        return false;
    }
    let mut all: Vec<Want> =
        before.iter().filter(|old| wants.iter().all(|new| new.route != old.route)).cloned().collect();
    all.extend(wants.iter().cloned());
    earlier.step.act = later.act.clone();
    earlier.step.after = Match::Xml { text: text.clone(), wants: all };
    earlier.tasks.push(task);
    true
}

/// Lets an earlier put reach what a later one asks for, if one put can say both.
fn merge_put(earlier: &mut Folded, task: TaskId, later: &Image, step: &Step) -> bool {
    let Act::Put { path, image, validate } = &mut earlier.step.act else { return false };
    let Some(merged) = merged(image, later) else { return false };
    let only_meta = |image: &Image| matches!(image, Image::File { content: Content::Same, .. });
    if only_meta(image) && !only_meta(later) {
        // The earlier step neither looked at the content nor kept it: the later one did both.
        let (Seen::Node(first), Seen::Node(second)) = (&earlier.step.before, &step.before) else {
            return false;
        };
        let Back::Exactly(Act::Put { image: Image::File { content, .. }, .. }) = &step.back else {
            return false;
        };
        let kept = Image::File { content: content.clone(), meta: Meta::of(first) };
        let before = Node { body: second.body.clone(), size: second.size, ..first.clone() };
        earlier.step.back = Back::Exactly(Act::Put { path: path.clone(), image: kept, validate: None });
        earlier.step.before = Seen::Node(before);
        earlier.step.look = Some(Read::digest(path));
    }
    if let Act::Put { validate: Some(command), .. } = &step.act {
        *validate = Some(command.clone());
    }
    *image = merged.clone();
    earlier.step.after = Match::Image(merged);
    earlier.tasks.push(task);
    true
}

fn merged(earlier: &Image, later: &Image) -> Option<Image> {
    Some(match (earlier, later) {
        (Image::Aside, _) | (_, Image::Aside) => return None,
        (Image::File { content: before, meta: old }, Image::File { content: after, meta: new }) => {
            Image::File {
                content: if *after == Content::Same { before.clone() } else { after.clone() },
                meta: over(old, new),
            }
        }
        (Image::Dir { meta: old }, Image::Dir { meta: new }) => Image::Dir { meta: over(old, new) },
        // Taking a folder away and making it anew would be an empty folder, not the old one.
        (Image::Absent, Image::Dir { .. }) | (Image::Dir { .. }, Image::Absent) => return None,
        (_, Image::File { content: Content::Same, .. }) => return None,
        (_, later) => later.clone(),
    })
}

fn over(old: &Meta, new: &Meta) -> Meta {
    Meta {
        mode: new.mode.or(old.mode),
        owner: new.owner.clone().or_else(|| old.owner.clone()),
        group: new.group.clone().or_else(|| old.group.clone()),
    }
}

/// Whether a put ends where it began. Acts by calls always count.
fn comes_back(step: &Step) -> bool {
    match &step.act {
        Act::Put { image: Image::File { content: Content::Same, .. }, .. } => false,
        Act::Put { image, .. } => image.holds(&step.before),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::fold;
    use crate::host::Host;
    use crate::recovery::way_back;
    use crate::vocabulary::{
        Act, Claim, Content, Facts, HostPath, Image, Meta, Read, Row, Seen, Step, TaskId,
    };

    fn put(path: &str, text: &str, mode: Option<u32>) -> Step {
        let path = HostPath::new(path).unwrap();
        let meta = Meta { mode, ..Meta::default() };
        let content = if text == "same" { Content::Same } else { Content::Bytes(text.into()) };
        Step::put(Claim::file(&path), path, Seen::Absent, Image::File { content, meta })
    }

    #[test]
    fn eight_edits_of_one_file_are_one_write() {
        let steps =
            (0..8).map(|index| (TaskId(index), put("/etc/a", &"x".repeat(index as usize + 1), Some(0o600))));
        let folded = fold(steps);
        assert_eq!(folded.len(), 1);
        assert_eq!(folded[0].tasks.len(), 8);
        assert_eq!(folded[0].step.before, Seen::Absent);
        assert!(
            matches!(&folded[0].step.act, Act::Put { image: Image::File { content: Content::Bytes(bytes), .. }, .. } if bytes.text() == Some("xxxxxxxx"))
        );
    }

    #[test]
    fn a_mode_after_a_text_is_one_put_of_both() {
        let folded = fold([
            (TaskId(0), put("/etc/a", "one", Some(0o644))),
            (TaskId(1), put("/etc/a", "same", Some(0o600))),
        ]);
        assert_eq!(folded.len(), 1);
        let Act::Put { image, .. } = &folded[0].step.act else { panic!() };
        let meta = Meta { mode: Some(0o600), ..Meta::default() };
        assert_eq!(*image, Image::File { content: Content::Bytes("one".into()), meta });
    }

    #[test]
    fn a_text_after_a_mode_keeps_the_old_text_for_the_way_back() {
        let host = Host::new().file("/etc/a", "old");
        let path = HostPath::new("/etc/a").unwrap();
        let facts = host.facts([Read::text(&path)]);
        let before = |facts: &Facts| Seen::Node(facts.node(&path).unwrap().unwrap());
        let image = |content, mode| Image::File { content, meta: Meta { mode, ..Meta::default() } };
        let mode =
            Step::put(Claim::file(&path), path.clone(), before(&facts), image(Content::Same, Some(0o600)));
        let mut later = facts.clone();
        later.plan(TaskId(0), [mode.clone()]);
        let text = image(Content::Bytes("new".into()), None);
        let text = Step::put(Claim::file(&path), path.clone(), before(&later), text);
        let folded = fold([(TaskId(0), mode), (TaskId(1), text)]);
        assert_eq!(folded.len(), 1);
        let mut changed = host.clone();
        changed.act(&folded[0].step.act).unwrap();
        assert!(folded[0].step.after.holds(&changed.see(&Read::text(&path))));
        changed.act(way_back(&folded[0].step).0.unwrap()).unwrap();
        assert!(host.see(&Read::text(&path)).same_state(&changed.see(&Read::text(&path))));
    }

    #[test]
    fn a_call_is_a_border() {
        let row = Row::new("update-grub", Vec::<String>::new());
        let mut call = put("/etc/b", "", None);
        call.act = Act::Call { row, spoils: Vec::new() };
        let folded = fold([
            (TaskId(0), put("/etc/a", "1", None)),
            (TaskId(1), call),
            (TaskId(2), put("/etc/a", "2", None)),
        ]);
        assert_eq!(folded.len(), 3);
    }

    #[test]
    fn what_comes_back_is_dropped() {
        let path = HostPath::new("/etc/a").unwrap();
        let gone = Step::put(Claim::file(&path), path.clone(), Seen::Absent, Image::Absent);
        assert_eq!(fold([(TaskId(0), put("/etc/a", "1", None)), (TaskId(1), gone)]), []);
    }
}
