//! The committed reference of all modules is what they say of themselves.
use std::path::Path;
use tunerun::report::reference::reference;

#[test]
fn the_committed_reference_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../modules/REFERENCE.md");
    let now = reference();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &now).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = committed.lines().zip(now.lines()).find(|(old, new)| old != new);
    assert!(
        committed == now,
        "modules/REFERENCE.md is older than the modules: UPDATE=1 cargo test -p tests --test contract reference\n{differs:?}"
    );
}
