//! What every script for a Ceph cluster begins with.

/// A script with two functions. `c` calls a program of Ceph by the host or by cephadm's container under a time limit
/// that ends in SIGKILL. `j` reads one JSON text, `d`, by the Python that Ceph's own command line runs in: words that
/// are cut out of JSON by patterns lie as soon as a release adds a key. Its first argument is what to do with `d`, the
/// others are `a`. The script's arguments: `host` or `cephadm`, seconds, ceph.conf, keyring and client (each may be
/// empty), then the operands.
macro_rules! script {
    ($text:literal) => {
        concat!(
            "how=$1 wait=$2 conf=$3 key=$4 as=$5; shift 5; ",
            "c() { p=$1; shift; ",
            "set -- \"$p\" ${as:+--name \"$as\"} \"$@\"; ",
            "if [ \"$how\" = cephadm ]; then ",
            "set -- cephadm shell ${conf:+--config \"$conf\"} ${key:+--keyring \"$key\"} -- \"$@\"; ",
            "else shift; set -- \"$p\" ${conf:+--conf \"$conf\"} ${key:+--keyring \"$key\"} \"$@\"; fi; ",
            "timeout -k 5 \"$wait\" \"$@\"; }; ",
            "y=/usr/bin/python3; [ -x $y ] || y=python3; ",
            "j() { q=$1; shift; $y -Ic \"import json,sys; d=json.load(sys.stdin); a=sys.argv[1:]; $q\" \"$@\"; }; ",
            $text
        )
    };
}

pub(super) use script;
