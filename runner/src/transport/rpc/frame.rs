//! Answers out of a stream of bytes. Nothing frames them: an answer ends where its JSON object ends.
use modules::programs::rpc::Reply;
use serde_json::Value as Json;

/// The longest answer, in bytes.
const LONGEST: usize = 64 << 20;

/// Why bytes are not answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Garbage(pub String);

/// Bytes that arrive in any pieces, and the answers in them.
#[derive(Debug, Default)]
pub struct Answers {
    bytes: Vec<u8>,
    /// How many bytes were tried in vain: a piece that does not close an object is not worth a try.
    tried: usize,
}

impl Answers {
    /// Takes a piece.
    pub fn feed(&mut self, piece: &[u8]) {
        self.bytes.extend_from_slice(piece);
    }

    /// How many bytes wait for their rest.
    pub fn waiting(&self) -> usize {
        self.bytes.iter().skip_while(|byte| byte.is_ascii_whitespace()).count()
    }

    /// The next answer: its number, and what it says; none where its rest has not arrived.
    ///
    /// # Errors
    /// [`Garbage`].
    pub fn next_reply(&mut self) -> Result<Option<(Json, Reply)>, Garbage> {
        let start = self.bytes.iter().position(|byte| !byte.is_ascii_whitespace());
        let Some(start) = start else {
            self.bytes.clear();
            self.tried = 0;
            return Ok(None);
        };
        if self.bytes[start] != b'{' {
            return Err(Garbage(format!("it begins with {}", shown(&self.bytes[start..]))));
        }
        if !self.bytes[self.tried..].contains(&b'}') {
            return self.more();
        }
        let mut objects = serde_json::Deserializer::from_slice(&self.bytes[start..]).into_iter::<Json>();
        match objects.next() {
            Some(Ok(object)) => {
                let end = start + objects.byte_offset();
                self.bytes.drain(..end);
                self.tried = 0;
                answer(object).map(Some)
            }
            Some(Err(error)) if !error.is_eof() => {
                Err(Garbage(format!("{error}, in {}", shown(&self.bytes[start..]))))
            }
            _ => self.more(),
        }
    }

    fn more(&mut self) -> Result<Option<(Json, Reply)>, Garbage> {
        self.tried = self.bytes.len();
        match self.bytes.len() > LONGEST {
            true => Err(Garbage(format!("it is longer than {} MiB", LONGEST >> 20))),
            false => Ok(None),
        }
    }
}

fn answer(mut object: Json) -> Result<(Json, Reply), Garbage> {
    let text = shown(object.to_string().as_bytes());
    let Some(fields) = object.as_object_mut() else { return Err(Garbage(text)) };
    let id = fields.remove("id").unwrap_or(Json::Null);
    match (fields.remove("result"), fields.remove("error")) {
        (Some(result), None | Some(Json::Null)) => Ok((id, Reply::Result(result))),
        (None | Some(Json::Null), Some(error @ Json::Object(_))) => {
            let code = error.get("code").and_then(Json::as_i64);
            let message = error.get("message").and_then(Json::as_str).unwrap_or("it says no reason");
            let code = code.ok_or_else(|| Garbage(format!("an error without a code: {text}")))?;
            Ok((id, Reply::Error { code, message: message.to_owned() }))
        }
        _ => Err(Garbage(format!("neither a result nor an error: {text}"))),
    }
}

/// The begin of what came, as text.
fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).into_owned();
    let text: String = text.chars().take(80).collect();
    format!("{text:?}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn all(pieces: &[&[u8]]) -> Result<Vec<(Json, Reply)>, Garbage> {
        let mut answers = Answers::default();
        let mut found = Vec::new();
        for piece in pieces {
            answers.feed(piece);
            while let Some(answer) = answers.next_reply()? {
                found.push(answer);
            }
        }
        Ok(found)
    }

    #[test]
    fn several_in_one_piece_and_no_newline() {
        let found =
            all(&[br#"{"id":1,"result":true} {"id":2,"error":{"code":-19,"message":"No"}}"#]).unwrap();
        assert_eq!(found[0], (json!(1), Reply::Result(json!(true))));
        assert_eq!(found[1], (json!(2), Reply::Error { code: -19, message: "No".to_owned() }));
    }

    #[test]
    fn what_is_no_answer_is_told() {
        for (bytes, words) in [
            (&b"hello\n"[..], "hello"),
            (b"[1]", "begins with"),
            (b"{\"id\":1}", "neither"),
            (b"{\"id\":1,}", "trailing"),
            (b"{\"id\":1,\"error\":{\"message\":\"x\"}}", "without a code"),
            (b"\xff\xfe", "begins with"),
        ] {
            let why = all(&[bytes]).unwrap_err().0;
            assert!(why.contains(words), "{why}");
        }
    }

    #[test]
    fn a_null_result_is_a_result() {
        assert_eq!(all(&[br#"{"id":1,"result":null}"#]).unwrap(), [(json!(1), Reply::Result(Json::Null))]);
    }

    proptest! {
        #[test]
        fn cuts_do_not_matter(cuts in proptest::collection::vec(0usize..90, 0..8)) {
            let text = "{\"id\":1,\"result\":[\"}{\",\"\\\"}\"]}\n{\"id\":2,\"result\":{\"a\":{\"b\":\"ü}\"}}}".as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect();
            prop_assert_eq!(all(&pieces).unwrap(), all(&[text]).unwrap());
        }
    }
}
