//! Shapes of arguments that people write in more than one way.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A word, a number or a truth value; kept as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Scalar {
    /// Text.
    Text(String),
    /// A whole number.
    Number(i64),
    /// A truth value: the kernel's `1` and `0`.
    Truth(bool),
}

impl Scalar {
    /// The text that the host is given.
    pub fn text(&self) -> String {
        match self {
            Self::Text(text) => text.trim().to_owned(),
            Self::Number(number) => number.to_string(),
            Self::Truth(truth) => u8::from(*truth).to_string(),
        }
    }
}

impl From<&str> for Scalar {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// A list, or one text whose parts are parted by commas.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Names {
    /// A list.
    Many(Vec<Scalar>),
    /// One text.
    One(Scalar),
}

impl Default for Names {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

impl Names {
    /// The names in order, blanks at their ends taken away, empty ones left out.
    pub fn list(&self) -> Vec<String> {
        let parts: Vec<String> = match self {
            Self::Many(names) => names.iter().map(Scalar::text).collect(),
            Self::One(text) => text.text().split(',').map(|name| name.trim().to_owned()).collect(),
        };
        parts.into_iter().filter(|name| !name.is_empty()).collect()
    }
}

/// A truth value that is true unless said otherwise.
pub(crate) fn yes() -> bool {
    true
}

/// The nearest of some names, where one is near enough to be a slip of the hand.
pub(crate) fn nearest<'a>(name: &str, among: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = 1 + name.len() / 5;
    among
        .into_iter()
        .map(|other| (distance(name, other), other))
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, other)| other)
}

/// Letters to insert, drop or replace to get from one text to the other.
fn distance(one: &str, two: &str) -> usize {
    let two: Vec<char> = two.chars().collect();
    let mut row: Vec<usize> = (0..=two.len()).collect();
    for (line, letter) in one.chars().enumerate() {
        let mut corner = row[0];
        row[0] = line + 1;
        for (column, other) in two.iter().enumerate() {
            let change = corner + usize::from(letter != *other);
            corner = row[column + 1];
            row[column + 1] = change.min(corner + 1).min(row[column] + 1);
        }
    }
    row[two.len()]
}

#[cfg(test)]
mod tests {
    use super::{Names, Scalar, nearest};
    use serde_json::json;

    #[test]
    fn looseness_ends_in_text() {
        for (json, text) in [(json!("10 20"), "10 20"), (json!(10), "10"), (json!(true), "1")] {
            assert_eq!(serde_json::from_value::<Scalar>(json).unwrap().text(), text);
        }
        let names: Names = serde_json::from_value(json!("a, b,,c")).unwrap();
        assert_eq!(names.list(), ["a", "b", "c"]);
    }

    #[test]
    fn slips_are_near_and_strangers_are_not() {
        assert_eq!(nearest("swapiness", ["swappiness", "overcommit_memory"]), Some("swappiness"));
        assert_eq!(nearest("swappiness", ["dirty_ratio"]), None);
    }
}
