//! The configuration as a tree in which every node knows where it was written: what file, environment and flags are
//! merged in before the settings are typed.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value as Json;
use serde_saphyr::{Location, Spanned};

use super::problem::{Origin, Problem};

/// One node.
#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    pub(super) value: Value,
    pub(super) origin: Origin,
}

/// What a node holds.
#[derive(Clone, Debug, Default)]
pub(super) enum Value {
    #[default]
    Null,
    Scalar(Json),
    List(Vec<Node>),
    Map(Vec<Member>),
}

/// One member of a mapping.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) name: String,
    /// Where the name stands.
    pub(super) origin: Origin,
    pub(super) node: Node,
}

/// One step from a node to a child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Name(String),
    Index(usize),
}

/// A path as a person reads it: `issuers[0].keys.jwks_url`.
pub(super) fn path_text(path: &[Step]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            Step::Name(name) if text.is_empty() => text.push_str(name),
            Step::Name(name) => {
                text.push('.');
                text.push_str(name);
            }
            Step::Index(index) => text.push_str(&format!("[{index}]")),
        }
    }
    text
}

impl Node {
    /// Reads one YAML document; an empty one is an empty mapping. Duplicate keys are refused by the reader.
    pub(super) fn from_yaml(text: &str, origin: Option<&Origin>) -> Result<Self, Problem> {
        let options = serde_saphyr::options! { with_snippet: false, strict_booleans: true };
        let mut node: Self = serde_saphyr::from_str_with_options(text, options).map_err(|error| Problem {
            path: String::new(),
            origin: origin.cloned().or_else(|| error.location().map(file_origin)).unwrap_or_default(),
            message: bare_message(&error),
        })?;
        if let Some(origin) = origin {
            node.mark(origin);
        }
        Ok(node)
    }

    /// Forgets members of this node that hold nothing: sections whose settings are all commented out.
    pub(super) fn drop_empty_sections(&mut self) {
        if let Value::Map(members) = &mut self.value {
            members.retain(|member| !matches!(member.node.value, Value::Null));
        }
    }

    /// Sets every origin below and including this node.
    fn mark(&mut self, origin: &Origin) {
        self.origin = origin.clone();
        match &mut self.value {
            Value::Null | Value::Scalar(_) => {}
            Value::List(items) => items.iter_mut().for_each(|item| item.mark(origin)),
            Value::Map(members) => members.iter_mut().for_each(|member| {
                member.origin = origin.clone();
                member.node.mark(origin);
            }),
        }
    }

    /// The same as JSON, for typing.
    pub(super) fn to_json(&self) -> Json {
        match &self.value {
            Value::Null => Json::Null,
            Value::Scalar(value) => value.clone(),
            Value::List(items) => Json::Array(items.iter().map(Self::to_json).collect()),
            Value::Map(members) => {
                Json::Object(members.iter().map(|member| (member.name.clone(), member.node.to_json())).collect())
            }
        }
    }

    /// Where `path`, or its nearest ancestor that was written, stands.
    pub(super) fn origin_of(&self, path: &[Step]) -> Origin {
        let mut origin = &self.origin;
        let mut node = self;
        for step in path {
            let next = match (step, &node.value) {
                (Step::Name(name), Value::Map(members)) => {
                    members.iter().find(|member| member.name == *name).map(|member| (&member.origin, &member.node))
                }
                (Step::Index(index), Value::List(items)) => items.get(*index).map(|item| (&item.origin, item)),
                _ => None,
            };
            let Some((next_origin, next_node)) = next else { break };
            (origin, node) = (next_origin, next_node);
        }
        origin.clone()
    }

    /// Takes the node at `path` out; false if it is not there.
    pub(super) fn remove(&mut self, path: &[Step]) -> bool {
        let Some((step, rest)) = path.split_first() else {
            return false;
        };
        match (step, &mut self.value) {
            (Step::Name(name), Value::Map(members)) => {
                let Some(index) = members.iter().position(|member| member.name == *name) else {
                    return false;
                };
                if rest.is_empty() {
                    members.remove(index);
                    return true;
                }
                members[index].node.remove(rest)
            }
            (Step::Index(index), Value::List(items)) => {
                if *index >= items.len() {
                    return false;
                }
                if rest.is_empty() {
                    items.remove(*index);
                    return true;
                }
                items[*index].remove(rest)
            }
            _ => false,
        }
    }

