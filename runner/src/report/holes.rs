//! Plans that differ in a few words alone, such as addresses and numbers of devices: shown once, with holes. Pure.
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Fewer plans than so many are shown as they are: one that is unlike all others is looked for.
const FEW: usize = 3;

/// Of so many lines one may differ.
const LINES: usize = 4;

/// So many values of a hole are told.
const SHOWN: usize = 8;

/// Words of a text, line by line, with the blanks before each.
type Words<'t> = Vec<Vec<&'t str>>;

fn words(text: &str) -> Words<'_> {
    text.lines().map(|line| line.split_inclusive(' ').collect()).collect()
}

/// Where two texts differ, as line and word; none where they are not nearly alike.
fn differing(one: &Words<'_>, other: &Words<'_>) -> Option<Vec<(usize, usize)>> {
    if one.len() != other.len() {
        return None;
    }
    let (mut found, mut lines) = (Vec::new(), 0);
    for (line, (one, other)) in one.iter().zip(other).enumerate() {
        if one == other {
            continue;
        }
        if one.len() != other.len() {
            return None;
        }
        let before = found.len();
        let unlike = one.iter().zip(other).enumerate().filter(|(_, (one, other))| one.trim() != other.trim());
        found.extend(unlike.map(|(word, _)| (line, word)));
        // A line of which most is another one says something else.
        if (found.len() - before) * 2 > one.len() {
            return None;
        }
        lines += 1;
    }
    (lines <= one.len().div_ceil(LINES)).then_some(found)
}

/// Texts that are nearly alike, as one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Which texts they are.
    pub members: Vec<usize>,
    /// The text with its holes, and below it what stands in each of them.
    pub text: String,
}

/// Finds the texts that are nearly alike. `names` are whose they are, for the lines below. Texts that are like no others
/// are in no group.
pub fn groups(texts: &[&str], names: &[Vec<&str>]) -> Vec<Group> {
    let all: Vec<Words<'_>> = texts.iter().map(|text| words(text)).collect();
    let mut taken = vec![false; texts.len()];
    let mut groups = Vec::new();
    for first in 0..texts.len() {
        if taken[first] {
            continue;
        }
        let alike: Vec<(usize, Vec<(usize, usize)>)> = (first + 1..texts.len())
            .filter(|other| !taken[*other])
            .filter_map(|other| Some((other, differing(&all[first], &all[other])?)))
            .collect();
        if alike.len() + 1 < FEW {
            continue;
        }
        let mut holes: Vec<(usize, usize)> = alike.iter().flat_map(|(_, holes)| holes.clone()).collect();
        holes.sort_unstable();
        holes.dedup();
        let members: Vec<usize> =
            std::iter::once(first).chain(alike.into_iter().map(|(other, _)| other)).collect();
        members.iter().for_each(|member| taken[*member] = true);
        let text = written(&all, &members, &holes, names);
        groups.push(Group { members, text });
    }
    groups
}

/// The first text with numbers where the others differ, and what stands there.
fn written(all: &[Words<'_>], members: &[usize], holes: &[(usize, usize)], names: &[Vec<&str>]) -> String {
    let mut out = String::new();
    let number =
        |line: usize, word: usize| holes.iter().position(|hole| *hole == (line, word)).map(|at| at + 1);
    for (line, row) in all[members[0]].iter().enumerate() {
        for (at, word) in row.iter().enumerate() {
            match number(line, at) {
                Some(number) => {
                    let blank = if word.ends_with(' ') { " " } else { "" };
                    let _ = write!(out, "‹{number}›{blank}");
                }
                None => out.push_str(word),
            }
        }
        out.push('\n');
    }
    for (number, (line, word)) in holes.iter().enumerate() {
        let mut values: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for member in members {
            values.entry(all[*member][*line][*word].trim()).or_default().extend(&names[*member]);
        }
        let mut values: Vec<(&str, Vec<&str>)> = values.into_iter().collect();
        values.sort_by_key(|(_, names)| names.len());
        let told = values.iter().take(SHOWN);
        let told = told.map(|(value, names)| format!("{value} on {}", super::plan::shortened(names)));
        let told = told.collect::<Vec<_>>().join("; ");
        let more = match values.len().saturating_sub(SHOWN) {
            0 => String::new(),
            more => format!("; and {more} other values"),
        };
        let _ = writeln!(out, "      ‹{}› {told}{more}", number + 1);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(mtu: u32, address: &str) -> String {
        format!(
            "  ~ sysctl\n      vm.swappiness: 60 -> 10\n  ~ copy\n      +address {address}\n      +mtu {mtu}\n"
        )
    }

    #[test]
    fn plans_that_differ_in_a_few_words_are_shown_once() {
        let texts = [
            plan(9000, "10.0.0.1"),
            plan(9000, "10.0.0.2"),
            plan(9000, "10.0.0.3"),
            "  ~ other\n".to_owned(),
        ];
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let names = [vec!["a"], vec!["b", "c"], vec!["d"], vec!["odd"]];
        let groups = groups(&texts, &names);
        assert_eq!(groups.len(), 1);
        assert_eq!(groups[0].members, [0, 1, 2]);
        assert_eq!(
            groups[0].text,
            "  ~ sysctl\n      vm.swappiness: 60 -> 10\n  ~ copy\n      +address ‹1›\n      +mtu 9000\n      ‹1› 10.0.0.1 on a; \
             10.0.0.3 on d; 10.0.0.2 on b, c\n"
        );
    }

    #[test]
    fn a_thousand_plans_are_one_in_a_moment() {
        let texts: Vec<String> =
            (0..1000).map(|number| plan(9000, &format!("10.0.{}.{}", number / 250, number % 250))).collect();
        let names: Vec<String> = (0..1000).map(|number| format!("h{number}")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let names: Vec<Vec<&str>> = names.iter().map(|name| vec![name.as_str()]).collect();
        let groups = groups(&texts, &names);
        assert_eq!((groups.len(), groups[0].members.len()), (1, 1000));
        assert!(groups[0].text.ends_with("; and 992 other values\n"), "{}", groups[0].text);
    }

    #[test]
    fn two_that_differ_are_two_and_what_says_something_else_is_no_hole() {
        let texts = [plan(9000, "x"), plan(9000, "y")];
        let names = [vec!["a"], vec!["b"]];
        assert_eq!(groups(&[&texts[0], &texts[1]], &names), []);
        let texts = ["  ~ one two\n", "  ~ six ten\n", "  ~ red hot\n"];
        assert_eq!(groups(&texts, &[vec!["a"], vec!["b"], vec!["c"]]).len(), 1, "half of a line may differ");
        let texts = ["one two\n", "six ten\n", "red hot\n"];
        assert_eq!(groups(&texts, &[vec!["a"], vec!["b"], vec!["c"]]), [], "a whole line may not");
    }
}
