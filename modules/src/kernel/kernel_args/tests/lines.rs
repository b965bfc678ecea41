//! Command lines: splitting, comparing, editing.
use proptest::prelude::*;

use crate::kernel::kernel_args::amend::{Draft, Op, Trouble, Wish};
use crate::kernel::kernel_args::line::{Line, same};
use crate::kernel::kernel_args::pools;
use crate::kernel::kernel_args::table::Isolation;
use crate::kernel::kernel_args::token::{Key, Token};

fn token(text: &str) -> Token {
    Token::read(text)
}

/// The line after the wishes, and the operations.
fn amended(line: &str, wishes: &[Wish]) -> Result<(String, Vec<Op>), Trouble> {
    let mut draft = Draft::of(Line::read(line).args);
    let stood = draft.slots.clone();
    wishes.iter().try_for_each(|wish| draft.meet(wish))?;
    let line: Line = draft.slots.iter().filter_map(|slot| slot.token.clone()).collect();
    Ok((line.to_string(), draft.ops(&stood)))
}

fn set(line: &str, wanted: &str) -> String {
    amended(line, &[Wish::Set(token(wanted))]).unwrap().0
}

macro_rules! corpus {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/corpus/cmdline/", $name))
    };
}

#[test]
fn rhel7_lvm() {
    let line = Line::read(corpus!("01-rhel7-lvm.txt"));
    let values: Vec<_> = line.all(&Key::of("rd.lvm.lv")).map(|token| token.value().unwrap()).collect();
    assert_eq!(values, ["system_vg/Root", "system_vg/Swap"]);
    assert_eq!(line.last(&Key::of("quiet")).unwrap().value(), None);
    assert!(!same(&token("quiet"), &token("quiet=")));
}

#[test]
fn el9_duplicated_crashkernel() {
    let text = corpus!("02-el9-duplicated-crashkernel.txt");
    let line = Line::read(text);
    assert!(line.has_last(&token("crashkernel=auto")));
    assert!(!line.has_last(&token("crashkernel=512M")));
    assert_eq!(line.args[0].value(), Some("(hd0,gpt2)/vmlinuz-5.14.0-503.15.1.el9_5.x86_64"));
    // Not a difference for ever: nothing to be done, though the line holds another value too.
    let (after, ops) = amended(text, &[Wish::Set(token("crashkernel=auto"))]).unwrap();
    assert_eq!((after.as_str(), ops.len()), (text.trim(), 0));
}

#[test]
fn qat_host_keeps_its_dashes() {
    let line = Line::read(corpus!("03-qat-host-dpdk.txt"));
    assert_eq!(line.last(&Key::of("root")).unwrap().value(), Some("/dev/mapper/HOST--vg-root"));
    assert_eq!(line.init, None);
    let isolated = Isolation::read(line.last(&Key::of("isolcpus")).unwrap().value().unwrap()).unwrap();
    assert_eq!(isolated.cpus.to_string(), "2-23,26-47");
    assert!(line.has_last(&token("isolcpus=domain,2-23,26-47")));
}

#[test]
fn suse_amd() {
    let line = Line::read(corpus!("04-suse-amd.txt"));
    assert_eq!(line.last(&Key::of("mitigations")).unwrap().value(), Some("auto"));
    assert_eq!(line.last(&Key::of("amdgpu.runpm")).unwrap().value(), Some("0"));
}

#[test]
fn realtime_isolation() {
    let line = Line::read(corpus!("05-realtime.txt"));
    let isolated = Isolation::read(line.last(&Key::of("isolcpus")).unwrap().value().unwrap()).unwrap();
    assert_eq!(isolated.cpus.len(), 142);
    assert_eq!(isolated.flags.into_iter().collect::<Vec<_>>(), ["domain", "managed_irq"]);
}

