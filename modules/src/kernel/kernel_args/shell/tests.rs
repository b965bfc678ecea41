//! The shell reader on what real files hold and on arbitrary bytes.
use proptest::prelude::*;

use super::script::{Reading, Script};

fn read(text: &str) -> Reading {
    Reading::of(vec![Script { path: "/etc/default/grub".to_owned(), bytes: text.as_bytes().to_vec() }])
}

fn known(text: &str) -> Option<String> {
    read(text).value("V").and_then(|value| value.known())
}

#[test]
fn assignments_are_read_as_a_shell_reads_them() {
    for (text, value) in [
        ("V=a", "a"),
        ("V='a b'", "a b"),
        ("V=\"a b\"", "a b"),
        ("  V=a # note", "a"),
        ("V=a#b", "a#b"),
        ("V=a\\ b", "a b"),
        ("V=\"a\\\"b\\$c\\\\d\\e\"", "a\"b$c\\d\\e"),
        ("V=a\"b\"'c'", "abc"),
        ("V=\"a\\\nb\"", "ab"),
        ("V=a; V=\"$V b\"", "a b"),
        ("V=a\nV=\"${V} b\"", "a b"),
        ("export V=a", "a"),
        ("V=", ""),
        ("GRUB_CMDLINE_X=a V=b", "b"),
        ("V=a\nV=\"${V:+$V }b\"", "a b"),
        ("V=\"${V:-x}y\"; V=\"${GRUB_CMDLINE_Y:-x}y\"", "xy"),
        ("V=\"x${GRUB_CMDLINE_Y:+ never}\"", "x"),
        ("V=a\nif [ -f /x ]; then\n W=b\nfi\n", "a"),
        ("V=a\n[ -f /x ] && W=b\nV=\"$V c\"", "a c"),
        ("cat <<EOF\nV=no\nEOF\nV=yes", "yes"),
        ("V=a\ncase $W in a) X=1 ;; *) X=2 ;; esac\nV=\"$V b\"", "a b"),
        ("for x in 1 2; do W=$x; done\nV=z", "z"),
        ("f() {\n W=1\n}\nV=z", "z"),
        ("W=$(case_free; echo \"a)\" )\nV=z", "z"),
        ("echo 2>/dev/null hi\nV=z", "z"),
    ] {
        assert_eq!(known(text).as_deref(), Some(value), "{text:?}: {:?}", read(text));
    }
}

#[test]
fn what_depends_on_code_is_not_known() {
    for text in [
        "V=`date`",
        "V=\"a $(date)\"",
        "V=$((1+1))",
        "V=a; if true; then V=b; fi",
        "V=a; [ -f /x ] && V=b",
        "V=a; . /x",
        "V=a; eval x",
        "V=a; read V",
        "V=a | cat",
        "V=\"$HOME\"",
        "V=~/x",
        "V=\"${V%x}\"",
        "V=a; V+=b",
        "V=a\nf() { V=b; }\nf",
        "V=$'a'",
        "while read x; do V=$x; done",
        "V=a; unset $W",
        "V=a; case $x in a) V=b;; esac",
        "V=a; : ${V:=b}",
    ] {
        assert_eq!(known(text), None, "{text:?}");
    }
}

#[test]
fn a_script_that_no_shell_takes_is_named_with_its_line() {
    for (text, line) in [("V=a\nV=\"b", 2), ("V='a", 1), ("V=a\n\nif x; then\n", 4), ("fi", 1), ("V=`x", 1)] {
        let reading = read(text);
        assert_eq!(reading.broken.len(), 1, "{text:?}");
        assert!(reading.broken[0].syntax);
        assert_eq!(reading.broken[0].line, line, "{text:?}");
    }
}

#[test]
fn a_doubt_says_where_it_comes_from() {
    let reading = read("V=a\nif x; then\n  V=b\nfi\n");
    let value = reading.value("V").unwrap();
    assert_eq!(value.likely(), "b");
    assert_eq!(
        reading.doubt(value.doubts()[0]),
        "`V` is set only if something holds (/etc/default/grub line 3)"
    );
}

#[test]
fn a_value_that_doubles_itself_ends() {
    let text = format!("V=aaaaaaaa\n{}", "V=\"$V$V$V$V\"\n".repeat(60));
    assert_eq!(known(&text), None);
}

#[test]
fn endless_code_ends() {
    for line in [". x\n", "V=$V`x`\n", "V=1\n", "f() { V=1; }\nf\n", "if a; then V=1; fi\n"] {
        let reading = read(&line.repeat(100_000 / line.len()));
        assert!(reading.doubts.len() <= 1000, "{line}");
    }
}

#[test]
fn deep_nesting_ends() {
    for open in ["$(", "${V:-", "(", "{ ", "`", "if "] {
        read(&format!("V={}", open.repeat(50_000)));
        read(&open.repeat(50_000));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        Reading::of(vec![Script { path: "x".to_owned(), bytes }]);
    }

    #[test]
    fn arbitrary_shell_is_read_without_panic(
        words in prop::collection::vec(
            prop::sample::select(vec![
                "V=", "a", "\"", "'", "$V", "${V", "}", "$(", ")", "(", "`", "\\", "\n", ";", ";;", "&&", "|", "&",
                "if ", "then ", "fi", "case ", " in ", "esac", "{ ", "for ", "do ", "done", "<<E", "\nE\n", "#", " ",
                "+=", "~", ":-", "export ", "unset ", ". ", "é", "\r",
            ]),
            0..60,
        )
    ) {
        read(&words.concat());
    }
}
