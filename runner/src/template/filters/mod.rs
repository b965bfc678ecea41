//! Filters: what stands after `|`, as rows of tables by kind.
mod choice;
mod data;
mod lists;
mod maps;
mod numbers;
mod paths;
mod texts;
mod yaml;

use super::calls::{self, Callee};
use super::fault::Fault;
use super::tree::Place;
use super::value::Val;
pub(super) use texts::pattern;

pub(super) use lists::pairs_of;
pub(super) use numbers::as_bool;

const RANDOM: &str = "two runs would differ: compute it from a name, or set it in a variable";
const ADDRESSES: &str =
    "addresses are not taken apart here: keep network and prefix in variables of their own";
const LOCAL: &str = "it would look at this machine, not at the host: use the `stat` or `find` module";
const NO_HTML: &str = "nothing is escaped for HTML here";
const TIMES: &str = "a time is not a value that can be kept: use `now(utc=true, fmt=…)`";
const SECRET: &str = "hashed passwords differ from run to run: hash it once and keep the hash in the vault";
const OTHER: &str = "name the attributes with `map`, `selectattr` and `dict2items`";

const REFUSED: [(&str, &str); 52] = [
    ("failed", "write `is failed`"),
    ("changed", "write `is changed`"),
    ("succeeded", "write `is succeeded`"),
    ("search", "write `is search(…)`"),
    ("version_compare", "write `is version(…)`"),
    ("random", RANDOM),
    ("shuffle", RANDOM),
    ("random_mac", RANDOM),
    ("ipaddr", ADDRESSES),
    ("ipv4", ADDRESSES),
    ("ipv6", ADDRESSES),
    ("ipwrap", ADDRESSES),
    ("ipsubnet", ADDRESSES),
    ("ipmath", ADDRESSES),
    ("nthhost", ADDRESSES),
    ("network_in_usable", ADDRESSES),
    ("network_in_network", ADDRESSES),
    ("cidr_merge", ADDRESSES),
    ("hwaddr", ADDRESSES),
    ("macaddr", ADDRESSES),
    ("slaac", ADDRESSES),
    ("reduce_on_network", ADDRESSES),
    ("realpath", LOCAL),
    ("fileglob", LOCAL),
    ("expanduser", LOCAL),
    ("expandvars", LOCAL),
    ("json_query", OTHER),
    ("xmlattr", NO_HTML),
    ("escape", NO_HTML),
    ("e", NO_HTML),
    ("forceescape", NO_HTML),
    ("safe", NO_HTML),
    ("urlize", NO_HTML),
    ("striptags", NO_HTML),
    ("tojson", "it escapes for HTML: use `to_json`"),
    ("to_datetime", TIMES),
    ("strftime", TIMES),
    ("password_hash", SECRET),
    ("vault", "use `tunerun vault encrypt`"),
    ("unvault", "vault values are opened before templates see them"),
    ("parse_cli", OTHER),
    ("parse_xml", OTHER),
    ("win_basename", "hosts run Linux"),
    ("win_dirname", "hosts run Linux"),
    ("win_splitdrive", "hosts run Linux"),
    ("pprint", "use `to_nice_json`"),
    ("filesizeformat", "use `human_readable`"),
    ("wordcount", "use `split() | length`"),
    ("permutations", "write the list out"),
    ("combinations", "write the list out"),
    ("to_uuid", "names of hosts and clusters are stable already"),
    ("urldecode", "addresses are not taken apart here"),
];

/// The filter of that name.
pub(super) fn find(name: &str, place: Place) -> Result<&'static Callee, Box<Fault>> {
    let tables: [&'static [Callee]; 8] = [
        &choice::TABLE,
        &numbers::TABLE,
        &texts::TABLE,
        &lists::TABLE,
        &maps::TABLE,
        &data::TABLE,
        &paths::TABLE,
        &yaml::TABLE,
    ];
    calls::find("filter", name, place, &tables, &REFUSED)
}

/// A boolean as the result.
fn flag(held: bool) -> Result<Val, Fault> {
    Ok(Val::Bool(held))
}