#[test]
fn microvm_with_separator() {
    let text = corpus!("06-microvm-with-separator.txt");
    let line = Line::read(text);
    assert!(line.last(&Key::of("--addr")).is_none());
    assert_eq!(line.init.as_ref().unwrap()[1], "--addr");
    assert_eq!(line.last(&Key::of("mitigations")).unwrap().value(), Some("auto,no_guest_host"));
    let mut longer = line.clone();
    longer.args.push(token("nosmt"));
    assert!(longer.to_string().contains("rdinit=/init_api nosmt -- --microvm-init"));
    assert_eq!(line.to_string(), text.trim());
}

#[test]
fn quotes_are_the_kernels() {
    let line = Line::read("dyndbg=\"file drivers/usb/* +p\" \"a=b c\" x=\"y\" =z=1 root=UUID=1-2");
    let seen: Vec<_> = line.args.iter().map(|token| (token.name(), token.value())).collect();
    let expected = [
        ("dyndbg", Some("file drivers/usb/* +p")),
        ("a", Some("b c")),
        ("x", Some("y")),
        ("=z", Some("1")),
        ("root", Some("UUID=1-2")),
    ];
    assert_eq!(seen, expected);
    assert!(same(&token("dyndbg=\"file x +p\""), &token("\"dyndbg=file x +p\"")));
}

#[test]
fn names_compare_with_dashes_as_underscores() {
    assert!(same(&token("kvm-intel.nested=1"), &token("kvm_intel.nested=1")));
    assert!(!same(&token("hugepages=1"), &token("hugepages=16")));
    let line = "kvm_intel.vmentry_l1d_flush=always";
    assert_eq!(set(line, "kvm-intel.vmentry_l1d_flush=never"), "kvm-intel.vmentry_l1d_flush=never");
}

#[test]
fn values_compare_by_shape() {
    for (one, other) in [
        ("hugepagesz=1G", "hugepagesz=1024M"),
        ("default_hugepagesz=1GB", "default_hugepagesz=1G"),
        ("nohz_full=1-3", "nohz_full=3,1,2"),
        ("isolcpus=managed_irq,domain,1-3", "isolcpus=domain,managed_irq,1,2,3"),
        ("init_on_alloc=0", "init_on_alloc=off"),
    ] {
        assert!(same(&token(one), &token(other)), "{one} {other}");
    }
    for (one, other) in [("isolcpus=managed_irq,1", "isolcpus=1"), ("mem=1G", "mem=1"), ("x=1G", "x=1024M")] {
        assert!(!same(&token(one), &token(other)), "{one} {other}");
    }
}

#[test]
fn what_the_kernel_or_the_boot_loader_would_misread_is_refused() {
    for (name, value) in [
        ("", None),
        ("a b", None),
        ("--", None),
        ("a", Some("x\"y")),
        ("a", Some("x;y")),
        ("a", Some("x\ny")),
        ("a", Some("é")),
        ("a=b", Some("c")),
    ] {
        assert!(Token::new(name, value).is_err(), "{name:?} {value:?}");
    }
    assert_eq!(Token::new("dyndbg", Some("file x +p")).unwrap().raw(), "dyndbg=\"file x +p\"");
    assert_eq!(Token::new("root", Some("UUID=1")).unwrap().raw(), "root=UUID=1");
}

#[test]
fn a_value_is_replaced_where_it_stands() {
    assert_eq!(
        set("quiet isolcpus=2-3 lockdown=none", "isolcpus=managed_irq,domain,2-7"),
        "quiet isolcpus=managed_irq,domain,2-7 lockdown=none"
    );
    assert_eq!(set("a nmi_watchdog=0 b nmi_watchdog=0 c", "nmi_watchdog=1"), "a b nmi_watchdog=1 c");
    assert_eq!(set("a", "b"), "a b");
    // One spelling of the same value is as good as another.
    assert_eq!(set("nohz_full=1,2,3", "nohz_full=1-3"), "nohz_full=1,2,3");
}

