//! Values compared by what they mean, not by their text.
mod cpu_list;
mod size;

pub use cpu_list::CpuList;
pub use size::{parse_size, size_text};

use serde::{Deserialize, Serialize};

/// How two texts of a value are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// Letter by letter, blanks at both ends ignored.
    #[default]
    Text,
    /// Words between blanks: `10\t20` is `10 20`.
    Words,
    /// Whole numbers: `010` is not octal, `0x10` is 16.
    Number,
    /// Numbers with a fraction: `0.5` is `0.500000`.
    Decimal,
    /// Sizes in bytes: `8G` is `8589934592`.
    Size,
    /// Lists of CPUs: `0-3,8` is `0,1,2,3,8`.
    CpuList,
    /// Masks of CPUs: `ff` is `00000000,000000ff`.
    CpuMask,
    /// One of several, the chosen one in brackets: `always [madvise] never` is `madvise`.
    Choice,
}

impl Shape {
    /// Whether two texts mean the same.
    pub fn alike(self, one: &str, two: &str) -> bool {
        let (one, two) = (one.trim(), two.trim());
        if one == two {
            return true;
        }
        match self {
            Self::Text => false,
            Self::Words => one.split_whitespace().eq(two.split_whitespace()),
            Self::Number => matches!((number(one), number(two)), (Some(one), Some(two)) if one == two),
            Self::Decimal => {
                matches!((one.parse::<f64>(), two.parse::<f64>()), (Ok(one), Ok(two)) if one == two)
            }
            Self::Size => matches!((parse_size(one), parse_size(two)), (Ok(one), Ok(two)) if one == two),
            Self::CpuList => {
                matches!((CpuList::parse(one), CpuList::parse(two)), (Ok(one), Ok(two)) if one == two)
            }
            Self::CpuMask => {
                matches!((CpuList::parse_mask(one), CpuList::parse_mask(two)), (Ok(one), Ok(two)) if one == two)
            }
            Self::Choice => chosen(one) == chosen(two),
        }
    }

    /// The text to write for a value that was read: of a choice the chosen word, else the value itself.
    pub fn written(self, read: &str) -> String {
        match self {
            Self::Choice => chosen(read).to_owned(),
            _ => read.trim_end_matches('\n').to_owned(),
        }
    }
}

fn number(text: &str) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let value = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => i128::from_str_radix(hex, 16).ok()?,
        None => digits.parse().ok()?,
    };
    Some(if negative { -value } else { value })
}

/// The word in brackets, or the whole text where none is in brackets.
fn chosen(text: &str) -> &str {
    text.split_whitespace()
        .find_map(|word| word.strip_prefix('[').and_then(|word| word.strip_suffix(']')))
        .unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::Shape;

    #[test]
    fn values_compare_by_meaning() {
        for (shape, one, two, alike) in [
            (Shape::Words, "4096\t131072\t6291456", "4096 131072 6291456", true),
            (Shape::Words, "4096 131072", "4096 131072 6291456", false),
            (Shape::Words, " 250 32000 100 128 ", "250\t32000\t100\t128", true),
            (Shape::Decimal, "0.5", "0.500000", true),
            (Shape::Decimal, "0.5", "0.6", false),
            (Shape::Decimal, "a", "b", false),
            (Shape::Size, "8G", "8589934592", true),
            (Shape::Size, "8G", "8000000000", false),
            (Shape::CpuList, "0-3,8", "0,1,2,3,8", true),
            (Shape::CpuMask, "ff", "00000000,000000ff", true),
            (Shape::CpuMask, "0", "00000000", true),
            (Shape::Choice, "always [madvise] never", "madvise", true),
            (Shape::Choice, "always [madvise] never", "never", false),
            (Shape::Number, "0x10", "16", true),
            (Shape::Number, "1", "01", true),
            (Shape::Text, "a", "A", false),
        ] {
            assert_eq!(shape.alike(one, two), alike, "{shape:?} {one} {two}");
        }
        assert_eq!(Shape::Choice.written("always [madvise] never"), "madvise");
    }
}
