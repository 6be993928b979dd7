//! The pass that checks a whole document.

use std::borrow::Cow;

use super::value::{Value, unescape};
use super::{JsonError, JsonLimits, JsonProblem, Kind, Member};

/// Objects of up to this many members are checked for duplicates name by name, larger ones by sorting at their end.
const FEW_NAMES: usize = 16;

/// A name and where it starts.
type Name<'a> = (Cow<'a, str>, usize);

/// An array or object below the top that is not closed yet.
struct Frame {
    shape: Shape,
    /// Nothing has been read in it yet.
    is_fresh: bool,
}

enum Shape {
    Array,
    /// Its names are `Scanner::names` from here on.
    Object {
        names_start: usize,
    },
}

pub(super) struct Scanner<'a, 'l> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    limits: &'l JsonLimits,
    /// Members and elements so far.
    seen: usize,
    frames: Vec<Frame>,
    /// Names of all open objects below the top, those of the innermost last.
    names: Vec<Name<'a>>,
}

impl<'a, 'l> Scanner<'a, 'l> {
    pub(super) fn new(text: &'a str, limits: &'l JsonLimits) -> Self {
        Self { text, bytes: text.as_bytes(), at: 0, limits, seen: 0, frames: Vec::new(), names: Vec::new() }
    }

    /// The members of the one object that the text must be.
    pub(super) fn document(mut self) -> Result<Vec<Member<'a>>, JsonError> {
        self.skip_space();
        match self.peek() {
            Some(b'{') => {}
            Some(b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n') => return self.fail(JsonProblem::NotAnObject),
            _ => return self.expected("an object"),
        }
        if self.limits.depth == 0 {
            return self.fail(JsonProblem::TooDeep);
        }
        self.at += 1;
        let mut members: Vec<Member<'a>> = Vec::with_capacity(8);
        self.skip_space();
        if self.peek() == Some(b'}') {
            self.at += 1;
        } else {
            loop {
                self.count()?;
                let (name, name_position) = self.name()?;
                if members.len() <= FEW_NAMES && members.iter().any(|member| member.name == name) {
                    return Err(JsonError { problem: JsonProblem::DuplicateMember, position: name_position });
                }
                let value = self.value()?;
                members.push(Member { name, name_position, value });
                self.skip_space();
                match self.peek() {
                    Some(b',') => self.at += 1,
                    Some(b'}') => {
                        self.at += 1;
                        break;
                    }
                    _ => return self.expected("a comma or a closing brace"),
                }
                self.skip_space();
            }
            if members.len() > FEW_NAMES {
                let mut names: Vec<(&str, usize)> =
                    members.iter().map(|member| (&*member.name, member.name_position)).collect();
                refuse_duplicates(&mut names)?;
            }
        }
        self.skip_space();
        if self.at < self.bytes.len() {
            return self.expected("the end");
        }
        Ok(members)
    }

