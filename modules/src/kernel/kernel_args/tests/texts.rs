//! Plain texts that hold a kernel line: edits touch nothing outside of it, blocks keep their size.
use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::kernel::kernel_args::amend::{Draft, Wish};
use crate::kernel::kernel_args::environment_block::Block;
use crate::kernel::kernel_args::layout::{generated_lines, reads_entries};
use crate::kernel::kernel_args::plain::{Plain, cmdline_lines, entry_lines};
use crate::kernel::kernel_args::token::{Key, Token};

fn entry() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec![
        "title A",
        "linux /vmlinuz",
        "options",
        "options ",
        "options root=x quiet",
        "options  a=1   quiet  b=2 ",
        "options\tquiet\ta=1",
        "optional quiet",
        "# options quiet",
        "",
    ]);
    let last =
        prop::sample::select(vec!["options quiet\tquiet a=1 -- quiet", "options -- quiet", "", "version 1"]);
    (prop::collection::vec(line, 0..6), last, any::<bool>()).prop_map(|(lines, last, newline)| {
        format!("{}\n{last}{}", lines.join("\n"), if newline { "\n" } else { "" })
    })
}

fn wish() -> impl Strategy<Value = Wish> {
    prop::sample::select(vec![
        Wish::Set(Token::read("a=2")),
        Wish::Set(Token::read("new=\"x y\"")),
        Wish::AbsentKey(Key::of("quiet")),
        Wish::AbsentKey(Key::of("a")),
        Wish::Add(Token::read("console=hvc0")),
        Wish::Tidy,
    ])
}

fn others(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.starts_with("options")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn entries_hold_what_was_drafted(text in entry(), wishes in prop::collection::vec(wish(), 1..4)) {
        let lines = entry_lines(text.as_bytes());
        prop_assume!(!lines.is_empty());
        let plain = Plain::of(text.as_bytes(), &lines);
        let mut draft = Draft::of(plain.tokens().cloned());
        for wish in &wishes {
            draft.meet(wish).unwrap();
        }
        let after = plain.meet(text.as_bytes(), &wishes, &BTreeMap::new()).unwrap();
        let after = String::from_utf8(after.unwrap_or_else(|| text.clone().into_bytes())).unwrap();
        let again = Plain::of(after.as_bytes(), &entry_lines(after.as_bytes()));
        let drafted: Vec<Token> = draft.slots.iter().filter_map(|slot| slot.token.clone()).collect();
        prop_assert_eq!(again.tokens().cloned().collect::<Vec<_>>(), drafted, "{:?} {:?}", text, after);
        prop_assert_eq!(others(&text), others(&after));
        prop_assert_eq!(text.contains(" -- quiet"), after.contains(" -- quiet"), "{:?}", after);
    }

    #[test]
    fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let wishes = [Wish::Set(Token::read("a=1")), Wish::AbsentKey(Key::of("b"))];
        for lines in [entry_lines(&bytes), cmdline_lines(&bytes)] {
            let _ = Plain::of(&bytes, &lines).meet(&bytes, &wishes, &BTreeMap::new());
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let _ = (Block::read(&bytes), generated_lines(&text), reads_entries(&text));
    }

    #[test]
    fn blocks_take_any_value_and_keep_the_rest(
        value in "[ -~]{0,80}",
        other in "[ -~]{0,40}",
        free in 0_usize..300,
    ) {
        let escaped = other.replace('\\', "\\\\");
        let mut bytes = format!("# GRUB Environment Block\nother={escaped}\n").into_bytes();
        bytes.resize(bytes.len() + free, b'#');
        let block = Block::read(&bytes).unwrap();
        prop_assert_eq!(block.get("other"), Some(other.clone()));
        let Ok(after) = block.with("kernelopts", &value) else { return Ok(()) };
        prop_assert_eq!(after.len(), bytes.len());
        let again = Block::read(&after).unwrap();
        prop_assert_eq!((again.get("kernelopts"), again.get("other")), (Some(value), Some(other)));
    }
}

#[test]
fn the_lines_of_a_generated_configuration() {
    let text = "menuentry 'Debian' --class debian $menuentry_id_option 'gnulinux-simple-1' {\n\
                \tlinux\t/vmlinuz-6 root=UUID=1 ro  quiet a=1\n\tinitrd /i\n}\n\
                menuentry 'Debian, with Linux 6 (recovery mode)' {\n\tlinux /vmlinuz-6 root=UUID=1 ro single\n}\n\
                menuentry 'Other (on /dev/sdb)' $menuentry_id_option 'osprober-gnulinux-1' {\n linux /v x=1\n}\n";
    assert_eq!(generated_lines(text), ["root=UUID=1 ro  quiet a=1"]);
    assert!(!reads_entries(text));
    assert!(reads_entries("insmod blscfg\nblscfg\n"));
    assert!(!reads_entries("# blscfg\ninsmod blscfg\n"));
}

#[test]
fn a_text_that_is_no_block_is_none() {
    assert_eq!(Block::read(b""), None);
    assert_eq!(Block::read(b"kernelopts=a\n"), None);
}
