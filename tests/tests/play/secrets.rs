//! Secrets: nothing of them in any output, diff or journal text that people are shown.
use crate::bed::Bed;
use tunerun::vault::{Password, encrypt};

const WORD: &str = "s3cr3t-word";

#[test]
fn no_log_hides_words_diffs_and_failures() {
    let bed = Bed::one();
    let tasks = format!(
        r#"- copy: {{dest: "{{{{ root }}}}/x", content: {WORD}}}
  no_log: true
- shell: echo {WORD}; exit 1
  no_log: true
  ignore_errors: true
  register: r
- debug: {{msg: "{{{{ r.stdout }}}}"}}
- debug: {{var: r}}
- command: "echo {{{{ item }}}}"
  loop: [{WORD}]
  no_log: true
- shell: echo {WORD} >&2; exit 1
  no_log: true"#
    );
    bed.file("site.yml", &crate::bed::on_all(&tasks));
    bed.call(&["--check", "--diff"]).never_says(WORD);
    let done = bed.call(&["--yes", "--diff"]);
    assert_ne!(done.code, 0);
    done.never_says(WORD);
    assert_eq!(bed.got("a/x").as_deref(), Some(WORD));
}

#[test]
fn values_of_the_vault_taint_what_reads_them() {
    let bed = Bed::one();
    let password = bed.dir.join("pass");
    bed.file("pass", "right horse\n");
    let key = Password::new("default", "right horse".as_bytes());
    let armoured = encrypt(WORD.as_bytes(), &key, &[7; 32]);
    let whole = encrypt(format!("deep: {WORD}\n").as_bytes(), &key, &[8; 32]);
    let group = encrypt(format!("wide: {WORD}\n").as_bytes(), &key, &[9; 32]);
    let value: String = armoured.lines().map(|line| format!("        {line}\n")).collect();
    bed.file("secret.yml", &whole).file("group_vars/all.yml", &group);
    let text = format!(
        "- hosts: all\n  gather_facts: false\n  vars_files: [secret.yml]\n  vars:\n    word: !vault |\n{value}    around: \"<{{{{ word }}}}>\"\n  tasks:\n    - copy: {{dest: \"{{{{ root }}}}/x\", content: \"{{{{ around }}}}\"}}\n    - debug: {{msg: \"{{{{ word }}}}\"}}\n    - debug: {{var: around}}\n    - debug: {{msg: \"{{{{ deep }}}} {{{{ wide }}}}\"}}\n    - debug: {{msg: \"{{{{ wide }}}}\"}}\n    - set_fact: {{kept: \"{{{{ deep }}}}\"}}\n    - debug: {{var: kept}}\n    - copy: {{dest: \"{{{{ root }}}}/y\", content: \"{{{{ kept }}}}\"}}\n    - fail: {{msg: \"{{{{ deep }}}}\"}}\n      ignore_errors: true\n    - assert: {{that: false, fail_msg: \"{{{{ deep }}}}\"}}\n      ignore_errors: true\n    - command: \"echo {{{{ deep }}}}\"\n      register: said\n    - debug: {{var: said.stdout}}\n    - debug: {{msg: \"{{{{ item }}}}\"}}\n      loop: [\"{{{{ deep }}}}\"]\n"
    );
    bed.file("site.yml", &text);
    let vault = ["--vault-password-file", password.to_str().unwrap()];
    let check = bed.call(&[&vault[..], &["--check", "--diff"]].concat());
    check.ok().never_says(WORD);
    let done = bed.call(&[&vault[..], &["--yes", "--diff"]].concat());
    done.ok().never_says(WORD);
    assert_eq!(bed.got("a/x"), Some(format!("<{WORD}>")));
    assert_eq!(bed.got("a/y").as_deref(), Some(WORD));
    let missing = bed.call(&["--yes"]);
    assert_ne!(missing.code, 0);
    missing.never_says(WORD);
}

#[test]
fn answers_to_private_prompts_are_secret() {
    let bed = Bed::one();
    let text = "- hosts: all\n  gather_facts: false\n  vars_prompt: [{name: word, private: true}, {name: plain, private: false, default: d}]\n  tasks:\n    - debug: {msg: \"{{ word }}\"}\n    - name: t\n      debug: {msg: \"{{ plain }}\"}\n    - copy: {dest: \"{{ root }}/x\", content: \"{{ word }}\"}\n";
    bed.file("site.yml", text);
    let done = bed.call(&["--yes", "-e", &format!("word={WORD}"), "-e", "plain=given"]);
    done.ok().never_says(WORD);
    assert_eq!(done.said("a", "t"), ["given"]);
    bed.call(&["--yes"]).ended(16).says("-e word=");
}

#[test]
fn the_words_of_a_failure_hide_what_they_read() {
    for task in ["fail: {msg: \"{{ word }}\"}", "assert: {that: false, fail_msg: \"{{ word }}\"}"] {
        let bed = Bed::one();
        let text = format!(
            "- hosts: all\n  gather_facts: false\n  vars_prompt: [{{name: word, private: true}}]\n  tasks:\n    - {task}\n"
        );
        bed.file("site.yml", &text);
        for mode in ["--check", "--yes"] {
            let done = bed.call(&[mode, "-e", &format!("word={WORD}")]);
            assert_ne!(done.code, 0, "{task}");
            done.never_says(WORD);
        }
    }
}
