//! The write-ahead record of a run, recovery and undo.
