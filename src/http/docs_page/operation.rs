//! The section of one operation.

use maud::{Markup, html};

use super::{
    curl,
    examples::{self, Example},
    markdown, members,
    node::Node,
    responses, schema, security,
    spec::{Operation, Spec},
};

/// Everything about one operation: what it does, how to call it, what it answers.
pub fn section(spec: &Spec<'_>, operation: &Operation<'_>) -> Markup {
    let id = operation.id.as_str();
    html! {
        section.operation aria-labelledby=(id) {
            h3 id=(id) { a.here href={ "#" (id) } { (operation.title()) } }
            p.endpoint { (method_badge(&operation.method)) " " (path(operation.path)) }
            @if operation.node.flag("deprecated") { p.note { "Deprecated: do not use it in new code." } }
            (security::line(spec, operation))
            div.columns {
                div.prose { (markdown::render(operation.node.text_at("description"), id, 3, &spec.links)) }
                div.panel { (requests(spec, operation)) (responses::samples(spec, operation)) }
                div.details {
                    (parameters(spec, operation))
                    (request_body(spec, operation))
                    (responses::section(spec, operation))
                }
            }
        }
    }
}

/// The method, in a colour of its own.
pub fn method_badge(method: &str) -> Markup {
    let class = match method {
        "GET" | "HEAD" => "get",
        "POST" => "post",
        "DELETE" => "delete",
        _ => "other",
    };
    html! { span class={ "method " (class) } { (method) } }
}

/// The path, its parameters set apart.
pub fn path(path: &str) -> Markup {
    html! {
        code.path {
            @for (index, segment) in path.split('/').enumerate() {
                @if index > 0 { "/" wbr; }
                @if segment.starts_with('{') { span.variable { (segment) } } @else { (segment) }
            }
        }
    }
}

/// A heading inside an operation.
pub fn part_heading(operation: &str, part: &str, text: &str) -> Markup {
    let id = format!("{operation}-{part}");
    html! { h4 id=(id) { a.here href={ "#" (id) } { (text) } } }
}

fn parameters(spec: &Spec<'_>, operation: &Operation<'_>) -> Markup {
    let rows = html! { @for node in &operation.parameters { (members::parameter_row(spec, node)) } };
    html! {
        @if !operation.parameters.is_empty() {
            (part_heading(&operation.id, "parameters", "Parameters"))
            (members::frame("Parameters", "Name", &rows))
        }
    }
}

fn body_of<'a>(spec: &Spec<'a>, operation: &Operation<'a>) -> Option<&'a Node> {
    operation.node.get("requestBody").map(|body| spec.resolve(body))
}

fn request_body(spec: &Spec<'_>, operation: &Operation<'_>) -> Markup {
    let Some(body) = body_of(spec, operation) else { return html! {} };
    html! {
        (part_heading(&operation.id, "body", "Request body"))
        @if !body.text_at("description").is_empty() {
            div.prose { (markdown::render(body.text_at("description"), &operation.id, 4, &spec.links)) }
        }
        @for (media_type, content) in body.members_at("content") {
            p.kind {
                code { (media_type) }
                @if let Some(node) = content.get("schema") {
                    " · " (schema::type_label(spec, schema::Schema::new(spec, node)))
                }
                " · " @if body.flag("required") { span.required { "required" } } @else { "optional" }
            }
            @if let Some(node) = content.get("schema") {
                @let text = schema::Schema::new(spec, node).text("description");
                div.prose { (markdown::render(text, &operation.id, 4, &spec.links)) }
                (members::table(spec, node, true, "Members of the request body"))
            }
        }
    }
}

/// One command for each example of the body, or one without a body.
fn requests(spec: &Spec<'_>, operation: &Operation<'_>) -> Markup {
    let contents = body_of(spec, operation).map_or(&[][..], |body| body.members_at("content"));
    let bodies: Vec<(&str, Example<'_>)> = contents
        .iter()
        .flat_map(|(media_type, content)| {
            examples::all(spec, content).into_iter().map(|example| (media_type.as_str(), example))
        })
        .collect();
    let id = format!("{}-request", operation.id);
    html! {
        (part_heading(&operation.id, "request", "Request"))
        @if bodies.is_empty() {
            pre.curl id={ (id) "-curl" } { code { (curl::command(spec, operation, None)) } }
        }
        @for (index, (media_type, example)) in bodies.iter().enumerate() {
            @let command = curl::command(spec, operation, Some((media_type, example)));
            (examples::block(&examples::example_id(&id, example), &example.caption(), &command, "curl", index == 0))
        }
    }
}
