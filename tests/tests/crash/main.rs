//! Runs that are cut off: killed, starved of disk, of link, of rights. Afterwards each claim is at its old or its new
//! value, and every way back works, twice.
mod bed;
mod bytes;
mod disks;
mod edits;
mod fleet;
mod kills;
mod links;
mod ways;
