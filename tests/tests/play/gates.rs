//! Gates over plays: a benchmark that reads a file decides whether the change to that file stays.
use crate::bed::{Bed, Done};
use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tests::program::tunerun;

/// A play that writes `to` into a knob, and a gate whose benchmark makes figures of the knobs of its hosts.
fn playbook(rollout: &str, gate: &str, to: u32) -> String {
    format!(
        r#"- name: the knob
  hosts: all
  gather_facts: false
  rollout: {rollout}
  gate:
    run: {{settle: 0s, ramp: 0s, measure: 1s, steady: off}}
    {gate}
    benchmarks:
      - id: own
        command:
          argv: [sh, "{{{{ playbook_dir }}}}/measure", "{{{{ root }}}}"]
          figures: {{rate: {{path: rate, direction: higher}}}}
    metrics:
      - {{name: rate, from: own.rate, direction: higher, margin: 5%}}
  tasks:
    - copy: {{dest: "{{{{ root }}}}/knob", content: "{to}\n"}}
"#
    )
}

/// Prints the knob's number with a little noise, and counts its calls.
const MEASURE: &str = r#"cd "$1" || exit 1
read -r knob < knob
n=$(cat runs 2>/dev/null || echo 0); n=$((n + 1)); echo $n > runs
if [ -e broken ] && [ "$knob" != 100 ]; then echo "it broke" >&2; exit 1; fi
[ ! -e more ] || [ ! -e felt ] || knob=$((knob + 50))
echo "{\"rate\": $((knob * 100 + (n * 7919) % 97))}"
"#;

/// Hosts whose knob is at 100.
fn bed(hosts: &[&str]) -> Bed {
    let bed = Bed::new(hosts);
    bed.file("measure", MEASURE);
    for host in hosts {
        bed.file(&format!("roots/{host}/knob"), "100\n");
    }
    bed
}

fn knobs(bed: &Bed, hosts: &[&str]) -> Vec<String> {
    hosts.iter().map(|host| bed.got(&format!("{host}/knob")).unwrap().trim().to_owned()).collect()
}

fn runs(done: &Done) -> usize {
    done.err.lines().filter(|line| line.starts_with("  run ")).count()
}

#[test]
fn a_loss_is_taken_back_and_nobody_else_is_touched() {
    let hosts = ["a", "b", "c"];
    let bed = bed(&hosts);
    bed.file("site.yml", &playbook("{waves: [1, 100%]}", "", 50));
    bed.call(&["--check"])
        .ok()
        .says("gate the knob: up to 24 pairs of runs on 1 host")
        .says("rate (own.rate): margin 5.0 %");
    assert!(bed.got("a/runs").is_none(), "a plan measures nothing");
    let done = bed.call(&["--yes"]);
    done.ended(7).says("REGRESS after 3 pairs").says("-> all that this run changed goes back");
    done.says("ROLLED BACK: as it was before the run").says("2 hosts (b, c): not begun");
    assert!(done.out.contains("rolled back: the knob REGRESS"), "{}", done.out);
    assert_eq!(runs(&done), 6);
    assert_eq!(knobs(&bed, &hosts), ["100"; 3]);
    assert_eq!(bed.names("b"), ["knob"], "the others were not even measured");
    // The journal and the stored runs say the same.
    let run = bed.runs().pop().unwrap();
    bed.tunerun(&["show", &run]).ok().says("gate play1-wave0: REGRESS: rate: every run with the change");
    let stored = fs::read_to_string(bed.dir.join("runs").join(&run).join("gates/play1-wave0.json")).unwrap();
    let record: tunerun::gate::Record = serde_json::from_str(&stored).unwrap();
    assert_eq!(record.runs.len(), 6);
    assert_eq!(record.replay().unwrap().outcome, tunerun::gate::Outcome::Regress);
    assert!(record.runs.iter().all(|run| matches!(run.live, tunerun::gate::Live::Proven { .. })));
    bed.tunerun(&["gate", "replay", "last"]).ended(11).says("REGRESS after 3 pairs (6 runs)");
    let file = bed.dir.join("runs").join(&run).join("gates/play1-wave0.json");
    fs::write(&file, stored.replace("\"outcome\": \"REGRESS\"", "\"outcome\": \"PASS\"")).unwrap();
    bed.tunerun(&["gate", "replay", file.to_str().unwrap()]).ended(1).says("another one is stored");
    bed.tunerun(&["resume", "last", "--yes"]).ended(7).says("nothing to go on with: it was rolled back");
    bed.tunerun(&["undo", "last"]).ok();
    bed.tunerun(&["resume", "last", "--yes"]).ok().says("nothing to go on with: it was");
}

