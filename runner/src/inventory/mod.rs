//! Hosts, groups, their variables, and patterns over them.
