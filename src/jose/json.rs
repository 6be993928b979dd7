//! Strict JSON (RFC 8259): the only reader of JSON in headers, claims and key sets.
//!
//! Stricter than the RFC where the RFC leaves a choice: duplicate member names are refused at every depth (compared
//! after unescaping), depth, member count and number length are capped, lone surrogate escapes are refused, and so is a
//! byte order mark. The whole document is checked before anything of it is handed out. Names and values are borrowed
//! from the document where they hold no escapes.
//!
//! The reader keeps its own stack, so nesting costs memory in proportion to the depth cap and never the thread's stack.
//! Work is linear in the document, but for the duplicate check of objects with many members, which sorts their names:
//! no hash that a sender could aim at. It knows nothing of JOSE.

mod scanner;
mod value;

use std::borrow::Cow;

use super::{Limits, MalformedKind};
use scanner::Scanner;
pub use value::{Elements, Members, Value};

/// Bounds on one document; inclusive maxima.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonLimits {
    /// Nesting of arrays and objects, the outermost being 1.
    pub depth: usize,
    /// Members of all objects plus elements of all arrays.
    pub members: usize,
    /// Characters of one number.
    pub number_chars: usize,
}

impl Limits {
    /// The bounds that concern JSON.
    #[must_use]
    pub const fn json(&self) -> JsonLimits {
        JsonLimits { depth: self.json_depth, members: self.json_members, number_chars: self.number_chars }
    }
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `{...}`.
    Object,
    /// `[...]`.
    Array,
    /// `"..."`.
    String,
    /// A number in the grammar of RFC 8259 section 6.
    Number,
    /// `true`.
    True,
    /// `false`.
    False,
    /// `null`.
    Null,
}

/// One member of an object.
#[derive(Clone, Debug)]
pub struct Member<'a> {
    /// The name, unescaped.
    pub name: Cow<'a, str>,
    /// Where the name starts in the document, at its quotation mark.
    pub name_position: usize,
    /// The value.
    pub value: Value<'a>,
}

/// A document is not what we read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem} at byte {position}")]
pub struct JsonError {
    /// What is wrong.
    pub problem: JsonProblem,
    /// Offset in the document of the first byte that cannot be: for a duplicate the start of the second name, for a
    /// value that is too long or too deep its start.
    pub position: usize,
}

/// Why a document is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum JsonProblem {
    /// A byte that is not UTF-8.
    #[error("not UTF-8")]
    Utf8,
    /// Against the grammar; the text says what could stand there.
    #[error("not JSON: expected {0}")]
    Expected(&'static str),
    /// Half of a surrogate pair without the other half.
    #[error("an escape of half a character")]
    LoneSurrogate,
    /// JSON, and not an object at the top.
    #[error("not an object")]
    NotAnObject,
    /// A name that the same object has had before.
    #[error("a member name occurs twice")]
    DuplicateMember,
    /// Above [`JsonLimits::depth`].
    #[error("nested too deeply")]
    TooDeep,
    /// Above [`JsonLimits::members`].
    #[error("too many members and elements")]
    TooManyMembers,
    /// Above [`JsonLimits::number_chars`].
    #[error("a number with too many characters")]
    NumberTooLong,
}

impl JsonError {
    /// The malformation it is in a token.
    #[must_use]
    pub const fn kind(&self) -> MalformedKind {
        match self.problem {
            JsonProblem::Utf8 => MalformedKind::Utf8,
            JsonProblem::Expected(_) | JsonProblem::LoneSurrogate | JsonProblem::NotAnObject => MalformedKind::Json,
            JsonProblem::DuplicateMember => MalformedKind::DuplicateMember,
            JsonProblem::TooDeep | JsonProblem::TooManyMembers | JsonProblem::NumberTooLong => MalformedKind::JsonLimit,
        }
    }
}

/// Reads a document that must be one object, and returns its members in order.
///
/// # Errors
/// Everything that this module's head says is refused; the first found from the left, except that duplicates in an
/// object of many members are found at its end.
pub fn object<'a>(document: &'a [u8], limits: &JsonLimits) -> Result<Vec<Member<'a>>, JsonError> {
    let text = std::str::from_utf8(document)
        .map_err(|error| JsonError { problem: JsonProblem::Utf8, position: error.valid_up_to() })?;
    Scanner::new(text, limits).document()
}