#[test]
fn keys_that_may_repeat_need_to_be_told() {
    let console = Key::of("console");
    let among =
        |line: &str, wanted: &str| amended(line, &[Wish::Among(console.clone(), vec![token(wanted)])]);
    assert_eq!(among("console=tty0 console=ttyS0", "console=ttyS0").unwrap().1.len(), 0);
    assert!(matches!(among("console=tty0", "console=ttyS0"), Err(Trouble::Repeats { .. })));
    assert_eq!(among("quiet", "console=ttyS0").unwrap().0, "quiet console=ttyS0");
    let replace = |line: &str, wanted: &[&str]| {
        let wanted = wanted.iter().map(|text| token(text)).collect();
        amended(line, &[Wish::Replace(console.clone(), wanted)]).unwrap().0
    };
    assert_eq!(replace("console=tty0 a console=ttyS0 b", &["console=hvc0"]), "console=hvc0 a b");
    assert_eq!(replace("console=tty0 a", &["console=hvc0", "console=tty0"]), "console=hvc0 console=tty0 a");
    let add = |line: &str| amended(line, &[Wish::Add(token("console=ttyAMA0"))]).unwrap().0;
    assert_eq!(add("console=ttyAMA0,115200"), "console=ttyAMA0,115200 console=ttyAMA0");
    assert_eq!(add("console=ttyAMA0 x"), "console=ttyAMA0 x");
}

#[test]
fn the_last_one_moves_and_nothing_else_does() {
    let last = |line: &str, wanted: &str| amended(line, &[Wish::Last(token(wanted))]).unwrap().0;
    let line = "console=ttyS0,115200n8 console=tty0 net.ifnames=0";
    assert_eq!(last(line, "console=ttyS0"), "console=tty0 console=ttyS0,115200n8 net.ifnames=0");
    assert_eq!(last(line, "console=tty0"), line);
    assert_eq!(last("console=a x console=b y console=c", "console=a"), "console=b x console=c y console=a");
    assert_eq!(last("x", "console=a"), "x console=a");
}

#[test]
fn pools_are_pairs() {
    let wish = |text: &str| Wish::Pools(pools::pair(&Line::read(text).args));
    let meet = |line: &str, wanted: &str| amended(line, &[wish(wanted)]).map(|(line, _)| line);
    for (line, wanted, after) in [
        ("quiet", "hugepagesz=1G hugepages=64", "quiet hugepagesz=1G hugepages=64"),
        ("hugepagesz=1G hugepages=8 x", "hugepagesz=1024M hugepages=64", "hugepagesz=1G hugepages=64 x"),
        (
            "hugepagesz=2M hugepages=512 x",
            "hugepagesz=1G hugepages=4",
            "hugepagesz=2M hugepages=512 hugepagesz=1G hugepages=4 x",
        ),
        (
            "hugepagesz=1G x hugepagesz=2M hugepages=1",
            "hugepagesz=1G hugepages=4",
            "hugepagesz=1G hugepages=4 x hugepagesz=2M hugepages=1",
        ),
        (
            "default_hugepagesz=1G x",
            "hugepagesz=1G hugepages=4",
            "default_hugepagesz=1G hugepagesz=1G hugepages=4 x",
        ),
        ("hugepagesz=1G hugepages=8", "hugepages=16", "hugepagesz=1G hugepages=16"),
    ] {
        assert_eq!(meet(line, wanted).unwrap(), after, "{line} + {wanted}");
        assert_eq!(meet(after, wanted).unwrap(), after, "{line} + {wanted} again");
    }
    assert!(matches!(
        meet("hugepagesz=1G hugepages=8 hugepagesz=2M hugepages=9", "hugepages=16"),
        Err(Trouble::WhichPool { sizes }) if sizes == ["hugepagesz=1G", "hugepagesz=2M"]
    ));
    let all = [Wish::Set(token("default_hugepagesz=1GB")), wish("hugepagesz=1G hugepages=64")];
    assert_eq!(
        amended("root=x quiet", &all).unwrap().0,
        "root=x quiet default_hugepagesz=1GB hugepagesz=1G hugepages=64"
    );
}

