//! Finds the examples of a parameter, a header or a media type, and shows them.

use maud::{Markup, html};

use super::{
    json,
    node::Node,
    spec::{Spec, slug},
};

/// One example of the file.
pub struct Example<'a> {
    /// Its name; empty for the one without.
    pub name: &'a str,
    /// What it shows, for people; may be empty.
    pub summary: &'a str,
    /// The example itself.
    pub value: &'a Node,
}

impl Example<'_> {
    /// What to write above it.
    pub fn caption(&self) -> Markup {
        html! {
            @if !self.summary.is_empty() { (self.summary) }
            @else if !self.name.is_empty() { code { (self.name) } }
            @else { "Example" }
        }
    }
}

/// The examples of `node`, in the order of the file; those of its schema when it has none.
pub fn all<'a>(spec: &Spec<'a>, node: &'a Node) -> Vec<Example<'a>> {
    let named = node.members_at("examples").iter().filter_map(|(name, example)| {
        let example = spec.resolve(example);
        example.get("value").map(|value| Example { name, summary: example.text_at("summary"), value })
    });
    let bare = |value| Example { name: "", summary: "", value };
    let mut found: Vec<_> = named.chain(node.get("example").map(bare)).collect();
    if found.is_empty()
        && let Some(schema) = node.get("schema").map(|schema| spec.resolve(schema))
    {
        found.extend(schema.elements_at("examples").iter().chain(schema.get("example")).map(bare));
    }
    found
}

/// The value of the first example.
pub fn first_value<'a>(spec: &Spec<'a>, node: &'a Node) -> Option<&'a Node> {
    all(spec, node).first().map(|example| example.value)
}

/// The examples of one value in a cell of a table.
pub fn in_cell(spec: &Spec<'_>, node: &Node) -> Markup {
    let examples = all(spec, node);
    html! {
        @for example in &examples {
            p.example {
                "Example: " code { (example.value.plain()) }
                @if !example.summary.is_empty() { " — " (example.summary) }
            }
        }
    }
}

/// The text of an example: JSON where the media type is JSON, else as it is.
fn body(media_type: &str, value: &Node) -> Markup {
    match value {
        Node::Text(text) if !media_type.contains("json") => html! { (text) },
        other => json::pretty(other),
    }
}

/// A block that opens and closes.
pub fn block(id: &str, caption: &Markup, code: &Markup, class: &str, open: bool) -> Markup {
    html! {
        details.code open[open] {
            summary { (caption) }
            pre.(class) id=(id) { code { (code) } }
        }
    }
}

/// All examples of a response's body; the first is open when `open` says so.
pub fn of_response(media_type: &str, id: &str, badge: &Markup, examples: &[Example<'_>], open: bool) -> Markup {
    html! {
        @for (index, example) in examples.iter().enumerate() {
            @let caption = html! { (badge) " " (example.caption()) };
            (block(&example_id(id, example), &caption, &body(media_type, example.value), "json", open && index == 0))
        }
    }
}

/// The anchor of an example of the response that has the anchor `id`.
pub fn example_id(id: &str, example: &Example<'_>) -> String {
    format!("{id}-example-{}", slug(example.name))
}
