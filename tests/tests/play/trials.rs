//! Changes that are tried one by one or in combinations: a benchmark multiplies what files say.
use crate::bed::Bed;

/// Prints ten thousand times the percents in the files given, with a little noise.
const MEASURE: &str = r#"cd "$1" || exit 1
n=$(cat runs 2>/dev/null || echo 0); n=$((n + 1)); echo $n > runs
rate=10000
for name in disk cache wire; do p=100; [ ! -e $name ] || read -r p < $name; rate=$((rate * p / 100)); done
echo "{\"rate\": $((rate + (n * 7919) % 97))}"
"#;

/// A play of three changes; each is worth the percents that it writes.
fn playbook(disk: &str, cache: u32, wire: u32) -> String {
    format!(
        r#"- name: the storage
  hosts: all
  gather_facts: false
  rollout: {{waves: [1, 100%]}}
  gate:
    run: {{settle: 0s, ramp: 0s, measure: 1s, steady: off}}
    benchmarks:
      - id: own
        command:
          argv: [sh, "{{{{ playbook_dir }}}}/measure", "{{{{ root }}}}"]
          figures: {{rate: {{path: rate, direction: higher}}}}
    metrics:
      - {{name: rate, from: own.rate, direction: higher, margin: 5%}}
  tasks:
    - name: the disk
      copy: {{dest: "{{{{ root }}}}/disk", content: "{disk}\n"}}
    - name: the cache
      copy: {{dest: "{{{{ root }}}}/cache", content: "{cache}\n"}}
    - name: nothing
      debug: {{msg: nothing}}
    - name: the wire
      copy: {{dest: "{{{{ root }}}}/wire", content: "{wire}\n"}}
"#
    )
}

fn bed(hosts: &[&str], playbook: &str) -> (Bed, String, String) {
    let bed = Bed::new(hosts);
    bed.file("measure", MEASURE).file("site.yml", playbook);
    let at = |name: &str| bed.dir.join(name).display().to_string();
    let (site, inventory) = (at("site.yml"), at("hosts.yml"));
    (bed, site, inventory)
}

#[test]
fn a_ladder_tells_what_each_change_is_worth() {
    let (bed, site, hosts) = bed(&["a", "b"], &playbook("200", 100, 120));
    let done = bed.tunerun(&["ladder", &site, "-i", &hosts, "--yes"]);
    done.ok()
        .says("the waves do not reach b: left as it is")
        .says("ladder of rate on a")
        .says("10 0")
        .says("-> 20 0")
        .says("-> 24 0");
    let ladder = &done.out[done.out.find("ladder of").unwrap()..];
    let rung = |name: &str| ladder.lines().find(|line| line.trim_start().starts_with(name)).unwrap();
    assert!(rung("the disk").contains("+99.") && rung("the disk").ends_with("PASS"), "{ladder}");
    assert!(rung("the cache").contains("% [") && rung("the cache").ends_with("PASS"), "{ladder}");
    assert!(rung("the wire").contains("+19.") || rung("the wire").contains("+20."), "{ladder}");
    assert_eq!(bed.got("b/disk"), None);
    bed.tunerun(&["ladder", "--of", "last"]).ok().says("ladder of rate on a");
    bed.tunerun(&["undo", "last"]).ok();
    assert_eq!(bed.got("a/disk"), None);
}

#[test]
fn a_rung_that_harms_ends_the_ladder() {
    let (bed, site, hosts) = bed(&["a"], &playbook("200", 50, 120));
    let done = bed.tunerun(&["ladder", &site, "-i", &hosts, "--yes"]);
    done.ended(7).says("the cache").says("REGRESS: does not stay");
    assert!(!done.out.contains("the wire "), "it was not begun: {}", done.out);
    assert_eq!(bed.got("a/disk"), None);
    let runs = bed.runs().len();
    bed.file("site.yml", "- hosts: all\n  tasks: []\n");
    bed.tunerun(&["ladder", &site, "-i", &hosts, "--yes"])
        .ended(2)
        .says("no play of this playbook has a gate");
    assert_eq!(bed.runs().len(), runs, "nothing was begun");
}

