//! A YAML value that keeps the order of its members: examples must read as the file has them.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Number;

/// One value of the `OpenAPI` file.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number that JSON can write.
    Number(Number),
    /// A string.
    Text(String),
    /// A sequence.
    List(Vec<Node>),
    /// A mapping, in the order of the file.
    Map(Vec<(String, Node)>),
}

impl Node {
    /// The member `key`, when this is a mapping that has it.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.members().iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// The string itself, when this is one.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// The string at `key`; empty when there is none.
    #[must_use]
    pub fn text_at(&self, key: &str) -> &str {
        self.get(key).and_then(Self::text).unwrap_or_default()
    }

    /// Whether `key` is `true`.
    #[must_use]
    pub fn flag(&self, key: &str) -> bool {
        self.get(key) == Some(&Self::Bool(true))
    }

    /// The elements of a sequence; none for anything else.
    #[must_use]
    pub fn elements(&self) -> &[Self] {
        if let Self::List(list) = self { list } else { &[] }
    }

    /// The members of a mapping; none for anything else.
    #[must_use]
    pub fn members(&self) -> &[(String, Self)] {
        if let Self::Map(map) = self { map } else { &[] }
    }

    /// The elements at `key`.
    #[must_use]
    pub fn elements_at(&self, key: &str) -> &[Self] {
        self.get(key).map_or(&[], Self::elements)
    }

    /// The members at `key`.
    #[must_use]
    pub fn members_at(&self, key: &str) -> &[(String, Self)] {
        self.get(key).map_or(&[], Self::members)
    }

    /// A string as it is, and anything else as JSON on one line.
    #[must_use]
    pub fn plain(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            other => other.compact(),
        }
    }

    /// JSON on one line.
    #[must_use]
    pub fn compact(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Bool(value) => value.to_string(),
            Self::Number(number) => number.to_string(),
            Self::Text(text) => json_string(text),
            Self::List(list) => format!("[{}]", list.iter().map(Self::compact).collect::<Vec<_>>().join(",")),
            Self::Map(map) => {
                let members = map.iter().map(|(key, value)| format!("{}:{}", json_string(key), value.compact()));
                format!("{{{}}}", members.collect::<Vec<_>>().join(","))
            }
        }
    }
}

/// `text` as a JSON string, with its quotes.
#[must_use]
pub fn json_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value that JSON has too")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_none<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        Node::deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        // JSON has no NaN and no infinity.
        Ok(Number::from_f64(value).map_or(Node::Null, Node::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Node, E> {
        Ok(Node::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Node, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = access.next_element()? {
            list.push(element);
        }
        Ok(Node::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Node, A::Error> {
        let mut map = Vec::new();
        while let Some(member) = access.next_entry()? {
            map.push(member);
        }
        Ok(Node::Map(map))
    }
}
