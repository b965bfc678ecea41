//! Shared beds of the tests.
