//! Contents that are written once and then named by their digest: serde has no way to hand such a store down, so it is
//! in force for the length of a call on its thread.
use super::bytes::{Bytes, Digest};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Contents below this size stay where they are, in bytes.
const SMALL: usize = 128;

/// Contents by their digest.
pub type Blobs = BTreeMap<Digest, Bytes>;

thread_local! {
    static TAKEN: RefCell<Option<Vec<Bytes>>> = const { RefCell::new(None) };
    static KNOWN: RefCell<Option<Blobs>> = const { RefCell::new(None) };
}

/// Makes JSON in which contents of 128 bytes and more are named by their digest alone. Gives these contents.
///
/// # Errors
/// As the writing.
pub fn written<T, E>(write: impl FnOnce() -> Result<T, E>) -> Result<(T, Vec<Bytes>), E> {
    let before = TAKEN.replace(Some(Vec::new()));
    let result = write();
    let taken = TAKEN.replace(before).unwrap_or_default();
    result.map(|result| (result, taken))
}

/// Reads JSON in which contents are named by digests of `blobs`.
///
/// # Errors
/// As the reading; a digest that `blobs` does not hold.
pub fn read<T, E>(blobs: &mut Blobs, read: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    let before = KNOWN.replace(Some(std::mem::take(blobs)));
    let result = read();
    *blobs = KNOWN.replace(before).unwrap_or_default();
    result
}

/// Notes a content that is written by its digest; false where it must be written whole.
pub(super) fn by_digest(bytes: &Bytes) -> bool {
    bytes.as_slice().len() >= SMALL
        && TAKEN.with_borrow_mut(|taken| taken.as_mut().map(|taken| taken.push(bytes.clone())).is_some())
}

/// The content of a digest.
pub(super) fn shared(digest: Digest) -> Option<Bytes> {
    KNOWN.with_borrow(|known| known.as_ref()?.get(&digest).cloned())
}

#[cfg(test)]
mod tests {
    use super::{Blobs, Bytes, read, written};

    #[test]
    fn large_contents_are_named_where_that_is_asked_for() {
        for large in [vec![b'x'; 200], vec![0xff; 200]] {
            let both = [Bytes::from("small"), Bytes::from(&large), Bytes::from(&large)];
            let (json, taken) = written(|| serde_json::to_string(&both)).unwrap();
            assert!(json.len() < 200 && json.contains("small"), "{json}");
            assert_eq!(taken, both[1..]);
            let mut blobs: Blobs = taken.into_iter().map(|bytes| (bytes.digest(), bytes)).collect();
            assert_eq!(read(&mut blobs, || serde_json::from_str::<Vec<Bytes>>(&json)).unwrap(), both);
            assert_eq!(blobs.len(), 1);
            // Outside nobody knows them, and nothing is left in force.
            assert!(serde_json::from_str::<Vec<Bytes>>(&json).is_err());
            assert!(serde_json::to_string(&both).unwrap().len() > 200);
        }
    }
}
