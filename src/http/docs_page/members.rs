//! The table of an object's members, nested ones below their parent.

use maud::{Markup, html};

use super::{
    examples, markdown,
    node::Node,
    schema::{Schema, constraints, type_label},
    spec::Spec,
};

/// Deeper members are behind the link of their schema.
const MAX_DEPTH: usize = 6;

/// One row.
struct Row<'a> {
    parent: String,
    name: &'a str,
    depth: usize,
    required: bool,
    schema: Schema<'a>,
}

/// Collects the rows of one table.
struct Walk<'a, 'b> {
    spec: &'b Spec<'a>,
    /// Whether to open schemas that have a name and a section of their own.
    expand: bool,
    /// The schemas that are open: one that holds itself is opened once.
    open: Vec<&'a str>,
    rows: Vec<Row<'a>>,
}

impl<'a> Walk<'a, '_> {
    fn members(&mut self, schema: Schema<'a>, parent: &str, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        let listed = schema.properties().iter().map(|(name, node)| (name.as_str(), node));
        let others = schema.other_members().map(|node| ("*", node));
        for (name, node) in listed.chain(others) {
            let required = schema.requires(name);
            let member = Schema::new(self.spec, node);
            self.rows.push(Row { parent: parent.to_owned(), name, depth, required, schema: member });
            self.below(member, &format!("{parent}{name}"), depth + 1);
        }
    }

    /// The members of a member, or of the elements of an array.
    fn below(&mut self, schema: Schema<'a>, path: &str, depth: usize) {
        if depth > MAX_DEPTH || schema.name.is_some_and(|name| !self.expand || self.open.contains(&name)) {
            return;
        }
        self.open.extend(schema.name);
        if let Some(items) = schema.get("items") {
            self.below(Schema::new(self.spec, items), &format!("{path}[]"), depth);
        } else {
            self.members(schema, &format!("{path}."), depth);
        }
        self.open.truncate(self.open.len() - usize::from(schema.name.is_some()));
    }
}

/// The members of `schema`; empty when it has none. `expand` opens the schemas that it refers to.
pub fn table(spec: &Spec<'_>, node: &Node, expand: bool, label: &str) -> Markup {
    let schema = Schema::new(spec, node);
    let mut walk = Walk { spec, expand, open: schema.name.into_iter().collect(), rows: Vec::new() };
    walk.members(schema, "", 0);
    let closed = schema.get("additionalProperties") == Some(&Node::Bool(false));
    html! {
        @if !walk.rows.is_empty() {
            (frame(label, "Member", &html! { @for row in &walk.rows { (member_row(spec, row)) } }))
            @if closed { p.note { "No other members." } }
        }
    }
}

/// The box and the head that all tables of fields share.
pub fn frame(label: &str, first: &str, rows: &Markup) -> Markup {
    html! {
        // The roles say again what the elements are, because the style lays them out as something else in a narrow box.
        div.scroll.fields-box {
            table.fields role="table" aria-label=(label) {
                thead role="rowgroup" {
                    tr role="row" {
                        @for name in [first, "Type", "Description"] { th scope="col" role="columnheader" { (name) } }
                    }
                }
                tbody role="rowgroup" { (rows) }
            }
        }
    }
}

fn member_row(spec: &Spec<'_>, row: &Row<'_>) -> Markup {
    html! {
        tr class={ "d" (row.depth) } role="row" {
            th scope="row" role="rowheader" {
                code { @if !row.parent.is_empty() { span.parent { (row.parent) } wbr; } (row.name) }
                (needed(row.required))
            }
            (type_cell(spec, row.schema))
            td role="cell" { (description(spec, row.schema.text("description"))) }
        }
    }
}

/// Whether the client must send something.
fn needed(required: bool) -> Markup {
    html! { @if required { span.required { "required" } } @else { span.optional { "optional" } } }
}

fn type_cell(spec: &Spec<'_>, schema: Schema<'_>) -> Markup {
    let rules = constraints(schema);
    html! {
        td role="cell" {
            span.type { (type_label(spec, schema)) }
            @if !rules.is_empty() { ul.rules { @for rule in &rules { li { (rule) } } } }
        }
    }
}

fn description(spec: &Spec<'_>, text: &str) -> Markup {
    markdown::render(text, "field", 5, &spec.links)
}

/// A row for a parameter of a request.
pub fn parameter_row(spec: &Spec<'_>, parameter: &Node) -> Markup {
    let notes = html! { span.place { "in " (parameter.text_at("in")) } (needed(parameter.flag("required"))) };
    value_row(spec, parameter.text_at("name"), &notes, parameter)
}

/// A row for a header of a response.
pub fn header_row(spec: &Spec<'_>, name: &str, header: &Node) -> Markup {
    let always = header.flag("required");
    let notes = html! { @if always { span.always { "always" } } @else { span.optional { "sometimes" } } };
    value_row(spec, name, &notes, header)
}

fn value_row(spec: &Spec<'_>, name: &str, notes: &Markup, node: &Node) -> Markup {
    let schema = node.get("schema").map(|schema| Schema::new(spec, schema));
    let own = node.text_at("description");
    let text = if own.is_empty() { schema.map_or("", |schema| schema.text("description")) } else { own };
    html! {
        tr role="row" {
            th scope="row" role="rowheader" {
                code { (name) }
                (notes)
                @if node.flag("deprecated") { span.optional { "deprecated" } }
            }
            @if let Some(schema) = schema { (type_cell(spec, schema)) } @else { td role="cell" {} }
            td role="cell" { (description(spec, text)) (examples::in_cell(spec, node)) }
        }
    }
}