    /// Puts `node` at the path named by `segments`, in which a number is an index: of an existing element, or the
    /// next one.
    pub(super) fn set(&mut self, segments: &[&str], node: Self) -> Result<(), String> {
        let Some((segment, rest)) = segments.split_first() else {
            *self = node;
            return Ok(());
        };
        if let Ok(index) = segment.parse::<usize>() {
            if matches!(self.value, Value::Null) {
                *self = Self { value: Value::List(Vec::new()), origin: node.origin.clone() };
            }
            let Value::List(items) = &mut self.value else {
                return Err(format!("`{segment}` is an index, and there is no list here"));
            };
            if index > items.len() {
                return Err(format!("the list has {} elements, so the next index is {0}, not {index}", items.len()));
            }
            if index == items.len() {
                items.push(Self { value: Value::Null, origin: node.origin.clone() });
            }
            return items[index].set(rest, node);
        }
        if matches!(self.value, Value::Null) {
            *self = Self { value: Value::Map(Vec::new()), origin: node.origin.clone() };
        }
        let Value::Map(members) = &mut self.value else {
            return Err(format!("there is no section here that could hold `{segment}`"));
        };
        let index = members.iter().position(|member| member.name == *segment).unwrap_or_else(|| {
            members.push(Member {
                name: (*segment).to_owned(),
                origin: node.origin.clone(),
                node: Self { value: Value::Null, origin: node.origin.clone() },
            });
            members.len() - 1
        });
        let member = &mut members[index];
        if rest.is_empty() {
            member.origin = node.origin.clone();
        }
        member.node.set(rest, node)
    }
}

/// What the YAML reader says, without the place, which the problem carries.
fn bare_message(error: &serde_saphyr::Error) -> String {
    let text = error.without_snippet().to_string();
    if text.starts_with("budget breached") {
        return "this is larger or deeper than any configuration (an alias counts as what it stands for)".to_owned();
    }
    // What follows is advice to a programmer.
    let end =
        [" at line ", ", set DuplicateKeyPolicy", "; use from_str"].iter().filter_map(|word| text.find(word)).min();
    text[..end.unwrap_or(text.len())].to_owned()
}

/// What is wrong with a type, in the words of the file rather than of the program.
pub(super) fn type_message(text: &str) -> String {
    const ADDRESS: &str = "an IP address and a port, such as 127.0.0.1:8080";
    let text = text
        .replace("expected usize", "expected a whole number")
        .replace("expected a sequence", "expected a list")
        .replace("expected socket address", &format!("expected {ADDRESS}"))
        .replace("invalid socket address syntax", &format!("this is not {ADDRESS}"));
    match text.find("expected struct ") {
        Some(at) => format!("{}expected a section of settings", &text[..at]),
        None => text,
    }
}

fn file_origin(location: Location) -> Origin {
    match location.line() {
        0 => Origin::Nowhere,
        line => Origin::File { line, column: location.column() },
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Value>::deserialize(deserializer)?;
        Ok(Self { origin: file_origin(spanned.referenced), value: spanned.value })
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Value;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a YAML value")
            }
            fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
                Ok(Value::Null)
            }
            fn visit_none<E: de::Error>(self) -> Result<Value, E> {
                Ok(Value::Null)
            }
            fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
                Value::deserialize(deserializer)
            }
            fn visit_bool<E: de::Error>(self, value: bool) -> Result<Value, E> {
                Ok(Value::Scalar(value.into()))
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
                // Non-negative numbers are unsigned, whichever way the reader hands them over.
                Ok(Value::Scalar(u64::try_from(value).map_or_else(|_| value.into(), Json::from)))
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
                Ok(Value::Scalar(value.into()))
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
                Ok(Value::Scalar(value.into()))
            }
            fn visit_str<E: de::Error>(self, value: &str) -> Result<Value, E> {
                Ok(Value::Scalar(value.into()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = seq.next_element()? {
                    items.push(item);
                }
                Ok(Value::List(items))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
                let mut members = Vec::new();
                while let Some(name) = map.next_key::<Spanned<String>>()? {
                    let node = map.next_value()?;
                    members.push(Member { origin: file_origin(name.referenced), name: name.value, node });
                }
                Ok(Value::Map(members))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_know_where_they_stand() {
        let root =
            Node::from_yaml("listen:\n  data: a\nissuers:\n  - name: x\n    keys: {jwks_url: u}\n", None).unwrap();
        let path = [Step::Name("issuers".into()), Step::Index(0), Step::Name("keys".into())];
        assert_eq!(root.origin_of(&path), Origin::File { line: 5, column: 5 });
        assert_eq!(path_text(&path), "issuers[0].keys");
    }

    #[test]
    fn duplicate_keys_are_refused_with_their_place() {
        let problem = Node::from_yaml("a: 1\nb: 2\na: 3\n", None).unwrap_err();
        assert!(matches!(problem.origin, Origin::File { line: 3, .. }), "{problem:?}");
        assert!(problem.message.contains("duplicate"), "{problem:?}");
    }

    #[test]
    fn overrides_reach_existing_and_next_elements() {
        let mut root = Node::from_yaml("issuers: [{name: x}]\n", None).unwrap();
        let node = |text: &str| Node::from_yaml(text, Some(&Origin::Environment("E".into()))).unwrap();
        root.set(&["issuers", "0", "name"], node("y")).unwrap();
        root.set(&["issuers", "1", "name"], node("z")).unwrap();
        root.set(&["listen", "data"], node("\"127.0.0.1:1\"")).unwrap();
        assert!(root.set(&["issuers", "7", "name"], node("z")).is_err());
        assert!(root.set(&["issuers", "name"], node("z")).is_err());
        let expected =
            serde_json::json!({"issuers": [{"name": "y"}, {"name": "z"}], "listen": {"data": "127.0.0.1:1"}});
        assert_eq!(root.to_json(), expected);
    }
}