#[test]
fn a_gain_passes_and_goes_to_all() {
    let hosts = ["a", "b", "c"];
    let bed = bed(&hosts);
    let done = bed.play(&playbook("{waves: [1, 100%]}", "", 150));
    done.ok().says("PASS after 6 pairs").says("-> kept");
    done.says("spot check: the effect comes and goes with the change");
    assert_eq!(knobs(&bed, &hosts), ["150"; 3]);
    bed.call(&["--yes"]).ok().says("nothing to judge");
    bed.tunerun(&["undo", &bed.runs()[0]]).ok();
    assert_eq!(knobs(&bed, &hosts), ["100"; 3], "what a gate toggled goes back to what was before it");
}

#[test]
fn benchmarks_run_alone() {
    let bed = bed(&["a", "b"]);
    bed.file("site.yml", &playbook("{waves: [1, 100%]}", "", 50));
    let site = bed.dir.join("site.yml").display().to_string();
    let hosts = bed.dir.join("hosts.yml").display().to_string();
    let out = bed.dir.join("out.json").display().to_string();
    let done = bed.tunerun(&["bench", &site, "-i", &hosts, "--runs-each", "6", "--out", &out]);
    done.ok()
        .says("a, the knob: 6 runs\n  own.rate  10 0")
        .says("b, the knob: 6 runs")
        .says("runs differ by 0.");
    let stored: serde_json::Value = serde_json::from_str(&fs::read_to_string(&out).unwrap()).unwrap();
    assert_eq!(stored.as_array().unwrap().len(), 12);
    let done = bed.tunerun(&["bench", &site, "-i", &hosts, "--limit", "a", "--json"]);
    let told: serde_json::Value = serde_json::from_str(&done.ok().out).unwrap();
    assert_eq!(told[0]["host"], "a");
    assert!(
        told[0]["figures"]["own.rate"].is_object() || told[0]["figures"]["own.rate"].is_number(),
        "{told}"
    );
    assert_eq!(knobs(&bed, &["a", "b"]), ["100", "100"]);
    assert!(bed.runs().is_empty(), "nothing was changed, so there is no run");
    bed.tunerun(&["gate", "calibrate", &site, "-i", &hosts, "--limit", "a"])
        .ok()
        .says("24 pairs show a loss of 0.");
    bed.file("site.yml", "- hosts: all\n  tasks: []\n");
    bed.tunerun(&["bench", &site, "-i", &hosts]).ended(2).says("no play of this playbook has a gate");
}

#[test]
fn later_waves_stop_where_a_loss_shows() {
    let hosts = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
    let bed = bed(&hosts);
    // On the hosts of the second wave the change does harm.
    bed.file(
        "measure",
        &MEASURE.replace("echo \"{", "case $1 in */[bcde]) [ $knob = 100 ] || knob=40;; esac\necho \"{"),
    );
    let done = bed.play(&playbook("{waves: [1, 5, 100%]}", "", 150));
    done.ended(7).says("wave 2 of 3: b, c, d, e").says("the knob REGRESS");
    assert_eq!(knobs(&bed, &hosts), ["100"; 9], "{}", done.err);
}

#[test]
fn a_look_after_the_last_wave_takes_off_no_more_than_was_judged() {
    let hosts = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
    let bed = bed(&hosts);
    let earlier = "- hosts: all\n  gather_facts: false\n  tasks:\n    - copy: {dest: \"{{ root }}/earlier\", content: x}\n";
    let done = bed.play(&(earlier.to_owned() + &playbook("{waves: [1, 5, 100%]}", "runs_each: 3", 150)));
    done.ok().says("wave 2 of 3").says("spot check: the effect comes and goes with the change");
    assert_eq!(knobs(&bed, &hosts), ["150"; 9]);
    assert!(hosts.iter().all(|host| bed.got(&format!("{host}/earlier")).is_some()), "{}", done.err);
    bed.call(&["--check", "--detailed-exitcode"]).ok();
}

