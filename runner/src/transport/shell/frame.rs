//! The interpreter's loop and the frames that it reads. Tried on dash, bash and busybox ash.
//!
//! The loop is an argument of `sh -c`, since shells read ahead on a piped script. It holds no newline, no single quote
//! and no `!`, so that any login shell (csh and fish too) hands it on unchanged. It reads from its stdin:
//!
//! 1. the digits of the mark, on a line; it answers with a hello on both streams;
//! 2. frames: a line `KIND COUNT`, then COUNT lines (kinds `l`, `L`) or COUNT bytes (kinds `b`, `B`).
//!
//! Small kinds run in a subshell, so neither `exit` nor a syntax error ends the loop; it has /dev/null as its input, so
//! commands cannot eat frames, and file descriptor 9 closed, so children cannot keep the host's lock. Capital kinds run
//! in the loop itself, for what must stay: the lock, variables. Lines are read by the builtin, byte by byte: for short
//! scripts that is cheaper than a fork and exec of `head`.
use super::answer::{Place, Script};
use super::split::Mark;

/// Scripts up to this size go as lines; in bytes. At 0.3 µs a byte a fork and exec costs about as much.
const LINES_LIMIT: usize = 3072;

/// The loop. `${IFS#??}` is a newline: the third of space, tab, newline. Its functions: `s TAG RC` ends a section, `b TAG` begins one whose cap is not the default.
pub(crate) const LOOP: &str = concat!(
    r#"LC_ALL=C; export LC_ALL; umask 022; unset ENV BASH_ENV CDPATH HISTFILE; "#,
    r#"PATH="${PATH:-/usr/local/bin:/usr/bin:/bin}:/usr/local/sbin:/usr/sbin:/sbin"; export PATH; cd /; "#,
    r#"IFS= read -r _m || exit 0; _n=${IFS#??}; "#,
    r#"_p() { printf "\036%s %s\n" "$_m" "$*"; printf "\036%s %s\n" "$_m" "$*" >&2; }; "#,
    r#"s() { _p s "$1" "$2"; }; b() { _p b "$1"; }; "#,
    r#"{ read -r _a _a _a _a _g _a < /proc/$$/stat; } 2>/dev/null; "#,
    r#"_p h $$ "${_g:-0}"; "#,
    r#"while read -r _k _c; do "#,
    r#"case $_k in l|L) _t=; while [ "$_c" -gt 0 ]; do IFS= read -r _x || exit 0; _t=$_t$_x$_n; _c=$((_c-1)); done;; "#,
    r#"*) _t=$(exec head -c "$_c");; esac; "#,
    r#"case $_k in l|b) (eval "$_t") </dev/null 9>&-;; *) eval "$_t" </dev/null;; esac; _p e $?; done"#,
);

/// The bytes that run a script. NUL bytes must have been refused before.
pub(crate) fn encode(script: &Script) -> Vec<u8> {
    let text = &script.text;
    let session = script.place == Place::Session;
    let mut out = Vec::with_capacity(text.len() + 32);
    if text.len() <= LINES_LIMIT {
        let lines = text.iter().filter(|byte| **byte == b'\n').count() + 1;
        out.extend_from_slice(format!("{} {lines}\n", if session { 'L' } else { 'l' }).as_bytes());
        out.extend_from_slice(text);
        out.push(b'\n');
    } else {
        out.extend_from_slice(format!("{} {}\n", if session { 'B' } else { 'b' }, text.len()).as_bytes());
        out.extend_from_slice(text);
    }
    out
}

/// The bytes that open a session.
pub(crate) fn opening(mark: &Mark) -> Vec<u8> {
    format!("{}\n", mark.digits()).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_login_shell_can_hand_the_loop_on() {
        assert!(!LOOP.contains(['\'', '\n', '!']) && !LOOP.contains(r"\\"));
    }

    #[test]
    fn short_scripts_are_lines() {
        assert_eq!(encode(&Script::new("a\nb")), b"l 2\na\nb\n");
        assert_eq!(encode(&Script::new("a").in_session()), b"L 1\na\n");
        let long = "x".repeat(LINES_LIMIT + 1);
        assert_eq!(encode(&Script::new(long.clone())), format!("b {}\n{long}", LINES_LIMIT + 1).into_bytes());
    }
}