    /// A value and all that is in it.
    fn value(&mut self) -> Result<Value<'a>, JsonError> {
        let start = self.at;
        let kind = self.begin()?;
        while let Some(frame) = self.frames.last_mut() {
            let is_fresh = std::mem::replace(&mut frame.is_fresh, false);
            let names_start = match frame.shape {
                Shape::Array => None,
                Shape::Object { names_start } => Some(names_start),
            };
            self.skip_space();
            let close = if names_start.is_some() { b'}' } else { b']' };
            match self.peek() {
                Some(byte) if byte == close => {
                    self.at += 1;
                    self.end(names_start)?;
                    continue;
                }
                Some(b',') if !is_fresh => {
                    self.at += 1;
                    self.skip_space();
                }
                _ if is_fresh => {}
                _ if names_start.is_some() => return self.expected("a comma or a closing brace"),
                _ => return self.expected("a comma or a closing bracket"),
            }
            self.count()?;
            if let Some(names_start) = names_start {
                let name = self.name()?;
                // `names_start` is at most the length: the list is cut back to it only when this object ends.
                let known = &self.names[names_start..];
                if known.len() <= FEW_NAMES && known.iter().any(|(other, _)| *other == name.0) {
                    return Err(JsonError { problem: JsonProblem::DuplicateMember, position: name.1 });
                }
                self.names.push(name);
            }
            self.begin()?;
        }
        // `start <= at`, and both stand at ASCII characters or the end.
        Ok(Value::new(kind, &self.text[start..self.at], start))
    }

    /// Consumes a scalar, or the opening of an array or object.
    fn begin(&mut self) -> Result<Kind, JsonError> {
        match self.peek() {
            Some(b'{') => {
                self.open(Shape::Object { names_start: self.names.len() })?;
                Ok(Kind::Object)
            }
            Some(b'[') => {
                self.open(Shape::Array)?;
                Ok(Kind::Array)
            }
            Some(b'"') => {
                self.string()?;
                Ok(Kind::String)
            }
            Some(b'-' | b'0'..=b'9') => {
                self.number()?;
                Ok(Kind::Number)
            }
            Some(b't') => self.word(b"true", Kind::True),
            Some(b'f') => self.word(b"false", Kind::False),
            Some(b'n') => self.word(b"null", Kind::Null),
            _ => self.expected("a value"),
        }
    }

    fn open(&mut self, shape: Shape) -> Result<(), JsonError> {
        // The top object is not in `frames`; the new one is two deeper than the frames below it say.
        if self.frames.len() + 2 > self.limits.depth {
            return self.fail(JsonProblem::TooDeep);
        }
        self.at += 1;
        self.frames.push(Frame { shape, is_fresh: true });
        Ok(())
    }

    fn end(&mut self, names_start: Option<usize>) -> Result<(), JsonError> {
        self.frames.pop();
        if let Some(names_start) = names_start {
            // `names_start` is at most the length, as above.
            let names = &mut self.names[names_start..];
            if names.len() > FEW_NAMES {
                refuse_duplicates(names)?;
            }
            self.names.truncate(names_start);
        }
        Ok(())
    }

    /// A member name, its colon and the space around that.
    fn name(&mut self) -> Result<Name<'a>, JsonError> {
        let start = self.at;
        if self.peek() != Some(b'"') {
            return self.expected("a member name");
        }
        let has_escapes = self.string()?;
        // The string starts and ends with a quotation mark.
        let inner = &self.text[start + 1..self.at - 1];
        let name = if has_escapes { Cow::Owned(unescape(inner)) } else { Cow::Borrowed(inner) };
        self.skip_space();
        if self.peek() != Some(b':') {
            return self.expected("a colon");
        }
        self.at += 1;
        self.skip_space();
        Ok((name, start))
    }

    /// Checks a string; returns whether it holds escapes.
    fn string(&mut self) -> Result<bool, JsonError> {
        self.at += 1;
        let mut has_escapes = false;
        loop {
            // `at` is at most the length: it has moved past bytes that were there.
            self.at += plain_prefix(&self.bytes[self.at..]);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(has_escapes);
                }
                Some(b'\\') => {
                    has_escapes = true;
                    self.escape()?;
                }
                Some(_) => return self.expected("no control character in a string"),
                None => return self.expected("the end of a string"),
            }
        }
    }

    fn escape(&mut self) -> Result<(), JsonError> {
        let start = self.at;
        self.at += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.at += 1;
                return Ok(());
            }
            Some(b'u') => self.at += 1,
            _ => return self.expected("an escape"),
        }
        let lone = JsonError { problem: JsonProblem::LoneSurrogate, position: start };
        match self.four_hex()? {
            0xDC00..=0xDFFF => Err(lone),
            0xD800..=0xDBFF => {
                if self.peek() != Some(b'\\') || self.bytes.get(self.at + 1) != Some(&b'u') {
                    return Err(lone);
                }
                self.at += 2;
                if matches!(self.four_hex()?, 0xDC00..=0xDFFF) { Ok(()) } else { Err(lone) }
            }
            _ => Ok(()),
        }
    }

    fn four_hex(&mut self) -> Result<u32, JsonError> {
        let mut code = 0;
        for _ in 0..4 {
            let Some(digit) = self.peek().and_then(|byte| char::from(byte).to_digit(16)) else {
                return self.expected("a hexadecimal digit");
            };
            code = code * 16 + digit;
            self.at += 1;
        }
        Ok(code)
    }

    fn number(&mut self) -> Result<(), JsonError> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
            if matches!(self.peek(), Some(b'0'..=b'9')) {
                return self.expected("no digit after a leading zero");
            }
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        if self.at - start > self.limits.number_chars {
            return Err(JsonError { problem: JsonProblem::NumberTooLong, position: start });
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), JsonError> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return self.expected("a digit");
        }
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        Ok(())
    }

    fn word(&mut self, word: &'static [u8], kind: Kind) -> Result<Kind, JsonError> {
        if !self.bytes[self.at..].starts_with(word) {
            return self.expected("a value");
        }
        self.at += word.len();
        Ok(kind)
    }

    fn count(&mut self) -> Result<(), JsonError> {
        if self.seen == self.limits.members {
            return self.fail(JsonProblem::TooManyMembers);
        }
        self.seen += 1;
        Ok(())
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn expected<T>(&self, what: &'static str) -> Result<T, JsonError> {
        self.fail(JsonProblem::Expected(what))
    }

    fn fail<T>(&self, problem: JsonProblem) -> Result<T, JsonError> {
        Err(JsonError { problem, position: self.at })
    }
}