#[test]
fn what_cannot_be_decided_goes_back_unless_it_is_accepted() {
    let noisy = MEASURE.replace("% 97", "% 9973");
    let one = |gate: &str, rollout: &str| {
        let bed = bed(&["a"]);
        bed.file("measure", &noisy);
        let done = bed.play(&playbook(rollout, gate, 101));
        (done, knobs(&bed, &["a"]).remove(0))
    };
    let (done, knob) = one("max_pairs: 6", "{waves: [1]}");
    done.ended(7).says("INCONCLUSIVE after 6 pairs").says("about").says("pairs would decide");
    assert_eq!(knob, "100");
    let (done, knob) = one("max_pairs: 6", "{waves: [1], on_inconclusive: hold}");
    done.ended(12).says("held, not decided");
    assert_eq!(knob, "100", "what was not judged is off");
    let (done, knob) = one("max_pairs: 6", "{waves: [1], on_inconclusive: accept}");
    done.ok().says("ACCEPTED UNDECIDED");
    assert_eq!(knob, "101");
}

#[test]
fn a_loss_may_be_held_for_a_person() {
    let bed = bed(&["a", "b"]);
    let done = bed.play(&playbook("{waves: [1, 100%], on_regress: hold}", "", 50));
    done.ended(11).says("a regression stands");
    assert_eq!(knobs(&bed, &["a", "b"]), ["100", "100"]);
}

#[test]
fn runs_that_fail_with_the_change_alone_are_a_loss() {
    let bed = bed(&["a"]);
    bed.file("roots/a/broken", "");
    let done = bed.play(&playbook("{waves: [1]}", "", 150));
    done.ended(7).says("with the change runs on a fail, without it none does: ").says("it broke");
    assert_eq!(knobs(&bed, &["a"]), ["100"]);
}

#[test]
fn somebody_elses_edit_during_a_gate_is_never_overwritten() {
    let bed = bed(&["a"]);
    // The fourth measurement changes the knob itself.
    bed.file("measure", &MEASURE.replace("if [", "[ $n != 4 ] || echo 77 > knob\nif ["));
    let done = bed.play(&playbook("{waves: [1]}", "", 150));
    done.ended(6).says("NOT TAKEN BACK").says("somebody else has changed it since");
    assert_eq!(knobs(&bed, &["a"]), ["77"]);
}

#[test]
fn a_gate_is_refused_in_the_plan() {
    let bed = bed(&["a", "b"]);
    let refused = |playbook: &str, words: &[&str]| {
        let done = bed.play(playbook);
        done.ended(14);
        for word in words {
            done.says(word);
        }
    };
    refused(
        &playbook("{waves: [1, 100%]}", "max_time: 50s", 50),
        &["the gate may take", "`max_time` is 50 s", "cheaper: "],
    );
    refused(&playbook("{waves: [1, 100%]}", "max_pairs: 2", 50), &["2 pairs decide nothing"]);
    let command = playbook("{waves: [1]}", "", 50)
        .replace("copy: {dest: \"{{ root }}/knob\", content: \"50\\n\"}", "command: touch {{ root }}/x");
    refused(&command, &["cannot be taken off again", "toggle: none"]);
    let share = playbook("{waves: [1]}", "", 50).replace("- id: own", "- id: own\n        share: 2%");
    refused(&share, &["serve 2.00 % of the load", "gate calibrate"]);
    // Once the noise is known, so is what shows: half of a margin does, a fiftieth of it does not.
    let site = bed.dir.join("site.yml").display().to_string();
    let hosts = bed.dir.join("hosts.yml").display().to_string();
    bed.tunerun(&["gate", "calibrate", &site, "-i", &hosts, "--limit", "a"])
        .ok()
        .says("a: its noise is kept; plans of gates use it");
    refused(&share, &["serve 2.00 % of the load", "24 pairs at this noise", "show a loss of"]);
    bed.file("site.yml", &share.replace("share: 2%", "share: 50%"));
    bed.call(&["--check"]).ok().says("margin 5.0 %; at the noise of 12 runs (20");
    let later = playbook("{waves: [1], activate: later}", "", 50);
    bed.play(&later).ended(2).says("exclude each other");
    assert_eq!(knobs(&bed, &["a", "b"]), ["100", "100"]);
    assert!(bed.runs().is_empty());
}

