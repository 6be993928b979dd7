//! Values of settings as people write them: durations with a unit, sizes, shard counts, algorithm names.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, Visitor};

use crate::jose::Algorithm;

/// A duration written with its unit: `"250ms"`, `"30s"`, `"5m"`, `"1h 30m"`. The only number without a unit is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(pub Duration);

impl Span {
    /// From whole seconds.
    #[must_use]
    pub const fn secs(seconds: u64) -> Self {
        Self(Duration::from_secs(seconds))
    }

    /// From milliseconds.
    #[must_use]
    pub const fn millis(milliseconds: u64) -> Self {
        Self(Duration::from_millis(milliseconds))
    }

    /// Reads what a person wrote.
    ///
    /// # Errors
    /// A sentence for that person.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text == "0" {
            return Ok(Self(Duration::ZERO));
        }
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(format!("`{text}` has no unit; write \"{text}s\" for seconds, or ms, m, h, d"));
        }
        humantime::parse_duration(text)
            .map(Self)
            .map_err(|error| format!("`{text}` is not a duration such as \"250ms\", \"30s\" or \"5m\": {error}"))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        humantime::format_duration(self.0).fmt(f)
    }
}

impl std::str::FromStr for Span {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = Span;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a duration with a unit, such as \"30s\"")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Span, E> {
                Span::parse(text).map_err(E::custom)
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Span, E> {
                Span::parse(&number.to_string()).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

impl JsonSchema for Span {
    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A duration with its unit: \"250ms\", \"30s\", \"5m\", \"1h 30m\"; or 0.",
            "anyOf": [{ "type": "string", "pattern": "^([0-9]+ *[a-zA-Z]+ *)+$" }, { "const": 0 }],
        })
    }
}

/// A size in bytes: a number, or a string with a unit such as `"16 MiB"` (binary) or `"16 MB"` (decimal).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

impl Size {
    /// From KiB.
    #[must_use]
    pub const fn kib(count: u64) -> Self {
        Self(count * 1024)
    }

    /// From MiB.
    #[must_use]
    pub const fn mib(count: u64) -> Self {
        Self(count * 1024 * 1024)
    }

    /// As a length in memory; saturates where memory is smaller than the number.
    #[must_use]
    pub fn bytes(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        bytesize::ByteSize::b(self.0).display().iec().fmt(f)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = Size;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a size in bytes, such as 65536 or \"16 MiB\"")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Size, E> {
                text.parse::<bytesize::ByteSize>()
                    .map(|size| Size(size.as_u64()))
                    .map_err(|_| E::custom(format!("`{text}` is not a size such as 65536, \"64 KiB\" or \"16 MiB\"")))
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Size, E> {
                Ok(Size(number))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

impl JsonSchema for Size {
    fn schema_name() -> Cow<'static, str> {
        "Size".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A size in bytes: 65536, \"64 KiB\" or \"16 MiB\".",
            "anyOf": [
                { "type": "integer", "minimum": 0 },
                { "type": "string", "pattern": "^[0-9]+(\\.[0-9]+)? *([kKMGT]i?)?[bB]?$" },
            ],
        })
    }
}

/// How many shards: `auto` (one for each core this process may use) or a number from 1 to 1024.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShardCount {
    /// One for each core the process may run on.
    #[default]
    Auto,
    /// Exactly so many.
    Exactly(usize),
}

impl ShardCount {
    /// The most shards one process takes.
    pub const MAX: u64 = 1024;

    /// The number of shards on a machine with `cores`.
    #[must_use]
    pub fn resolve(self, cores: usize) -> usize {
        match self {
            Self::Auto => cores.max(1),
            Self::Exactly(count) => count,
        }
    }
}

impl<'de> Deserialize<'de> for ShardCount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = ShardCount;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"auto\" or a number from 1 to 1024")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<ShardCount, E> {
                match text {
                    "auto" => Ok(ShardCount::Auto),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<ShardCount, E> {
                match usize::try_from(number) {
                    Ok(count) if (1..=ShardCount::MAX).contains(&number) => Ok(ShardCount::Exactly(count)),
                    _ => Err(E::invalid_value(de::Unexpected::Unsigned(number), &self)),
                }
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

impl JsonSchema for ShardCount {
    fn schema_name() -> Cow<'static, str> {
        "ShardCount".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "\"auto\" (one for each core this process may use) or a number.",
            "anyOf": [{ "const": "auto" }, { "type": "integer", "minimum": 1, "maximum": Self::MAX }],
        })
    }
}

/// The name of an algorithm we implement, as it stands in a token's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlgorithmName(pub Algorithm);

impl AlgorithmName {
    /// Reads a name; case matters, and the sentence of the error says what was probably meant.
    ///
    /// # Errors
    /// If no algorithm of ours has that name.
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Some(algorithm) = Algorithm::from_name(text) {
            return Ok(Self(algorithm));
        }
        if text.eq_ignore_ascii_case("none") {
            return Err("`none` is not an algorithm: an unsigned token is never accepted".to_owned());
        }
        let names = Algorithm::ALL.map(Algorithm::name);
        let hint = super::nearest(text, names).map(|name| format!(", did you mean `{name}`?"));
        let hint = hint.unwrap_or_else(|| format!("; known are {}", names.join(", ")));
        Err(format!("no algorithm is called `{text}`{hint}"))
    }
}

impl std::str::FromStr for AlgorithmName {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }
}

impl<'de> Deserialize<'de> for AlgorithmName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(de::Error::custom)
    }
}

impl JsonSchema for AlgorithmName {
    fn schema_name() -> Cow<'static, str> {
        "Algorithm".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A JOSE algorithm name, as it stands in the header of a token.",
            "type": "string",
            "enum": Algorithm::ALL.map(Algorithm::name),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_carry_a_unit() {
        assert_eq!(Span::parse("250ms"), Ok(Span::millis(250)));
        assert_eq!(Span::parse("1h 30m"), Ok(Span::secs(5400)));
        assert_eq!(Span::parse("0"), Ok(Span::secs(0)));
        assert!(Span::parse("30").unwrap_err().contains("\"30s\""));
        assert!(Span::parse("soon").is_err());
    }

    #[test]
    fn sizes_take_numbers_and_units() {
        let read = |text: &str| serde_json::from_str::<Size>(text).map(|size| size.0).ok();
        assert_eq!(read("4096"), Some(4096));
        assert_eq!(read("\"16 MiB\""), Some(16 << 20));
        assert_eq!(read("\"16 MB\""), Some(16_000_000));
        assert_eq!(read("\"many\""), None);
        assert_eq!(read("-1"), None);
    }

    #[test]
    fn none_is_refused_in_any_casing() {
        for name in ["none", "None", "NONE"] {
            assert!(AlgorithmName::parse(name).unwrap_err().contains("never accepted"));
        }
        assert!(AlgorithmName::parse("es256").unwrap_err().contains("`ES256`"));
    }
}
