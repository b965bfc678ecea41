//! How a run stands: by its last records, in words and as a word to choose runs by.
use crate::journal::Record;
use std::fmt;

/// How a run stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Standing {
    /// No end is recorded: it is still running, or was cut off.
    #[default]
    Open,
    /// It ended in order, with this code.
    Ended(u8),
    /// `tunerun undo` took all of it back.
    Undone,
    /// `tunerun undo` left something as it is.
    UndoneInPart,
    /// `tunerun undo` began and did not end.
    UndoCutOff,
    /// Its ways back were given up.
    Closed,
    /// Its journal cannot be read.
    Unreadable,
}

/// The words that choose runs, with the standing that each means. `ended` stands for codes without a word of their own.
const WORDS: [(&str, Standing); 18] = [
    ("open", Standing::Open),
    ("done", Standing::Ended(0)),
    ("failed", Standing::Ended(1)),
    ("partial", Standing::Ended(3)),
    ("stale", Standing::Ended(5)),
    ("undo-incomplete", Standing::Ended(6)),
    ("rolled-back", Standing::Ended(7)),
    ("held", Standing::Ended(9)),
    ("regress", Standing::Ended(11)),
    ("undecided", Standing::Ended(12)),
    ("staged", Standing::Ended(13)),
    ("busy", Standing::Ended(15)),
    ("lost", Standing::Ended(17)),
    ("undone", Standing::Undone),
    ("undone-in-part", Standing::UndoneInPart),
    ("undo-cut-off", Standing::UndoCutOff),
    ("closed", Standing::Closed),
    ("unreadable", Standing::Unreadable),
];

impl Standing {
    /// How it stands after one more record.
    pub fn after(self, record: &Record) -> Self {
        match record {
            Record::Ended { exit } => Self::Ended(*exit),
            Record::Undo { ended: true, conflicts, .. } if conflicts.is_empty() => Self::Undone,
            Record::Undo { ended: true, .. } => Self::UndoneInPart,
            Record::Undo { ended: false, .. } => Self::UndoCutOff,
            Record::Closed { .. } => Self::Closed,
            _ => self,
        }
    }

    /// The words that choose runs.
    pub fn words() -> impl Iterator<Item = &'static str> {
        WORDS.into_iter().map(|(word, _)| word)
    }

    /// What a word means.
    pub fn of_word(word: &str) -> Option<Self> {
        WORDS.into_iter().find(|(known, _)| *known == word).map(|(_, standing)| standing)
    }

    /// The word that chooses it.
    pub fn word(self) -> &'static str {
        WORDS.into_iter().find(|(_, standing)| *standing == self).map_or("ended", |(word, _)| word)
    }
}

impl fmt::Display for Standing {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self {
            Self::Open => "cut off, or still running",
            Self::Ended(0) => "done",
            Self::Ended(1) => "failed",
            Self::Ended(3) => "done, partial",
            Self::Ended(5) => "stale",
            Self::Ended(6) => "failed, not all taken back",
            Self::Ended(7) => "rolled back",
            Self::Ended(9) => "held",
            Self::Ended(11) => "held: a regression",
            Self::Ended(12) => "held: not decided",
            Self::Ended(13) => "staged: not all is felt yet",
            Self::Ended(17) => "a host is lost",
            Self::Ended(exit) => return write!(out, "ended with {exit}"),
            Self::Undone => "undone",
            Self::UndoneInPart => "undone in part",
            Self::UndoCutOff => "undo cut off",
            Self::Closed => "closed",
            Self::Unreadable => "unreadable",
        };
        out.write_str(words)
    }
}

/// What an exit code of a run says, in one sentence.
pub const fn exit_words(code: u8) -> &'static str {
    match code {
        0 => "All is as asked for, and proven.",
        1 => "Something failed; the batch that failed was taken back.",
        2 => "What was written or typed is wrong; nothing was touched.",
        3 => "Hosts could not be reached; the others are as asked for.",
        5 => "What was planned no longer fitted what was there; nothing was written in that batch.",
        6 => "Not everything could be taken back: look at the hosts below.",
        7 => "What the run changed was undone: the hosts are as they were before it.",
        9 => "The run is held and waits for a person.",
        11 => "A regression was found, and waits for a person.",
        12 => "The gate could not decide.",
        13 => "All is written, and some of it is felt only after what is still owed.",
        15 => "Another run holds a host, or left it open.",
        16 => "A person said no, or nobody could be asked.",
        17 => "A host was booted and did not come back.",
        _ => "See the exit codes of `tunerun help`.",
    }
}

#[cfg(test)]
mod tests {
    use super::Standing;

    #[test]
    fn every_word_is_its_standings_own() {
        for word in Standing::words() {
            assert_eq!(Standing::of_word(word).map(Standing::word), Some(word));
        }
        assert_eq!(Standing::Ended(99).word(), "ended");
        assert_eq!(Standing::Ended(99).to_string(), "ended with 99");
    }
}
