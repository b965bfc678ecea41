//! What patterns choose, what they refuse, and the laws that they keep.
use super::{Paper, ini};
use crate::inventory::{HostId, Inventory, Order, Unselection};
use proptest::prelude::*;

const FLEET: &str = "
[mons]
mon[0:2]
[osds]
osd[01:06]
[rack1]
mon0
osd[01:03]
[rack2]
mon[1:2]
osd[04:06]
[spare]
[ceph:children]
mons
osds
[v6]
2001:db8::5
";

fn names(inventory: &Inventory, pattern: &str) -> Vec<String> {
    let hosts = inventory.select(pattern, None).unwrap_or_else(|why| panic!("{pattern}: {why:?}"));
    hosts.iter().map(|host| inventory.host_name(*host).to_owned()).collect()
}

#[test]
fn patterns_choose() {
    let inventory = ini(FLEET);
    for (pattern, wanted) in [
        ("mons", "mon0 mon1 mon2"),
        ("mon1", "mon1"),
        ("mon1,osd01", "mon1 osd01"),
        ("mon1:osd01", "mon1 osd01"),
        (" mon1 , osd01 ,", "mon1 osd01"),
        ("ceph:&rack1", "mon0 osd01 osd02 osd03"),
        ("ceph,&rack1,!mons", "osd01 osd02 osd03"),
        ("!osds,ceph,&rack2", "mon1 mon2"),
        ("&rack2:&mons", "mon1 mon2"),
        ("!ceph", "2001:db8::5"),
        ("osds[0]", "osd01"),
        ("osds[-1]", "osd06"),
        ("osds[0:1]", "osd01 osd02"),
        ("osds[4:]", "osd05 osd06"),
        ("osds[4:99]", "osd05 osd06"),
        ("osds[0:0]", "osd01"),
        ("osds[1],!osd01", "osd02"),
        ("osd*[0:1]", "osd01 osd02"),
        ("mon?", "mon0 mon1 mon2"),
        ("osd0[a-z2]", "osd02"),
        ("osd0[!1-5]", "osd06"),
        ("*1", "mon0 osd01 osd02 osd03 mon1"),
        ("~mon[12]$", "mon1 mon2"),
        (r"~osd0(1|2)$:mon0", "osd01 osd02 mon0"),
        (r"~(?=osd).*[56]", "osd05 osd06"),
        ("~os", "osd01 osd02 osd03 osd04 osd05 osd06"),
        ("~^(?:mon0|osd0{1}1)$", "mon0 osd01"),
        ("all:!~osd.*:!v6", "mon0 mon1 mon2"),
        ("2001:db8::5", "2001:db8::5"),
        ("2001:db8::5,mon0", "2001:db8::5 mon0"),
        ("spare,mon0", "mon0"),
        ("localhost", "localhost"),
        ("127.0.0.1", "localhost"),
    ] {
        assert_eq!(names(&inventory, pattern).join(" "), wanted, "{pattern}");
    }
    assert_eq!(names(&inventory, "all").len(), 10);
    assert_eq!(names(&inventory, "*").len(), 10);
}

#[test]
fn refusals_are_told_apart() {
    let inventory = ini(FLEET);
    for (pattern, kind, message, help) in [
        ("osd", "unknown", "no host or group is named `osd`", "did you mean `osds`?"),
        ("all:!osd5", "unknown", "no host or group is named `osd5`", "did you mean"),
        ("mons:&rak1", "unknown", "no host or group is named `rak1`", "did you mean `rack1`?"),
        ("xyz*", "unknown", "no host or group matches `xyz*`", "inventory graph"),
        ("~zz", "unknown", "no host or group matches `~zz`", "inventory graph"),
        ("osds[9]", "unknown", "`osds[9]` asks for a host beyond the last: `osds` has 6", "count from 0"),
        ("osds[-9]", "unknown", "`osds[-9]` asks for a host beyond the last: `osds` has 6", "count from 0"),
        ("spare", "empty", "the host pattern `spare` chooses no host", "exists and is empty"),
        ("mons:!mons", "empty", "the host pattern `mons:!mons` chooses no host", "leave nothing"),
        ("mons:&osds", "empty", "the host pattern `mons:&osds` chooses no host", "leave nothing"),
        ("", "malformed", "an empty host pattern", "every host is `all`"),
        (" , ", "malformed", "an empty host pattern", "every host is `all`"),
        ("mons,!", "malformed", "`!` without a name in the host pattern `mons,!`", "right after"),
        ("mons[1-2]", "malformed", "`[1-2]` in `mons[1-2]` is not a position", "write `mons[1:2]`"),
        ("mons[1:-1]", "malformed", "`[1:-1]` in `mons[1:-1]` is not a position", "both ends"),
        ("~mon(", "malformed", "`~mon(` is not a regular expression", "such as"),
    ] {
        let refused = inventory.select(pattern, None).expect_err(pattern);
        assert_eq!(format!("{:?}", refused.kind).to_lowercase(), kind, "{pattern}");
        let problem = refused.problems[0].clone();
        assert!(problem.message.starts_with(message), "{pattern}: {}", problem.message);
        assert!(problem.help.unwrap().contains(help), "{pattern}");
    }
    let refused = inventory.select("osd,mns,all", None).unwrap_err();
    assert_eq!(refused.problems.len(), 2, "every unknown name is shown");
}

