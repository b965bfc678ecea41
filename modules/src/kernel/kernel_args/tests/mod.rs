//! The corpus and the cases, each check a test.
mod corpus;
mod files;
mod hosts;
mod lines;
mod texts;
mod try_boot;
