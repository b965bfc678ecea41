//! The vocabulary of tunerun and its typed modules.