#[test]
fn an_empty_inventory_has_localhost_and_nothing_else() {
    let inventory = Inventory::load(&[], &Paper::default(), None).unwrap().0;
    assert_eq!(inventory.select("all", None).unwrap_err().kind, Unselection::Empty);
    let hosts = inventory.select("localhost", None).unwrap();
    assert!(inventory.is_implicit(hosts[0]));
    assert_eq!(inventory.host_json(hosts[0])["ansible_connection"], "local");
}

#[test]
fn a_wild_expression_gives_up() {
    let inventory = ini(&format!("{}\n", "a".repeat(200)));
    let refused = inventory.select(r"~(a|a)*(?=x)b", None);
    assert_eq!(refused.unwrap_err().kind, Unselection::Malformed);
}

#[test]
fn a_limit_file_is_a_list_of_patterns() {
    let paper = Paper::with(&[("site.retry", "mon1\n\n  osd0*  \n!osd06\n")]);
    let limit = Inventory::limit_patterns("@site.retry,&rack2", &paper).unwrap();
    let limit: Vec<&str> = limit.iter().map(String::as_str).collect();
    let inventory = ini(FLEET);
    let hosts = inventory.select_all_of(&limit, None).unwrap();
    let hosts: Vec<&str> = hosts.iter().map(|host| inventory.host_name(*host)).collect();
    assert_eq!(hosts, ["mon1", "osd04", "osd05"]);
    let missing = Inventory::limit_patterns("@none", &paper).unwrap_err();
    assert!(missing[0].message.starts_with("the limit file none cannot be read"));
}

#[test]
fn orders() {
    let inventory = ini("b\na\nc\n");
    let ordered = |order| {
        let mut hosts = inventory.select("all", None).unwrap();
        inventory.order(&mut hosts, order);
        hosts.iter().map(|host| inventory.host_name(*host)).collect::<String>()
    };
    assert_eq!(ordered(Order::Inventory), "bac");
    assert_eq!(ordered(Order::ReverseInventory), "cab");
    assert_eq!(ordered(Order::Sorted), "abc");
    assert_eq!(ordered(Order::ReverseSorted), "cba");
    assert_eq!(ordered(Order::Shuffle { seed: 1 }), ordered(Order::Shuffle { seed: 1 }));
    assert!((0..20).any(|seed| ordered(Order::Shuffle { seed }) != "bac"));
    let problem = Order::from_word("shufle", 0, None).unwrap_err();
    assert_eq!(problem[0].help.as_deref(), Some("did you mean `shuffle`?"));
}

fn chosen(inventory: &Inventory, pattern: &str) -> Vec<HostId> {
    match inventory.select(pattern, None) {
        Ok(hosts) => hosts,
        Err(refused) if refused.kind == Unselection::Empty => Vec::new(),
        Err(other) => panic!("{pattern}: {other:?}"),
    }
}

proptest! {
    #[test]
    fn the_laws_of_sets_hold(a in 0..7usize, b in 0..7usize, c in 0..7usize) {
        const GROUPS: [&str; 7] = ["mons", "osds", "rack1", "rack2", "spare", "ceph", "all"];
        let (a, b, c) = (GROUPS[a], GROUPS[b], GROUPS[c]);
        let inventory = ini(FLEET);
        let sorted = |pattern: String| {
            let mut hosts = chosen(&inventory, &pattern);
            let length = hosts.len();
            hosts.sort_unstable();
            hosts.dedup();
            assert_eq!(hosts.len(), length, "{pattern} chooses a host twice");
            hosts
        };
        let nothing = sorted(format!("{a}:!{a}"));
        prop_assert!(nothing.is_empty());
        prop_assert_eq!(sorted(format!("{a},{b}")), sorted(format!("{b}:{a}")));
        prop_assert_eq!(sorted(format!("{a}:&{b}")), sorted(format!("{b}:&{a}")));
        prop_assert_eq!(sorted(format!("{a},{a}")), sorted(a.to_owned()));
        prop_assert_eq!(sorted(format!("{a}:&{a}")), sorted(a.to_owned()));
        prop_assert_eq!(sorted(format!("{a}:!{b}:!{c}")), sorted(format!("!{c},{a},!{b}")));
        let both = sorted(format!("{a}:&{b}")).len();
        let either = sorted(format!("{a}:{b}")).len();
        prop_assert_eq!(both + either, sorted(a.to_owned()).len() + sorted(b.to_owned()).len());
        prop_assert_eq!(sorted(format!("{a}:!{b}")).len() + both, sorted(a.to_owned()).len());
    }

    #[test]
    fn no_text_makes_a_pattern_choose_all_by_accident(text in "[a-z\\[\\]:,!&~*? 0-9.(){}\\\\-]{0,12}") {
        let inventory = ini(FLEET);
        let wild = text.contains(['*', '~', '!', '&', '?']) || text.contains("all");
        if let Ok(hosts) = inventory.select(&text, None) {
            prop_assert!(wild || hosts.len() < 10, "{text:?} chose everything");
        }
    }
}