/// How many bytes at the start are neither a quotation mark, a backslash nor a control character: eight at a time.
fn plain_prefix(bytes: &[u8]) -> usize {
    const EACH: u64 = u64::MAX / 255;
    const TOPS: u64 = EACH * 0x80;
    let (words, tail) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        // The top bit of each byte that is below 0x20, or zero after the exclusive or. A borrow can set bits wrongly,
        // but only above one that is set rightly, and the lowest is the one that counts.
        let control = word.wrapping_sub(EACH * 0x20) & !word;
        let quote = word ^ (EACH * b'"' as u64);
        let quote = quote.wrapping_sub(EACH) & !quote;
        let backslash = word ^ (EACH * b'\\' as u64);
        let backslash = backslash.wrapping_sub(EACH) & !backslash;
        let special = (control | quote | backslash) & TOPS;
        if special != 0 {
            return index * 8 + special.trailing_zeros() as usize / 8;
        }
    }
    let plain = tail.iter().take_while(|byte| **byte >= 0x20 && !matches!(byte, b'"' | b'\\')).count();
    words.len() * 8 + plain
}

/// Sorts the names; refuses the leftmost that repeats another.
fn refuse_duplicates<N: AsRef<str> + Ord>(names: &mut [(N, usize)]) -> Result<(), JsonError> {
    names.sort_unstable();
    let second = names.windows(2).filter(|pair| pair[0].0 == pair[1].0).map(|pair| pair[1].1).min();
    match second {
        None => Ok(()),
        Some(position) => Err(JsonError { problem: JsonProblem::DuplicateMember, position }),
    }
}

#[cfg(test)]
mod tests {
    use super::plain_prefix;

    #[test]
    fn the_end_of_plain_text_is_found_at_every_place_and_after_every_byte() {
        for before in 0..=u8::MAX {
            for found in 0..=u8::MAX {
                let mut text = [before; 19];
                for at in [0, 1, 6, 7, 8, 9, 15, 16, 18] {
                    text[at] = found;
                    let is_plain = |byte: &u8| *byte >= 0x20 && *byte != b'"' && *byte != b'\\';
                    let expected = text.iter().position(|byte| !is_plain(byte)).unwrap_or(text.len());
                    assert_eq!(plain_prefix(&text), expected, "{before} {found} {at}");
                    text[at] = before;
                }
            }
        }
    }
}
