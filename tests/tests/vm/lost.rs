//! A host that does not come back in time, and nobody who could power it off and on.
use super::bed::play;
use tests::vm::{Vm, can};

#[test]
fn a_host_that_does_not_come_back_is_lost_and_said_so() {
    if !can() {
        return;
    }
    let vm = Vm::restored();
    let done = play(&vm, "- reboot:\n    reboot_timeout: 2\n", &[]);
    done.ended(17, &["vm is lost", "did not come back within 2 s", "LOST", "tunerun resume"]);
}
