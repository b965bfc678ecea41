//! Edits of texts: what is wanted is so, and every other byte is the same.
use super::{Document, Key, Like, Order, Part, Route, Value, Want, Wanted, reach};
use proptest::prelude::*;

const NONE: Order = |_| &[];
const QEMU: &str = "http://libvirt.org/schemas/domain/qemu/1.0";

fn there(route: &str) -> Want {
    Want::there(Route::plain(route))
}

fn edit(text: &str, want: &Want) -> String {
    let after = reach(text, want, NONE).unwrap();
    assert_eq!(want.fault(Document::parse(&after).unwrap().root()), None, "{after}");
    assert_eq!(reach(&after, want, NONE).unwrap(), after, "a second edit changes something");
    after
}

#[test]
fn values_change_between_their_own_quotes() {
    let text = "<d>\n  <a x=\"1\"   y='2'/> <!-- x='1' -->\n</d>\n";
    let want = there("a").with("x", Value::text("a'b\"<&"));
    assert_eq!(edit(text, &want), "<d>\n  <a x=\"a'b&quot;&lt;&amp;\"   y='2'/> <!-- x='1' -->\n</d>\n");
    let want = there("a").with("z", Value::text("3")).lacking("x");
    assert_eq!(edit(text, &want), "<d>\n  <a   y='2' z=\"3\"/> <!-- x='1' -->\n</d>\n");
}

#[test]
fn new_elements_are_indented_as_those_beside_them() {
    let text = "<d>\n\t<a/>\n</d>";
    assert_eq!(
        edit(text, &there("f/p").with("state", Value::text("off"))),
        "<d>\n\t<a/>\n\t<f>\n\t\t<p state='off'/>\n\t</f>\n</d>"
    );
    assert_eq!(edit("<d><a/></d>", &there("b")), "<d><a/><b/></d>");
    assert_eq!(edit("<d/>", &there("b/c")), "<d><b><c/></b></d>");
    assert_eq!(edit("<d>\r\n  <a/>\r\n</d>", &there("b")), "<d>\r\n  <a/>\r\n  <b/>\r\n</d>");
    assert_eq!(edit("<d>\n  <a>\n  </a>\n</d>", &there("a/b")), "<d>\n  <a>\n    <b/>\n  </a>\n</d>");
    // A comment on the line of the last element belongs to it.
    assert_eq!(
        edit("<d>\n  <a/> <!-- of a -->\n</d>", &there("b")),
        "<d>\n  <a/> <!-- of a -->\n  <b/>\n</d>"
    );
}

#[test]
fn an_order_says_where_new_elements_go() {
    const ORDER: Order = |parent| if parent == "d" { &["a", "b", "c"] } else { &[] };
    let put = |text: &str, name: &str| reach(text, &there(name), ORDER).unwrap();
    assert_eq!(put("<d>\n  <a/>\n  <c/>\n</d>", "b"), "<d>\n  <a/>\n  <b/>\n  <c/>\n</d>");
    assert_eq!(put("<d>\n  <b/>\n</d>", "a"), "<d>\n  <a/>\n  <b/>\n</d>");
    assert_eq!(put("<d>\n  <a/>\n</d>", "zz"), "<d>\n  <a/>\n  <zz/>\n</d>");
}

#[test]
fn texts_and_elements_go_and_come() {
    let text = "<d>\n  <n>2</n>\n  <m/>\n  <c><![CDATA[a<b]]></c>\n</d>\n";
    assert_eq!(edit(text, &there("n").saying(Value::text("4"))), text.replace(">2<", ">4<"));
    assert_eq!(edit(text, &there("m").saying(Value::text("a&b"))), text.replace("<m/>", "<m>a&amp;b</m>"));
    assert_eq!(edit(text, &there("c").saying(Value::text("a<b"))), text, "CDATA says it already");
    assert_eq!(edit(text, &Want::gone(Route::plain("m"))), text.replace("  <m/>\n", ""));
    let why = reach("<d><n><x/></n></d>", &there("n").saying(Value::text("4")), NONE).unwrap_err();
    assert!(why.contains("an element"), "{why}");
}

