//! Real runs on this machine, and their pages.
use crate::bed::Bed;
use std::fs;
use std::path::PathBuf;

/// Prints the knob's figures with a little noise.
const MEASURE: &str = r#"cd "$1" || exit 1
read -r knob < knob
n=$(cat runs 2>/dev/null || echo 0); n=$((n + 1)); echo $n > runs
[ ! -e more ] || knob=$((knob + 50))
echo "{\"rate\": $((knob * 100 + (n * 7919) % 97)), \"lat_ns\": $((400000000 / knob + (n * 7907) % 7001))}"
"#;

const GATE: &str = r#"  gate:
    run: {settle: 0s, ramp: 0s, measure: 1s, steady: off}
    benchmarks:
      - id: own
        command:
          argv: [sh, "{{ playbook_dir }}/measure", "{{ root }}"]
          figures: {rate: {path: rate, direction: higher}, lat_ns: {path: lat_ns, direction: lower}}
    metrics:
      - {name: rate, from: own.rate, direction: higher, margin: 5%}
      - {name: latency with a name that is far too long for a narrow page to show it, from: own.lat_ns, direction: lower, margin: 10%}
"#;

const HOSTS: [&str; 5] = ["osd1", "osd2", "osd3", "osd4", "odd"];

pub fn bed() -> Bed {
    let bed = Bed::new(&HOSTS);
    bed.file("measure", MEASURE);
    bed
}

/// Knobs at 100 and nothing else, whatever was there.
fn anew(bed: &Bed) {
    for host in HOSTS {
        let root = bed.dir.join("roots").join(host);
        fs::remove_dir_all(&root).unwrap();
        bed.file(&format!("roots/{host}/knob"), "100\n");
    }
    bed.file("roots/odd/tunings.conf", "old = 1\n");
}

fn knob(to: u32) -> String {
    format!(
        "- name: the knob\n  hosts: all\n  gather_facts: false\n  rollout: {{waves: [1, 100%]}}\n{GATE}  tasks:\n{}",
        r##"    - name: Turn the knob
      copy: {dest: "{{ root }}/knob", content: "TO\n"}
    - name: The tunings
      copy: {dest: "{{ root }}/tunings.conf", content: "# tunings of {{ inventory_hostname }}, and a line that is much longer than any narrow page is wide: 0123456789 0123456789 0123456789 0123456789\na = 1\n", mode: "0644"}
    - name: The password
      copy: {dest: "{{ root }}/secret.conf", content: "password = s3cr3t-word\n"}
      no_log: true
"##
        .replace("TO", &to.to_string())
    )
}

/// The page of the newest run.
fn page(bed: &Bed, name: &str) -> PathBuf {
    let file = bed.dir.join(format!("{name}.html"));
    bed.tunerun(&["report", "last", "--html", file.to_str().unwrap()]).ok();
    let text = fs::read_to_string(&file).unwrap();
    assert!(!text.contains("s3cr3t-word"), "{name}");
    file
}

pub fn passed(bed: &Bed) -> PathBuf {
    anew(bed);
    bed.play(&knob(150)).ok().says("PASS after 6 pairs");
    page(bed, "passed")
}

pub fn rolled_back(bed: &Bed) -> PathBuf {
    anew(bed);
    bed.play(&knob(50)).ended(7).says("REGRESS after 3 pairs");
    page(bed, "rolled-back")
}

pub fn ladder(bed: &Bed) -> PathBuf {
    anew(bed);
    let tasks = r#"    - name: Huge pages for the guests
      copy: {dest: "{{ root }}/knob", content: "130\n"}
    - name: A rung with a name that is far too long for a narrow page to show all of it
      copy: {dest: "{{ root }}/more", content: x}
    - name: A thing that is worth nothing
      copy: {dest: "{{ root }}/other", content: x}
"#;
    let text = format!("- name: three changes\n  hosts: all\n  gather_facts: false\n{GATE}  tasks:\n{tasks}");
    bed.file("site.yml", &text);
    let site = bed.dir.join("site.yml").display().to_string();
    let hosts = bed.dir.join("hosts.yml").display().to_string();
    let done = bed.tunerun(&["ladder", &site, "-i", &hosts, "--limit", "osd1", "--yes"]);
    done.ok().says("ladder of rate on osd1");
    page(bed, "ladder")
}

/// Names that would be markup, long ones, and a task that fails.
pub fn hostile(bed: &Bed) -> PathBuf {
    anew(bed);
    let long = "a-folder-with-a-very-long-name/".repeat(6);
    let tasks = format!(
        r#"- name: "<script>alert('a task')</script> & \"more\" <img src=x onerror=alert(1)>"
  copy: {{dest: "{{{{ root }}}}/<b>bold<.b>", content: "</pre><script>alert('a file')</script>\n"}}
- name: A folder
  file: {{path: "{{{{ root }}}}/{long}", state: directory}}
- name: A program
  shell: "echo '<h1>' '{}' >&2; exit 3"
"#,
        "word ".repeat(80)
    );
    let done = bed.tasks(&tasks);
    assert_ne!(done.code, 0, "{}", done.err);
    page(bed, "hostile")
}

/// A run of which the end is not recorded.
pub fn cut_off(bed: &Bed) -> PathBuf {
    let run = bed.runs().pop().unwrap();
    let path = bed.dir.join("runs").join(run).join("journal.jsonl");
    let text = fs::read(&path).unwrap();
    fs::write(&path, &text[..text.len() * 2 / 3]).unwrap();
    page(bed, "cut-off")
}
