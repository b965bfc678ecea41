//! XML changed by splices: what is not asked for stays as it is, letter by letter.
//!
//! A [`Want`] says what an element shall be like. It is both a check ([`Want::fault`]) and an edit ([`reach()`]): the
//! tree of the text tells where things are, and only these places of the text are replaced. Comments, quotes, blanks,
//! CDATA and the order of attributes stay.
mod document;
mod reach;
mod route;
mod want;

pub use document::{Document, Splice};
pub use reach::{Order, reach};
pub use route::{Key, Part, Route};
#[doc(inline)]
pub use roxmltree::Node;
pub use want::{Like, Value, Want, Wanted, text_of};

#[cfg(test)]
mod tests;