#[test]
fn a_namespace_is_declared_once_and_its_own_prefix_is_kept() {
    let list = Route::of([Part::within(QEMU, "commandline")]);
    let env = |name: &str| Want::there(list.clone().then(Part::within(QEMU, "env").with("name", name)));
    let text = "<domain type='kvm'>\n  <name>a</name>\n</domain>\n";
    let after = edit(text, &env("A").with("value", Value::text("1")));
    assert_eq!(
        after,
        format!(
            "<domain type='kvm' xmlns:qemu='{QEMU}'>\n  <name>a</name>\n  <qemu:commandline>\n    <qemu:env name='A' value='1'/>\n  </qemu:commandline>\n</domain>\n"
        )
    );
    let other = text.replace("'kvm'", &format!("'kvm' xmlns:q='{QEMU}'"));
    assert!(edit(&other, &env("A")).contains("<q:env name='A'/>"));
}

#[test]
fn rows_are_appended_or_take_an_old_rows_place() {
    let list = Route::of([Part::within(QEMU, "commandline")]);
    let row = |values: [&str; 2], instead: Option<[&str; 2]>| Want {
        route: list.clone(),
        wanted: Wanted::Row {
            child: Part::within(QEMU, "arg"),
            name: "value".to_owned(),
            values: values.map(str::to_owned).to_vec(),
            instead: instead.map(|old| old.map(str::to_owned).to_vec()),
        },
    };
    let one = edit("<domain>\n  <name>a</name>\n</domain>", &row(["-device", "x,id=1"], None));
    let two = edit(&one, &row(["-device", "y,id=2"], None));
    let three = edit(&two, &row(["-device", "x,id=1,q=2"], Some(["-device", "x,id=1"])));
    assert_eq!(three, two.replace("x,id=1", "x,id=1,q=2"));
    assert_eq!(two.matches("value='-device'").count(), 2);
}

#[test]
fn elements_are_told_apart() {
    let text =
        "<d>\n  <disk><driver/><target dev='vda'/></disk>\n  <disk><driver/><target dev='vdb'/></disk>\n</d>";
    let disk = |name: &str| Part::new("disk").holding("target", "dev", name);
    let want = Want::there(Route::of([disk("vdb"), Part::new("driver")])).with("cache", Value::text("none"));
    assert_eq!(
        edit(text, &want),
        text.replace("<driver/><target dev='vdb'", "<driver cache='none'/><target dev='vdb'")
    );
    let why = reach(text, &Want::there(Route::of([disk("vdc")])), NONE).unwrap_err();
    assert!(why.contains("disk[target dev=vdc]"), "{why}");
    let page = Want::there(Route::of([Part::new("page").without("nodeset")]));
    assert!(page.fault(Document::parse("<d><page nodeset='0'/></d>").unwrap().root()).is_some());
    assert!(matches!(Part::new("a").without("b").keys[..], [Key::Without(_)]));
}

#[test]
fn values_compare_by_their_kind() {
    assert!(Like::Cpus.alike(Some("0-3"), "0,1,2,3"));
    assert!(Like::Machine.alike(Some("pc-q35-10.0"), "q35"));
    assert!(Like::Machine.alike(Some("pc-i440fx-2.10"), "pc"));
    assert!(!Like::Machine.alike(Some("pc-i440fx-2.10"), "q35"));
    assert!(!Like::Machine.alike(Some("pc-q35-6.2"), "pc-q35-10.0"));
    assert!(Like::Switch.alike(None, "on") && !Like::Switch.alike(None, "off"));
}

#[test]
fn a_document_type_is_refused() {
    let bomb = "<!DOCTYPE d [<!ENTITY a 'aaaa'>]><d>&a;</d>";
    assert!(reach(bomb, &there("x"), NONE).is_err());
}