#[test]
fn a_sweep_finds_the_best_value_and_leaves_nothing() {
    let (bed, site, hosts) = bed(&["a", "b"], &playbook("{{ disk }}", 100, 100));
    let words = ["sweep", &site, "-i", &hosts, "--var", "disk", "--values", "100,150,300,303", "--seed", "1"];
    let done = bed.tunerun(&[&words[..], &["--yes"]].concat());
    done.ok().says("sweep of disk on a, 3 rounds").says("12 of 12");
    let row =
        |value: &str| done.out.lines().find(|line| line.trim_start().starts_with(value)).unwrap().to_owned();
    assert!(row("100").contains("  -"), "{}", done.out);
    assert!(row("150").contains("+49.") || row("150").contains("+50."), "{}", done.out);
    assert!([row("300"), row("303")].iter().any(|row| row.ends_with("best")), "{}", done.out);
    assert_eq!(bed.names("a"), ["runs"], "nothing of it stays");
    assert!(bed.names("b").is_empty(), "the other host is no canary");
    let lower = |text: &str| text.to_lowercase();
    assert!(!lower(&done.err).contains("error"), "{}", done.err);
    bed.tunerun(&words).ended(16).says("nobody can be asked whether to begin");
    let mut odd = words;
    odd[7] = "5";
    bed.tunerun(&odd).ended(2).says("one value is no sweep");
    odd[7] = words[7];
    odd[5] = "dsk";
    bed.tunerun(&[&odd[..], &["--yes"]].concat()).ended(1).says("disk");
}

#[test]
fn a_bundle_is_attributed_to_the_fewest_changes() {
    let (bed, site, hosts) = bed(&["a"], &playbook("250", 103, 99));
    let done = bed.tunerun(&["attribute", &site, "-i", &hosts, "--seed", "2", "--yes"]);
    done.ok().says("3 changes on a: 16 trials").says("fewest that gain as much as all: the disk");
    let row =
        |title: &str| done.out.lines().find(|line| line.trim_start().starts_with(title)).unwrap().to_owned();
    assert!(row("the disk").contains("+1") && row("the disk").ends_with("helps"), "{}", done.out);
    assert!(row("the cache").contains("+2.") || row("the cache").contains("+3."), "{}", done.out);
    done.says("rate with these alone beside all of them: -").says("nothing of it stays");
    assert_eq!(bed.names("a"), ["runs"]);
}

#[test]
fn a_trial_that_breaks_is_taken_back_and_ends_all() {
    let (bed, site, hosts) = bed(&["a"], &playbook("250", 103, 99));
    bed.file("measure", "[ ! -e \"$1/cache\" ] || { echo no >&2; exit 1; }\necho '{\"rate\": 1}'\n");
    let done = bed.tunerun(&["attribute", &site, "-i", &hosts, "--yes"]);
    done.ended(1).says("the command ended with 1: no");
    assert!(bed.names("a").is_empty(), "{:?}", bed.names("a"));
    bed.file(
        "site.yml",
        &playbook("1", 2, 3)
            .replace("copy: {dest: \"{{ root }}/wire\", content: \"3\\n\"}", "command: touch x"),
    );
    bed.tunerun(&["attribute", &site, "-i", &hosts, "--yes"])
        .ended(14)
        .says("cannot be taken off again, so it cannot be tried");
}

#[test]
fn a_rung_that_changes_again_what_an_earlier_one_did_goes_back_with_it() {
    let text = playbook("200", 100, 100).replace(
        "    - name: the wire\n      copy: {dest: \"{{ root }}/wire\", content: \"100\\n\"}\n",
        "    - name: the disk again\n      copy: {dest: \"{{ root }}/disk\", content: \"50\\n\"}\n",
    );
    assert!(text.contains("the disk again"), "{text}");
    let (bed, site, hosts) = bed(&["a"], &text);
    let done = bed.tunerun(&["ladder", &site, "-i", &hosts, "--yes"]);
    done.ended(7).says("rolled back: ").never_says("somebody else has changed it");
    assert_eq!(bed.got("a/disk"), None);
    assert_eq!(bed.got("a/cache"), None);
}