#[test]
fn what_the_boot_loader_adds_counts() {
    let mut draft = Draft::of(Line::read("isolcpus=2-3 $tuned_params").args);
    draft.references.insert("$tuned_params".to_owned(), vec![token("isolcpus=4-5"), token("skew_tick=1")]);
    let stood = draft.slots.clone();
    draft.meet(&Wish::Set(token("skew_tick=1"))).unwrap();
    assert!(draft.ops(&stood).is_empty());
    draft.meet(&Wish::Set(token("isolcpus=2-3"))).unwrap();
    let line: Line = draft.slots.iter().filter_map(|slot| slot.token.clone()).collect();
    assert_eq!(line.to_string(), "$tuned_params isolcpus=2-3");
}

/// Arguments of few keys, so that repeats are common.
fn tokens() -> impl Strategy<Value = Vec<Token>> {
    let names =
        vec!["quiet", "mitigations", "kvm-intel.x", "console", "hugepagesz", "hugepages", "nohz_full"];
    let values = vec![None, Some("1"), Some("2-3"), Some("1G"), Some("a b"), Some("")];
    let pair = (prop::sample::select(names), prop::sample::select(values));
    prop::collection::vec(pair.prop_map(|(name, value)| Token::new(name, value).unwrap()), 0..8)
}

fn wish() -> impl Strategy<Value = Wish> {
    let one = tokens().prop_filter_map("one argument", |tokens| tokens.into_iter().next());
    (one, 0..7).prop_map(|(token, kind)| match kind {
        0 => Wish::Set(token),
        1 => Wish::Add(token),
        2 => Wish::AbsentKey(token.key()),
        3 => Wish::Absent(token),
        4 => Wish::Last(token),
        5 => Wish::Among(token.key(), vec![token]),
        _ => Wish::Replace(token.key(), vec![token]),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn lines_read_back_as_written(tokens in tokens()) {
        let line: Line = tokens.into_iter().collect();
        prop_assert_eq!(Line::read(&line.to_string()), line);
    }

    #[test]
    fn any_text_splits_without_panic(text in ".{0,200}") {
        let line = Line::read(&text);
        prop_assert_eq!(Line::read(&line.to_string()), line);
    }

    #[test]
    fn a_met_wish_is_met(tokens in tokens(), wish in wish()) {
        let line: Line = tokens.into_iter().collect();
        let wishes = [wish];
        let Ok((after, _)) = amended(&line.to_string(), &wishes) else { return Ok(()) };
        let (again, ops) = amended(&after, &wishes).unwrap();
        prop_assert_eq!(&again, &after);
        prop_assert!(ops.is_empty());
    }

    #[test]
    fn other_keys_keep_their_order(tokens in tokens(), wish in wish()) {
        let line: Line = tokens.into_iter().collect();
        let key = match &wish {
            Wish::Set(token) | Wish::Add(token) | Wish::Absent(token) | Wish::Last(token) => token.key(),
            Wish::AbsentKey(key) | Wish::Replace(key, _) | Wish::Among(key, _) => key.clone(),
            Wish::Pools(_) | Wish::Tidy => return Ok(()),
        };
        // Taking a pool away takes both halves of its pair.
        prop_assume!(!matches!(wish, Wish::AbsentKey(_) | Wish::Absent(_)) || key.as_str() != "hugepagesz");
        let Ok((after, _)) = amended(&line.to_string(), &[wish]) else { return Ok(()) };
        let others =
            |line: &Line| line.args.iter().filter(|token| token.key() != key).cloned().collect::<Vec<_>>();
        prop_assert_eq!(others(&line), others(&Line::read(&after)));
    }
}
