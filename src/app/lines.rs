//! Tokens from a file or standard input, one a line, with memory bounded by the longest line that is kept.

use std::io::{self, BufRead, BufReader, Read};

use bytes::Bytes;

/// Room a line has besides its token: the members of a JSON object around it.
const LINE_SLACK: usize = 4096;

/// One line of input.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// A token, with what its JSON object said.
    Token {
        /// `id` of the object as JSON text, echoed.
        id: Option<String>,
        /// The token.
        token: Bytes,
        /// `issuer` of the object.
        issuer: Option<String>,
        /// `audience` of the object.
        audience: Option<String>,
    },
    /// Not a token nor an object with one.
    Unreadable(String),
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Object<'a> {
    token: String,
    #[serde(borrow)]
    id: Option<&'a serde_json::value::RawValue>,
    issuer: Option<String>,
    audience: Option<String>,
}

/// Reads items until the input ends; blank lines are passed over.
pub(super) struct Items<R> {
    input: BufReader<R>,
    line: Vec<u8>,
    line_max: usize,
    number: u64,
}

impl<R: Read> Items<R> {
    /// `token_max` is the longest token that can be accepted.
    pub(super) fn new(input: BufReader<R>, token_max: usize) -> Self {
        Self { input, line: Vec::new(), line_max: token_max.saturating_add(LINE_SLACK), number: 0 }
    }

    /// Number of the line that gave the last item, from 1; blank lines count.
    pub(super) const fn number(&self) -> u64 {
        self.number
    }

    /// Whether a whole line has been read already, so that the next item comes without waiting for input.
    pub(super) fn has_line(&self) -> bool {
        self.input.buffer().contains(&b'\n')
    }

    /// The next item; `None` at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<Item>> {
        loop {
            let Some(complete) = self.read_line()? else { return Ok(None) };
            self.number += 1;
            let text = self.line.trim_ascii();
            if text.is_empty() {
                continue;
            }
            return Ok(Some(match (text.first(), complete) {
                (Some(b'{'), true) => parse_object(text),
                (Some(b'{'), false) => Item::Unreadable(format!("a line longer than {} bytes", self.line_max)),
                // A token that was cut here is longer than any that is accepted, and will be rejected as that.
                _ => plain(Bytes::copy_from_slice(text)),
            }));
        }
    }

    /// Reads one line into `self.line`, at most `line_max` bytes of it; the rest is passed over. `false` if cut.
    fn read_line(&mut self) -> io::Result<Option<bool>> {
        self.line.clear();
        let mut complete = true;
        let mut any = false;
        loop {
            let available = match self.input.fill_buf() {
                Ok(available) => available,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if available.is_empty() {
                return Ok(any.then_some(complete));
            }
            any = true;
            let end = available.iter().position(|byte| *byte == b'\n');
            let part = &available[..end.unwrap_or(available.len())];
            let room = self.line_max - self.line.len();
            complete &= part.len() <= room;
            self.line.extend_from_slice(&part[..part.len().min(room)]);
            let used = part.len() + usize::from(end.is_some());
            self.input.consume(used);
            if end.is_some() {
                return Ok(Some(complete));
            }
        }
    }
}

/// A token without anything around it.
pub(super) fn plain(token: Bytes) -> Item {
    Item::Token { id: None, token, issuer: None, audience: None }
}

fn parse_object(text: &[u8]) -> Item {
    match serde_json::from_slice::<Object<'_>>(text) {
        Ok(Object { token, id, issuer, audience }) => {
            Item::Token { id: id.map(|id| id.get().to_owned()), token: token.into(), issuer, audience }
        }
        // A JSON object that is no request may still be meant as a token: a JWS in JSON serialization.
        Err(_) if serde_json::from_slice::<Serialization>(text).is_ok() => plain(Bytes::copy_from_slice(text)),
        Err(error) => Item::Unreadable(format!("not an object {{\"token\": \"...\"}}: {error}")),
    }
}

/// What every JWS in JSON serialization has (RFC 7515 section 7.2).
#[derive(serde::Deserialize)]
struct Serialization {
    #[serde(rename = "payload")]
    _payload: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(input: &[u8], token_max: usize) -> Vec<Item> {
        // A tiny buffer, so that lines span reads.
        let mut items = Items::new(BufReader::with_capacity(3, input), token_max);
        std::iter::from_fn(|| items.next().expect("memory does not fail")).collect()
    }

    #[test]
    fn plain_lines_and_objects_mix() {
        let items = all(b"a.b.c\r\n\n{\"token\":\"d.e.f\",\"id\":\"7\"}\n  g.h.i", 100);
        assert_eq!(items[0], plain(Bytes::from_static(b"a.b.c")));
        let Item::Token { id, token, .. } = &items[1] else { panic!("{:?}", items[1]) };
        assert_eq!((id.as_deref(), &token[..]), (Some("\"7\""), &b"d.e.f"[..]));
        assert_eq!(items[2], plain(Bytes::from_static(b"g.h.i")));
        assert_eq!(items.len(), 3);
    }

    #[test]
    fn numbers_are_those_of_lines() {
        let mut items = Items::new(BufReader::new(&b"\na.b.c\n\n\nd.e.f"[..]), 100);
        let mut numbers = Vec::new();
        while items.next().expect("memory does not fail").is_some() {
            numbers.push(items.number());
        }
        assert_eq!(numbers, [2, 5]);
    }

    #[test]
    fn long_lines_are_cut_and_the_next_line_is_read() {
        let mut input = vec![b'x'; 3 * LINE_SLACK];
        input.extend_from_slice(b"\na.b.c\n");
        let items = all(&input, 16);
        assert_eq!(items.len(), 2);
        let Item::Token { token, .. } = &items[0] else { panic!() };
        assert_eq!(token.len(), 16 + LINE_SLACK);
        assert_eq!(items[1], plain(Bytes::from_static(b"a.b.c")));
    }

    #[test]
    fn objects_with_foreign_members_are_unreadable() {
        let items = all(b"{\"tokn\":\"a\"}\n{\"token\":\"a\",\"now\":1}\n", 100);
        assert!(items.iter().all(|item| matches!(item, Item::Unreadable(_))), "{items:?}");
    }
}
