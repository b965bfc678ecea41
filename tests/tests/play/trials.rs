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
    bed.file("site.yml", "- hosts: all\n  tasks: []\n");
    bed.tunerun(&["ladder", &site, "-i", &hosts, "--yes"]).ended(2).says("no play of this playbook has a gate");
}
