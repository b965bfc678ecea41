//! The kernel command line of a booted host.