#[test]
fn a_gate_that_was_killed_leaves_the_old_state_after_resume() {
    let bed = bed(&["a", "b"]);
    bed.file("site.yml", &playbook("{waves: [1, 100%]}", "", 150));
    // The third measurement waits to be killed, with the change on.
    let slow = MEASURE.replace("if [", "[ $n != 3 ] || { echo > waits; exec sleep 600; }\nif [");
    bed.file("measure", &slow);
    let mut command = Command::new(tunerun());
    command.args(["play", "site.yml", "-i", "hosts.yml", "--yes", "--runs", "runs"]).current_dir(&bed.dir);
    let mut child = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while bed.got("a/waits").is_none() {
        assert!(Instant::now() < until, "it never measured");
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    bed.file("measure", MEASURE);
    let done = bed.tunerun(&["resume", "last", "--no-play"]);
    done.ok();
    assert_eq!(knobs(&bed, &["a", "b"]), ["100", "100"], "what was not judged is off");
    bed.tunerun(&["resume", "last", "--yes"]).ok().says("PASS after 6 pairs");
    assert_eq!(knobs(&bed, &["a", "b"]), ["150", "150"]);
}

/// A play whose two tasks are judged one by one: the first does harm, or not.
fn one_by_one(first: u32) -> String {
    let gate = r#"gate:
        run: {settle: 0s, ramp: 0s, measure: 1s, steady: off}
        benchmarks:
          - id: own
            command:
              argv: [sh, "{{ playbook_dir }}/measure", "{{ root }}"]
              figures: {rate: {path: rate, direction: higher}}
        metrics:
          - {name: rate, from: own.rate, direction: higher, margin: 5%}"#;
    format!(
        r#"- name: two changes
  hosts: all
  gather_facts: false
  tasks:
    - copy: {{dest: "{{{{ root }}}}/before", content: x}}
    - name: the first
      copy: {{dest: "{{{{ root }}}}/knob", content: "{first}\n"}}
      {gate}
    - copy: {{dest: "{{{{ root }}}}/between", content: x}}
    - name: the second
      {gate}
      block:
        - copy: {{dest: "{{{{ root }}}}/more", content: x}}
          notify: felt
        - copy: {{dest: "{{{{ root }}}}/other", content: x}}
    - copy: {{dest: "{{{{ root }}}}/after", content: x}}
  handlers:
    - name: felt
      copy: {{dest: "{{{{ root }}}}/felt", content: x}}
"#
    )
}

#[test]
fn tasks_and_blocks_are_judged_one_by_one() {
    let bed = bed(&["a"]);
    bed.file("site.yml", &one_by_one(150));
    bed.call(&["--check"])
        .ok()
        .says("gate the first: up to 24 pairs")
        .says("gate the second: up to 24 pairs");
    let done = bed.call(&["--yes"]);
    done.ok()
        .says("gate the first on a: PASS after 6 pairs")
        .says("gate the second on a: PASS after 6 pairs");
    assert_eq!(bed.names("a"), ["after", "before", "between", "felt", "knob", "more", "other", "runs"]);
    assert_eq!(knobs(&bed, &["a"]), ["150"]);
    bed.call(&["--yes"]).ok().says("nothing to judge");
    bed.tunerun(&["undo", &bed.runs()[0]]).ok();
    assert_eq!(
        (bed.names("a"), knobs(&bed, &["a"])),
        (vec!["knob".into(), "runs".to_owned()], vec!["100".to_owned()])
    );
}

#[test]
fn a_loss_of_one_task_takes_back_what_came_before_it_too() {
    let bed = bed(&["a", "b"]);
    let done = bed.play(&one_by_one(50));
    done.ended(7).says("gate the first on a: REGRESS after 3 pairs").never_says("gate the second on");
    assert_eq!((bed.names("a"), bed.names("b").len()), (vec!["knob".into(), "runs".to_owned()], 1));
    assert_eq!(knobs(&bed, &["a", "b"]), ["100", "100"]);
}

#[test]
fn gates_do_not_stand_within_one_another() {
    let bed = bed(&["a"]);
    let nested = one_by_one(150).replace("        - copy: {dest: \"{{ root }}/more\", content: x}", "        - copy: {dest: \"{{ root }}/more\", content: x}\n          gate: {benchmarks: [], metrics: []}");
    bed.play(&nested).ended(2).says("a gate stands inside of another one");
    let both =
        one_by_one(150).replace("  gather_facts", "  gate: {benchmarks: [], metrics: []}\n  gather_facts");
    bed.play(&both).ended(2).says("a gate stands over this play, and another over a part of it");
}
