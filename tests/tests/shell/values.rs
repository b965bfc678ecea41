//! Values through the interpreters: never syntax, never changed.
use crate::{INTERPRETERS, open, run};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use tunerun::transport::shell::word::{emit, literal};
use tunerun::transport::{Connection, Identity, Script};

const HOSTILE: [&str; 16] = [
    "",
    "'",
    "''",
    "\"",
    "$(touch /tmp/tunerun-pwned)",
    "`id`",
    "a b",
    "\n",
    "a\n\n",
    "-n",
    "--",
    "%s%n\\",
    "~",
    "*",
    "a;b&c|d>e<f",
    "\\\n\\0\\c",
];

/// Sends `value` as printed bytes and, if an argument can hold it, as a word.
async fn round_trip(host: &Connection, value: &[u8]) {
    let mut text = format!("b big; {}; s emit $?\n", emit(value));
    let word = literal(value);
    if let Ok(word) = &word {
        text.push_str(&format!("b big; printf %s {word}; s word $?\n"));
        text.push_str(&format!("v={word}; b big; printf '%s' \"$v\"; s variable $?\n"));
    }
    let script = Script::new(text).cap("big", 8 << 20);
    let answer = host.run(&Identity::Login, &script).await.unwrap();
    assert_eq!(answer.sections.len(), if word.is_ok() { 3 } else { 1 });
    for section in &answer.sections {
        assert_eq!(section.rc, Some(0));
        let got = section.stdout.complete().unwrap();
        assert!(got == value, "{}: {} bytes of {}", section.tag, got.len(), value.len());
        assert!(section.stderr.is_empty(), "{}", section.stderr.text());
    }
}

#[tokio::test]
async fn every_byte_and_every_pair_with_it() {
    for interpreter in INTERPRETERS {
        let host = open(interpreter).await;
        round_trip(&host, &(0..=255).collect::<Vec<u8>>()).await;
        for byte in 0..=255u8 {
            round_trip(&host, &[byte]).await;
            round_trip(&host, &[byte, b'7', byte, b'\n', byte, b'\\', byte, b'\'', byte, b'\n']).await;
        }
        for value in HOSTILE {
            round_trip(&host, value.as_bytes()).await;
        }
    }
    assert!(!std::path::Path::new("/tmp/tunerun-pwned").exists());
}

#[tokio::test]
async fn a_mebibyte_stays_the_same() {
    let mut state = 1u32;
    let noise: Vec<u8> = (0..1 << 20)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            u8::try_from(state >> 24).unwrap()
        })
        .collect();
    for interpreter in INTERPRETERS {
        let host = open(interpreter).await;
        let script = Script::new(format!("b big; {}; s emit $?", emit(&noise))).cap("big", 2 << 20);
        let answer = host.run(&Identity::Login, &script).await.unwrap();
        assert!(answer.sections[0].stdout.complete().unwrap() == noise, "{interpreter}");
        let text: Vec<u8> = noise.iter().map(|byte| b' ' + byte % 95).collect();
        let script =
            Script::new(format!("v={}; b big; printf %s \"$v\"; s word $?", literal(&text).unwrap()));
        let answer = host.run(&Identity::Login, &script.cap("big", 2 << 20)).await.unwrap();
        assert!(answer.sections[0].stdout.complete().unwrap() == text, "{interpreter}");
    }
}

#[test]
fn any_value_comes_back_unchanged() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for interpreter in INTERPRETERS {
        let host = runtime.block_on(open(interpreter));
        let byte = prop_oneof![
            3 => any::<u8>(),
            2 => prop::sample::select(b"'\"\\$`%-\n \t;&|<>*?[](){}~#!=0123456789\x01\x7f\x81\x88".to_vec()),
        ];
        let mut runner =
            TestRunner::new(ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() });
        runner
            .run(&prop::collection::vec(byte, 0..400), |value| {
                runtime.block_on(round_trip(&host, &value));
                Ok(())
            })
            .unwrap();
    }
}

#[tokio::test]
async fn hostile_file_names_are_names() {
    for interpreter in INTERPRETERS {
        let host = open(interpreter).await;
        let folder = format!("/tmp/tunerun-names-{}", std::process::id());
        std::fs::create_dir_all(&folder).unwrap();
        let mut names: Vec<Vec<u8>> = HOSTILE
            .iter()
            .filter(|name| !name.is_empty() && !name.contains('/'))
            .map(|name| name.as_bytes().to_vec())
            .collect();
        names.push(b"\xff\xfe\x81\x01\x7f\n".to_vec());
        names.push("größe $HOME".as_bytes().to_vec());
        let mut text = String::new();
        for name in &names {
            let path = [folder.as_bytes(), b"/", name].concat();
            text.push_str(&format!("{} > {}; s x $?\n", emit(name), literal(&path).unwrap()));
        }
        let answer = run(&host, &text).await;
        assert!(answer.sections.iter().all(|section| section.rc == Some(0)), "{interpreter}: {answer:?}");
        for name in &names {
            use std::os::unix::ffi::OsStrExt;
            let path = std::path::Path::new(&folder).join(std::ffi::OsStr::from_bytes(name));
            assert_eq!(&std::fs::read(&path).unwrap(), name, "{interpreter}");
        }
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), names.len());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

#[tokio::test]
async fn a_value_in_the_place_of_a_command_is_a_name() {
    for interpreter in INTERPRETERS {
        let host = open(interpreter).await;
        for name in ["if", "A=/b", "{", "!", "case", "2", "a;b", "$(true)"] {
            let answer = run(
                &host,
                &format!("{} 2>/dev/null; s a $?; echo \"<$A>\"; s b 0", literal(name.as_bytes()).unwrap()),
            )
            .await;
            assert_eq!(
                answer.section("a").and_then(|section| section.rc),
                Some(127),
                "{interpreter}: {name} {answer:?}"
            );
            assert_eq!(answer.section("b").map(|section| section.stdout.text()), Some("<>\n".into()));
        }
    }
}

#[tokio::test]
async fn a_failed_print_is_seen() {
    for interpreter in INTERPRETERS {
        let host = open(interpreter).await;
        let answer = run(&host, &format!("{} > /dev/full; s full $?", emit(&[b'x'; 100_000]))).await;
        assert_ne!(answer.sections[0].rc, Some(0), "{interpreter}");
    }
}
