//! The visible tables of RPC methods that tunerun may send over a socket: what reads, and what changes.
//! A new method is a row here, which a reviewer sees.
mod asking;
mod guard;
mod sending;
mod taking;

pub use asking::{ASKING, Question, asks, question, taken};
pub(crate) use guard::exports;
pub use guard::{forbids, guards};
pub use sending::{Method, SENDING, explained, method, seconds, touches};

use serde_json::{Value as Json, json};

/// What a method came to.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// It was done; the result.
    Result(Json),
    /// It was refused.
    Error {
        /// SPDK has two families: -errno of bdev methods, and -32602 for everything of vhost methods, where the
        /// message alone tells.
        code: i64,
        /// The words.
        message: String,
    },
}

/// A request as it goes over the wire. The answer bears the same number. Absent parameters are left out: some targets
/// refuse an empty object.
pub fn encoded(id: u64, method: &str, params: &Json) -> String {
    let mut request = json!({ "jsonrpc": "2.0", "id": id, "method": method });
    let empty = params.is_null() || params.as_object().is_some_and(serde_json::Map::is_empty);
    if let (false, Some(request)) = (empty, request.as_object_mut()) {
        request.insert("params".to_owned(), params.clone());
    }
    format!("{request}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::{Row, Seen};

    #[test]
    fn names_are_unique_in_both_tables() {
        let mut names: Vec<_> = ASKING.iter().map(|row| row.name).collect();
        names.extend(SENDING.iter().map(|row| row.name));
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
        // What reads is never in the table of what changes.
        for row in ASKING {
            assert!(method(row.method).is_none(), "{}", row.method);
        }
    }

    #[test]
    fn requests_leave_empty_parameters_out() {
        assert_eq!(
            encoded(3, "spdk_get_version", &json!({})),
            "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"spdk_get_version\"}\n"
        );
        assert!(
            encoded(4, "bdev_malloc_delete", &json!({ "name": "M" })).contains("\"params\":{\"name\":\"M\"}")
        );
    }

    #[test]
    fn an_unknown_row_is_named() {
        assert!(asks(&Row::new("rm", ["x"])).unwrap_err().contains("`rm`"));
        assert!(matches!(
            taken(&Row::new("rm", ["x"]), &Reply::Result(Json::Null)),
            Seen::Failed(words) if words.contains("`rm`")
        ));
    }
}
