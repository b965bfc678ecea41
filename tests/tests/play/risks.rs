//! Risks: a change that carries one is refused until somebody accepts it by its name.
use crate::bed::Bed;

/// A host with a named pipe, which cannot be put back once it is gone.
fn with_pipe() -> Bed {
    let bed = Bed::one();
    let pipe = bed.dir.join("roots/a/pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    bed
}

const GONE: &str = "file: {path: \"{{ root }}/pipe\", state: absent}";

fn play(task: &str, block: &str, play: &str) -> String {
    format!(
        "- hosts: all\n  gather_facts: false\n{play}  tasks:\n    - copy: {{dest: \"{{{{ root }}}}/x\", content: x}}\n\
         \x20   - block:\n        - {GONE}\n{task}{block}"
    )
}

#[test]
fn a_risk_that_nobody_accepts_is_refused_before_anything_is_changed() {
    let bed = with_pipe();
    let done = bed.play(&play("", "", ""));
    done.ended(1)
        .says("accept_risk: {irreversible:")
        .says("neither a file that was read")
        .says("site.yml:6:");
    assert_eq!(bed.names("a"), ["pipe"]);
    assert!(bed.runs().is_empty());
}

#[test]
fn another_risk_that_is_accepted_does_not_count() {
    let bed = with_pipe();
    let done = bed.play(&play("          accept_risk: {data_loss: it is a lab}\n", "", ""));
    done.ended(1).says("accept_risk: {irreversible:");
    let done = bed.play(&play("          accept_risk: {irreversibel: it is a lab}\n", "", ""));
    done.ended(2).says("irreversibel").says("did you mean `irreversible`");
    assert_eq!(bed.names("a"), ["pipe"]);
}

#[test]
fn a_risk_is_accepted_on_the_task_its_block_or_its_play() {
    let waiver = "accept_risk: {irreversible: the pipe is made anew at each start}\n";
    let (task, block, whole) =
        (format!("          {waiver}"), format!("      {waiver}"), format!("  {waiver}"));
    for text in [play(&task, "", ""), play("", &block, ""), play("", "", &whole)] {
        let bed = with_pipe();
        bed.file("site.yml", &text);
        bed.call(&["--check"]).ok().says("accepted risk irreversible").says("no way back");
        bed.call(&["--yes"]).ok();
        assert_eq!(bed.names("a"), ["x"]);
        // What has no way back is said by the undo, which is never fine then; the rest goes back.
        bed.tunerun(&["undo", "last"]).ended(6).says("pipe");
        assert!(bed.names("a").is_empty());
    }
}
