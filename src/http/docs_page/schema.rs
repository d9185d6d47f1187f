//! Types and constraints of JSON schemas in a few words.

use maud::{Markup, html};

use super::{
    node::Node,
    spec::{Spec, schema_id},
};

/// Longer lists of values have their place in the schemas section.
const SHORT_LIST: usize = 8;

/// A schema as it is used at one place: what is written there comes before what it refers to.
#[derive(Clone, Copy)]
pub struct Schema<'a> {
    own: &'a Node,
    target: &'a Node,
    /// The name of the component, when it is one.
    pub name: Option<&'a str>,
}

impl<'a> Schema<'a> {
    /// Reads the schema at one place of the file.
    pub fn new(spec: &Spec<'a>, own: &'a Node) -> Self {
        let reference = own.get("$ref").and_then(Node::text);
        let name = reference.and_then(|text| text.strip_prefix("#/components/schemas/"));
        Self { own, target: spec.resolve(own), name }
    }

    /// A keyword of the schema.
    pub fn get(&self, key: &str) -> Option<&'a Node> {
        self.own.get(key).or_else(|| self.target.get(key))
    }

    /// The text of a keyword, empty when there is none.
    pub fn text(&self, key: &str) -> &'a str {
        self.get(key).and_then(Node::text).unwrap_or_default()
    }

    /// The members that the schema lists.
    pub fn properties(&self) -> &'a [(String, Node)] {
        self.get("properties").map_or(&[], Node::members)
    }

    /// The schema of members that it does not list, when there is one.
    pub fn other_members(&self) -> Option<&'a Node> {
        self.get("additionalProperties").filter(|node| !node.members().is_empty())
    }

    /// Whether it lists `member` as required.
    pub fn requires(&self, member: &str) -> bool {
        self.get("required").is_some_and(|list| list.elements().iter().any(|name| name.text() == Some(member)))
    }

    fn types(&self) -> Vec<&'a str> {
        match self.get("type") {
            Some(Node::Text(name)) => vec![name],
            Some(list) => list.elements().iter().filter_map(Node::text).collect(),
            None if !self.properties().is_empty() => vec!["object"],
            None => Vec::new(),
        }
    }
}

/// The type, with a link where it has a name.
pub fn type_label(spec: &Spec<'_>, schema: Schema<'_>) -> Markup {
    html! {
        @if let Some(name) = schema.name {
            (link(name))
            @if schema.types() != ["object"] && schema.get("oneOf").is_none() { " · " (base_type(spec, schema)) }
        } @else {
            (base_type(spec, schema))
        }
    }
}

/// A link to a schema of the schemas section.
pub fn link(name: &str) -> Markup {
    html! { a.schema href={ "#" (schema_id(name)) } { (name) } }
}

fn base_type(spec: &Spec<'_>, schema: Schema<'_>) -> Markup {
    let choice = ["oneOf", "anyOf", "allOf"].iter().find_map(|key| schema.get(key).map(|list| (*key, list)));
    let types = schema.types();
    html! {
        @if let Some((key, list)) = choice {
            (if key == "allOf" { "all of " } else { "one of " })
            @for (index, part) in list.elements().iter().enumerate() {
                @if index > 0 { ", " }
                (type_label(spec, Schema::new(spec, part)))
            }
        } @else if types.is_empty() {
            "any"
        } @else {
            @for (index, name) in types.iter().enumerate() {
                @if index > 0 { " or " }
                (one_type(spec, schema, name))
            }
        }
    }
}

fn one_type(spec: &Spec<'_>, schema: Schema<'_>, name: &str) -> Markup {
    let format = schema.text("format");
    html! {
        @match (name, schema.get("items"), schema.other_members()) {
            ("array", Some(items), _) => { "array of " (type_label(spec, Schema::new(spec, items))) }
            ("object", _, Some(values)) if schema.properties().is_empty() => {
                "map of " (type_label(spec, Schema::new(spec, values)))
            }
            ("null", ..) => "null",
            _ => { (name) @if !format.is_empty() { " (" (format) ")" } }
        }
    }
}

/// What a value must hold to, one entry for each rule.
pub fn constraints(schema: Schema<'_>) -> Vec<Markup> {
    let mut rules = Vec::new();
    if let Some(value) = schema.get("const") {
        rules.push(html! { "always " code { (value.compact()) } });
    }
    rules.extend(schema.get("enum").map(|list| values(list.elements())));
    let ranges = [("Length", "character"), ("Items", "item"), ("Properties", "member")];
    rules.extend(ranges.iter().filter_map(|(suffix, unit)| size(schema, suffix, unit)).map(|text| html! { (text) }));
    rules.extend(number_range(schema).map(|text| html! { (text) }));
    for (key, words) in [("multipleOf", "a multiple of "), ("default", "default "), ("pattern", "matches ")] {
        rules.extend(schema.get(key).map(|value| html! { (words) code { (rule_value(key, value)) } }));
    }
    if let Some(names) = schema.get("propertyNames") {
        let names = Schema { own: names, target: names, name: None };
        rules.extend(constraints(names).into_iter().map(|rule| html! { "names: " (rule) }));
    }
    for (key, words) in [
        ("uniqueItems", "no element twice"),
        ("readOnly", "only in answers"),
        ("writeOnly", "only in requests"),
        ("deprecated", "deprecated"),
    ] {
        rules.extend((schema.get(key) == Some(&Node::Bool(true))).then(|| html! { (words) }));
    }
    rules
}

/// A pattern is no JSON string: it is shown without quotes.
fn rule_value(key: &str, value: &Node) -> String {
    if key == "pattern" { value.plain() } else { value.compact() }
}

/// Whether there are too many values to name them in a line.
pub fn is_long(values: &[Node]) -> bool {
    values.len() > SHORT_LIST
}

fn values(list: &[Node]) -> Markup {
    html! {
        @if is_long(list) {
            "one of " (list.len()) " values"
        } @else {
            "one of "
            @for (index, value) in list.iter().enumerate() {
                @if index > 0 { ", " }
                code { (value.plain()) }
            }
        }
    }
}

/// The rules `min…` and `max…` of one kind in one phrase.
fn size(schema: Schema<'_>, suffix: &str, unit: &str) -> Option<String> {
    let bound = |side: &str| schema.get(&format!("{side}{suffix}")).map(Node::plain);
    let plural = |count: &str| if count == "1" { unit.to_owned() } else { format!("{unit}s") };
    match (bound("min"), bound("max")) {
        (Some(low), Some(high)) if low == high => Some(format!("exactly {low} {}", plural(&low))),
        (Some(low), Some(high)) => Some(format!("{low}–{high} {}", plural(&high))),
        (Some(low), None) => Some(format!("at least {low} {}", plural(&low))),
        (None, Some(high)) => Some(format!("at most {high} {}", plural(&high))),
        (None, None) => None,
    }
}

fn number_range(schema: Schema<'_>) -> Option<String> {
    let bound = |key: &str| schema.get(key).map(Node::plain);
    let more = bound("exclusiveMinimum").map(|low| format!("more than {low}"));
    let less = bound("exclusiveMaximum").map(|high| format!("less than {high}"));
    match (bound("minimum"), bound("maximum"), more, less) {
        (Some(low), Some(high), None, None) => Some(format!("from {low} to {high}")),
        (low, high, more, less) => {
            let low = low.map(|low| format!("at least {low}"));
            let high = high.map(|high| format!("at most {high}"));
            let parts: Vec<_> = [low, more, high, less].into_iter().flatten().collect();
            (!parts.is_empty()).then(|| parts.join(", "))
        }
    }
}
