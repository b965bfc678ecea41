//! Cuts one stream of an interpreter into outputs and marks.

/// A mark's line is never longer; longer means that the host does not speak the protocol.
const LINE_LIMIT: usize = 256;

/// The 128 random bits that no output of a session can hold, with a byte before them that text seldom has.
#[derive(Clone)]
pub(crate) struct Mark(Vec<u8>);

impl Mark {
    /// The byte before the random digits.
    pub(crate) const LEAD: u8 = 0x1e;

    pub(crate) fn random() -> Self {
        let digits = format!("{:032x}", rand::random::<u128>());
        Self([&[Self::LEAD], digits.as_bytes()].concat())
    }

    /// The digits alone, as they travel to the interpreter.
    pub(crate) fn digits(&self) -> &str {
        std::str::from_utf8(&self.0[1..]).unwrap_or_default()
    }
}

/// What a piece of the stream was.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Part<'a> {
    /// Output.
    Data(&'a [u8]),
    /// A mark with the words behind it.
    Mark(Vec<String>),
}

/// The state between pieces: a half-seen mark is held back until it is one or is none.
pub(crate) struct Splitter {
    mark: Mark,
    held: Vec<u8>,
    line: Option<Vec<u8>>,
}

impl Splitter {
    pub(crate) fn new(mark: Mark) -> Self {
        Self { mark, held: Vec::new(), line: None }
    }

    /// Takes a piece in and gives its parts in order. An error says how the host broke the protocol.
    pub(crate) fn feed(&mut self, piece: &[u8], sink: &mut dyn FnMut(Part<'_>)) -> Result<(), String> {
        let mut rest = piece;
        while !rest.is_empty() {
            rest = match self.line.take() {
                Some(line) => self.read_line(line, rest, sink)?,
                None => self.read_data(rest, sink),
            };
        }
        Ok(())
    }

    fn read_line<'a>(
        &mut self,
        mut line: Vec<u8>,
        rest: &'a [u8],
        sink: &mut dyn FnMut(Part<'_>),
    ) -> Result<&'a [u8], String> {
        let end = rest.iter().position(|byte| *byte == b'\n');
        line.extend_from_slice(&rest[..end.unwrap_or(rest.len())]);
        if line.len() > LINE_LIMIT {
            return Err(format!("a mark was followed by {} bytes without a line end", line.len()));
        }
        let Some(end) = end else {
            self.line = Some(line);
            return Ok(&[]);
        };
        let words = String::from_utf8_lossy(&line).split_ascii_whitespace().map(str::to_owned).collect();
        sink(Part::Mark(words));
        Ok(&rest[end + 1..])
    }

    fn read_data<'a>(&mut self, rest: &'a [u8], sink: &mut dyn FnMut(Part<'_>)) -> &'a [u8] {
        if !self.held.is_empty() {
            return self.go_on_with_held(rest, sink);
        }
        let mark = &self.mark.0;
        let mut from = 0;
        while let Some(found) = rest[from..].iter().position(|byte| *byte == Mark::LEAD) {
            let at = from + found;
            let seen = &rest[at..rest.len().min(at + mark.len())];
            if mark.starts_with(seen) {
                if at > 0 {
                    sink(Part::Data(&rest[..at]));
                }
                if seen.len() == mark.len() {
                    self.line = Some(Vec::new());
                } else {
                    self.held = seen.to_vec();
                }
                return &rest[at + seen.len()..];
            }
            from = at + 1;
        }
        sink(Part::Data(rest));
        &[]
    }

    /// The lead byte is nowhere else in a mark, so a broken start can hold no other start.
    fn go_on_with_held<'a>(&mut self, rest: &'a [u8], sink: &mut dyn FnMut(Part<'_>)) -> &'a [u8] {
        let wanted = &self.mark.0[self.held.len()..];
        let same = wanted.iter().zip(rest).take_while(|(want, got)| want == got).count();
        self.held.extend_from_slice(&rest[..same]);
        if self.held.len() == self.mark.0.len() {
            self.held.clear();
            self.line = Some(Vec::new());
        } else if same < rest.len() {
            sink(Part::Data(&std::mem::take(&mut self.held)));
        }
        &rest[same..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parts(stream: &[u8], mark: &Mark, size: usize) -> (Vec<u8>, Vec<(usize, Vec<String>)>) {
        let mut splitter = Splitter::new(mark.clone());
        let (mut data, mut marks) = (Vec::new(), Vec::new());
        for piece in stream.chunks(size) {
            splitter
                .feed(piece, &mut |part| match part {
                    Part::Data(bytes) => data.extend_from_slice(bytes),
                    Part::Mark(words) => marks.push((data.len(), words)),
                })
                .unwrap();
        }
        (data, marks)
    }

    proptest! {
        #[test]
        fn any_cut_gives_the_same(
            outputs in prop::collection::vec(prop::collection::vec(prop_oneof![any::<u8>(), Just(0x1e), Just(b'a')], 0..80), 1..6),
            prefixes in prop::collection::vec(0usize..33, 6),
            size in 1usize..50,
        ) {
            let mark = Mark::random();
            let (mut stream, mut wanted, mut at) = (Vec::new(), Vec::new(), Vec::new());
            for (output, prefix) in outputs.iter().zip(prefixes) {
                // A nearly whole mark is output.
                for bytes in [output.as_slice(), &mark.0[..prefix], &mark.0[..prefix]] {
                    stream.extend_from_slice(bytes);
                    wanted.extend_from_slice(bytes);
                }
                stream.extend_from_slice(&mark.0);
                stream.extend_from_slice(b" s tag 3\n");
                at.push((wanted.len(), vec!["s".to_owned(), "tag".to_owned(), "3".to_owned()]));
            }
            let (data, marks) = parts(&stream, &mark, size);
            prop_assert_eq!(data, wanted);
            prop_assert_eq!(marks, at);
        }
    }

    #[test]
    fn an_endless_mark_line_is_an_error() {
        let mark = Mark::random();
        let mut splitter = Splitter::new(mark.clone());
        splitter.feed(&mark.0, &mut |_| ()).unwrap();
        assert!(splitter.feed(&[b'x'; 300], &mut |_| ()).is_err());
    }
}
