//! The modules that a playbook may name, as the language knows them.
use crate::playbook::{Known, Vocabulary};
use std::sync::OnceLock;

/// The vocabulary of all modules; it lives as long as the program.
pub fn vocabulary() -> &'static Vocabulary {
    static VOCABULARY: OnceLock<Vocabulary> = OnceLock::new();
    VOCABULARY.get_or_init(|| Vocabulary::new(modules::ALL.iter().map(Known::of)))
}
