//! Reports of runs: no secret in any of them, and one for every run, however it stands.
use crate::bed::{Bed, on_all};
use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tests::program::tunerun;
use tunerun::vault::{Password, encrypt};

const WORD: &str = "s3cr3t-word";

/// All reports of a run in one text, the data in the page decoded.
fn reports(bed: &Bed, run: &str) -> String {
    let file = |name: &str| bed.dir.join(name).display().to_string();
    let (html, junit, metrics) = (file("r.html"), file("r.xml"), file("r.prom"));
    let words = ["report", run, "--html", &html, "--junit", &junit, "--prometheus", &metrics];
    let done = bed.tunerun(&words);
    done.ok();
    let page = fs::read_to_string(&html).unwrap();
    let mut all = page.clone();
    for data in page.split("base64,").skip(1) {
        let decode = format!("printf %s '{}' | base64 -d", data.split('"').next().unwrap());
        // One after the other by the shell's own standard input: an argument would be too long.
        let mut shell = Command::new("sh").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        std::io::Write::write_all(&mut shell.stdin.take().unwrap(), decode.as_bytes()).unwrap();
        let output = shell.wait_with_output().unwrap();
        assert!(output.status.success());
        all.push_str(&String::from_utf8(output.stdout).unwrap());
    }
    for more in [&junit, &metrics] {
        all.push_str(&fs::read_to_string(more).unwrap());
    }
    all + &done.err
}

#[test]
fn no_report_holds_a_secret() {
    let bed = Bed::new(&["a", "b"]);
    let password = bed.dir.join("pass");
    bed.file("pass", "right horse\n");
    let key = Password::new("default", "right horse".as_bytes());
    bed.file("secret.yml", &encrypt(format!("word: {WORD}\n").as_bytes(), &key, &[8; 32]));
    let text = r#"- hosts: all
  gather_facts: false
  vars_files: [secret.yml]
  tasks:
    - name: plain
      copy: {dest: "{{ root }}/plain", content: "shown-word\n"}
    - name: by the vault
      copy: {dest: "{{ root }}/x", content: "key = {{ word }}\n"}
    - name: a line
      lineinfile: {path: "{{ root }}/x", line: "again = {{ word }}", regexp: "^again = {{ word }}"}
    - name: by a program
      command: "echo {{ word }}"
      undo: "true"
    - name: for the owner alone
      copy: {dest: "{{ root }}/y", content: "private-word\n", mode: "0600"}
    - name: what others see of a file with a secret
      lineinfile: {path: "{{ root }}/x", line: "other = 1"}
    - name: it fails
      shell: "echo {{ word }} >&2; exit 3"
      undo: "true"
      when: inventory_hostname == 'b'
"#;
    bed.file("site.yml", text);
    let done = bed.call(&["--yes", "--vault-password-file", password.to_str().unwrap()]);
    done.ended(1).never_says(WORD);
    let run = bed.runs().remove(0);
    let told = reports(&bed, &run);
    assert!(told.contains("shown-word"), "what is no secret is shown");
    for word in [WORD, "private-word", "other = 1"] {
        assert!(!told.contains(word), "{word} is in a report");
    }
    for hidden in ["(hidden: a secret is in it)", "(hidden: others may not read this)"] {
        assert!(told.contains(hidden), "{hidden}");
    }
    bed.call(&["--yes", "--vault-password-file", password.to_str().unwrap(), "--limit", "b"]).ended(1);
    for format in ["text", "json"] {
        bed.tunerun(&["compare", &run, "last", "--format", format])
            .ok()
            .never_says(WORD)
            .never_says("private-word");
    }
    bed.tunerun(&["runs", "--format", "json"]).ok().never_says(WORD);
}

#[test]
fn a_run_that_goes_on_and_one_that_was_killed_have_reports() {
    let bed = Bed::one();
    bed.file(
        "site.yml",
        &on_all(
            "- name: first\n  copy: {dest: \"{{ root }}/x\", content: x}\n- name: slow\n  shell: |\n    touch {{ root }}/begun\n    while [ ! -e {{ root }}/end ]; do sleep 0.05; done\n",
        ),
    );
    let mut command = Command::new(tunerun());
    command.args(["play", "site.yml", "-i", "hosts.yml", "--yes", "--runs", "runs"]).current_dir(&bed.dir);
    let mut child = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while bed.got("a/begun").is_none() {
        assert!(Instant::now() < until, "it never began");
        std::thread::sleep(Duration::from_millis(20));
    }
    let told = reports(&bed, "last");
    assert!(
        told.contains("Still running, or cut off")
            && told.contains("tunerun_run_ended{playbook=\"site.yml\"} 0")
    );
    assert!(told.contains("it is still running, or was cut off</error>"), "{told}");
    child.kill().unwrap();
    child.wait().unwrap();
    bed.file("roots/a/end", "");
    // A torn last line is what a crash leaves.
    let journal = bed.dir.join("runs").join(&bed.runs()[0]).join("journal.jsonl");
    let text = fs::read(&journal).unwrap();
    fs::write(&journal, &text[..text.len() - 7]).unwrap();
    assert!(reports(&bed, "last").contains("torn record"));
    bed.tunerun(&["runs", "--ended", "open"]).ok().says("cut off, or still running");
    bed.tunerun(&["resume", "last", "--no-play"]).ok();
}

#[test]
fn what_was_undone_is_told() {
    let bed = Bed::one();
    bed.tasks("- name: first\n  copy: {dest: \"{{ root }}/x\", content: x}\n- copy: {dest: \"{{ root }}/y\", content: x}\n").ok();
    // What somebody took back by hand already is back, too.
    fs::remove_file(bed.dir.join("roots/a/y")).unwrap();
    bed.tunerun(&["undo", "last"]).ok();
    let told = reports(&bed, "last");
    assert!(told.contains("<p class=\"word\">Undone</p>") && told.contains("taken back</span>"), "{told}");
    assert!(told.contains("2 settings, 2 taken back"), "{told}");
    assert!(told.contains("afterwards: undone") && told.contains("standing=\"undone\""));
    bed.tunerun(&["runs", "--ended", "undone"]).ok().says("undone");
    bed.tunerun(&["runs", "--ended", "done"]).ok().says("none of the 1 runs");
}

#[test]
fn metrics_are_replaced_at_once() {
    let bed = Bed::one();
    bed.tasks("- copy: {dest: \"{{ root }}/x\", content: x}\n").ok();
    let folder = bed.dir.join("textfile");
    fs::create_dir(&folder).unwrap();
    let file = folder.join("tunerun.prom");
    fs::write(&file, "old").unwrap();
    let old = fs::File::open(&file).unwrap();
    bed.tunerun(&["report", "last", "--prometheus", file.to_str().unwrap()]).ok();
    assert!(fs::read_to_string(&file).unwrap().ends_with("} 0\n"));
    let seen = std::io::read_to_string(&old).unwrap();
    assert_eq!(seen, "old", "whoever reads the old one reads all of it");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing else is left there");
    // A pipe is written to, not replaced.
    let done = bed.tunerun(&["report", "last", "--junit", "/dev/stdout"]);
    assert!(done.ok().out.ends_with("</testsuites>\n"), "{}", done.out);
}