/// An element of names that repeat, with odd quotes, blanks, comments and CDATA.
fn element() -> impl Strategy<Value = String> {
    let name = || prop::sample::select(vec!["a", "b", "c", "disk"]);
    let quote = prop::sample::select(vec!['\'', '"']);
    let attribute = (prop::sample::select(vec!["x", "y"]), "[ -!#-%(-;=?-~]{0,6}", quote, " {1,3}|\n\t ");
    let attribute =
        attribute.prop_map(|(name, value, quote, blank)| format!("{blank}{name} = {quote}{value}{quote}"));
    let start = (name(), prop::option::of(attribute));
    let leaf = (start.clone(), prop::sample::select(vec!["/>", " />", "></", "> \n </"])).prop_map(
        |((name, attribute), end)| {
            let attribute = attribute.unwrap_or_default();
            let close = if end.ends_with("</") { format!("{end}{name}>") } else { end.to_owned() };
            format!("<{name}{attribute}{close}")
        },
    );
    let noise = prop::sample::select(vec![
        "",
        "\n  ",
        "<!-- a='1' <a/> -->",
        "<![CDATA[<a x='9'/>]]>",
        "&amp;",
        " t ",
        "\r\n",
    ]);
    leaf.prop_recursive(4, 24, 4, move |inner| {
        (start.clone(), prop::collection::vec((noise.clone(), inner), 1..4), noise.clone()).prop_map(
            |((name, attribute), children, last)| {
                let body: String =
                    children.into_iter().map(|(noise, child)| format!("{noise}{child}")).collect();
                format!("<{name}{}>{body}{last}</{name}>", attribute.unwrap_or_default())
            },
        )
    })
}

/// What of `before` is not in `after` where both begin and end alike.
fn lost<'a>(before: &'a str, after: &str) -> &'a str {
    let same = |(one, two): &(u8, u8)| one == two;
    let start = before.bytes().zip(after.bytes()).take_while(same).count();
    let room = before.len().min(after.len()) - start;
    let end = before.bytes().rev().zip(after.bytes().rev()).take(room).take_while(same).count();
    &before[start..before.len() - end]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn every_other_byte_is_the_same(
        body in prop::collection::vec(element(), 1..4),
        route in prop::collection::vec(prop::sample::select(vec!["a", "b", "disk", "e"]), 1..4),
        attribute in prop::sample::select(vec!["x", "y", "z"]),
        value in "[ -~]{1,8}",
    ) {
        let text = format!("<?xml version='1.0'?>\n<!-- head -->\n<d>\n {}\n</d>\n<!-- tail -->\n", body.join("\n "));
        let want = there(&route.join("/")).with(attribute, Value::text(value.trim()));
        let after = reach(&text, &want, NONE).unwrap();
        let document = Document::parse(&after).unwrap();
        prop_assert_eq!(want.fault(document.root()), None);
        prop_assert_eq!(&reach(&after, &want, NONE).unwrap(), &after);
        let old = Document::parse(&text).unwrap();
        let was = want.route.find(old.root());
        let value = was.and_then(|node| node.attribute_node(attribute)).map(|old| &text[old.range_value()]);
        let lost = lost(&text, &after);
        let closes = matches!(lost.trim(), "" | "/" | "/>");
        prop_assert!(closes || value.is_some_and(|value| value.contains(lost)), "lost {:?} in\n{}\n{}", lost, text, after);
        // Comments and CDATA are all there.
        for kept in ["<!-- a='1' <a/> -->", "<![CDATA[<a x='9'/>]]>", "<!-- head -->", "<!-- tail -->", "&amp;"] {
            prop_assert!(after.matches(kept).count() >= text.matches(kept).count());
        }
    }

    #[test]
    fn what_was_added_can_be_taken_away(body in prop::collection::vec(element(), 1..4)) {
        let text = format!("<d>\n  {}\n</d>\n", body.join("\n  "));
        let after = reach(&text, &there("new").with("x", Value::text("1")), NONE).unwrap();
        prop_assert_eq!(reach(&after, &Want::gone(Route::plain("new")), NONE).unwrap(), text);
    }
}
