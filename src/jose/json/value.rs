//! Values of a checked document, read again when somebody asks. Text in here is known to be strict JSON, so reading it
//! cannot fail.

use std::borrow::Cow;

use super::{Kind, Member};

/// A value of a document that has been checked as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value<'a> {
    kind: Kind,
    text: &'a str,
    position: usize,
}

impl<'a> Value<'a> {
    pub(super) const fn new(kind: Kind, text: &'a str, position: usize) -> Self {
        Self { kind, text, position }
    }

    /// What it is.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// Its JSON text, without space around it.
    #[must_use]
    pub const fn text(&self) -> &'a str {
        self.text
    }

    /// Where it starts in the document.
    #[must_use]
    pub const fn position(&self) -> usize {
        self.position
    }

    /// The unescaped string, if it is a string.
    #[must_use]
    pub fn string(&self) -> Option<Cow<'a, str>> {
        if self.kind != Kind::String {
            return None;
        }
        let inner = self.inner();
        Some(if inner.contains('\\') { Cow::Owned(unescape(inner)) } else { Cow::Borrowed(inner) })
    }

    /// What is between the quotation marks or brackets. Checked text has both; without them there is nothing.
    fn inner(&self) -> &'a str {
        self.text.get(1..self.text.len().saturating_sub(1)).unwrap_or_default()
    }

    /// The text of the number, if it is a number.
    #[must_use]
    pub fn number(&self) -> Option<&'a str> {
        (self.kind == Kind::Number).then_some(self.text)
    }

    /// The elements, if it is an array of strings.
    #[must_use]
    pub fn strings(&self) -> Option<Vec<Cow<'a, str>>> {
        if self.kind != Kind::Array {
            return None;
        }
        self.elements().map(|element| element.string()).collect()
    }

    /// The elements of an array; nothing if it is not one.
    #[must_use]
    pub fn elements(&self) -> Elements<'a> {
        Elements { rest: Rest::inside(*self, Kind::Array) }
    }

    /// The members of an object; nothing if it is not one.
    #[must_use]
    pub fn members(&self) -> Members<'a> {
        Members { rest: Rest::inside(*self, Kind::Object) }
    }
}

/// Iterator over the elements of an array.
#[derive(Clone, Debug)]
pub struct Elements<'a> {
    rest: Rest<'a>,
}

impl<'a> Iterator for Elements<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Value<'a>> {
        self.rest.value()
    }
}

/// Iterator over the members of an object.
#[derive(Clone, Debug)]
pub struct Members<'a> {
    rest: Rest<'a>,
}

impl<'a> Iterator for Members<'a> {
    type Item = Member<'a>;

    fn next(&mut self) -> Option<Member<'a>> {
        let name = self.rest.value()?;
        let value = self.rest.value()?;
        Some(Member { name: name.string()?, name_position: name.position, value })
    }
}

/// What is left between the brackets of an array or object.
#[derive(Clone, Debug)]
struct Rest<'a> {
    text: &'a str,
    at: usize,
    /// Of `text` in the document.
    position: usize,
}

impl<'a> Rest<'a> {
    fn inside(value: Value<'a>, kind: Kind) -> Self {
        let text = if value.kind == kind { value.inner() } else { "" };
        Self { text, at: 0, position: value.position + 1 }
    }

    /// The next value, past space, commas and colons.
    fn value(&mut self) -> Option<Value<'a>> {
        let bytes = self.text.as_bytes();
        while let Some(b' ' | b'\t' | b'\n' | b'\r' | b',' | b':') = bytes.get(self.at) {
            self.at += 1;
        }
        let start = self.at;
        let kind = match bytes.get(start)? {
            b'{' => Kind::Object,
            b'[' => Kind::Array,
            b'"' => Kind::String,
            b't' => Kind::True,
            b'f' => Kind::False,
            b'n' => Kind::Null,
            _ => Kind::Number,
        };
        match kind {
            Kind::Object | Kind::Array => self.skip_nested(),
            Kind::String => self.skip_string(),
            Kind::Number | Kind::True | Kind::False | Kind::Null => {
                while let Some(b'0'..=b'9' | b'a'..=b'z' | b'E' | b'+' | b'-' | b'.') = bytes.get(self.at) {
                    self.at += 1;
                }
            }
        }
        // Both ends are next to ASCII characters. `get` and not an index: should this text ever not be checked text,
        // the iteration ends and nobody panics.
        let text = self.text.get(start..self.at).filter(|text| !text.is_empty())?;
        Some(Value::new(kind, text, self.position + start))
    }

    fn skip_nested(&mut self) {
        let bytes = self.text.as_bytes();
        let mut depth = 0_usize;
        while let Some(byte) = bytes.get(self.at) {
            match byte {
                b'"' => {
                    self.skip_string();
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return;
            }
        }
    }

    fn skip_string(&mut self) {
        let bytes = self.text.as_bytes();
        self.at += 1;
        while let Some(byte) = bytes.get(self.at) {
            self.at += match byte {
                b'\\' => 2,
                _ => 1,
            };
            if *byte == b'"' {
                return;
            }
        }
    }
}

/// Resolves the escapes of the inside of a checked string. What it does not understand, which checked text does not
/// hold, becomes U+FFFD.
pub(super) fn unescape(inner: &str) -> String {
    let mut out = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(backslash) = rest.find('\\') {
        out.push_str(&rest[..backslash]);
        rest = &rest[backslash + 1..];
        let mut chars = rest.chars();
        let escaped = match chars.next() {
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('u') => {
                let first = hex(chars.as_str());
                chars = skip(chars.as_str(), 4);
                if (0xD800..0xDC00).contains(&first) {
                    let second = hex(skip(chars.as_str(), 2).as_str());
                    chars = skip(chars.as_str(), 6);
                    char::decode_utf16([first, second])
                        .next()
                        .and_then(Result::ok)
                        .unwrap_or(char::REPLACEMENT_CHARACTER)
                } else {
                    char::from_u32(u32::from(first)).unwrap_or(char::REPLACEMENT_CHARACTER)
                }
            }
            Some(itself @ ('"' | '\\' | '/')) => itself,
            _ => char::REPLACEMENT_CHARACTER,
        };
        out.push(escaped);
        rest = chars.as_str();
    }
    out.push_str(rest);
    out
}

fn skip(text: &str, bytes: usize) -> std::str::Chars<'_> {
    text.get(bytes..).unwrap_or_default().chars()
}

/// The code unit of four hexadecimal digits at the start of `text`.
fn hex(text: &str) -> u16 {
    text.get(..4).and_then(|digits| u16::from_str_radix(digits, 16).ok()).unwrap_or(0xFFFD)
}
