//! Hosts without hardware: namespaces on one machine.
