//! The responses of an operation, by status.

use maud::{Markup, html};

use super::{
    examples, markdown, members,
    node::Node,
    operation::part_heading,
    schema::{Schema, type_label},
    spec::{Operation, Spec, operation_id, problem_codes, problem_url},
};

/// One response with its status.
type Entry<'a> = (&'a str, &'a Node);

fn all<'a>(spec: &Spec<'a>, operation: &Operation<'a>) -> impl Iterator<Item = Entry<'a>> {
    operation.node.members_at("responses").iter().map(|(status, node)| (status.as_str(), spec.resolve(node)))
}

/// Answers that do what was asked stand beside the request; refusals stand with their explanation.
fn is_success(status: &str) -> bool {
    status.starts_with('2')
}

fn anchor(operation: &Operation<'_>, status: &str) -> String {
    format!("{}-{status}", operation.id)
}

/// The status, in the colour of its class.
pub fn badge(status: &str) -> Markup {
    let class = status.chars().next().filter(char::is_ascii_digit).unwrap_or('x');
    html! { span class={ "status s" (class) } { (status) } }
}

/// The examples of the successful responses.
pub fn samples(spec: &Spec<'_>, operation: &Operation<'_>) -> Markup {
    let blocks: Vec<_> = all(spec, operation)
        .filter(|(status, _)| is_success(status))
        .enumerate()
        .flat_map(|(index, (status, node))| {
            let id = anchor(operation, status);
            node.members_at("content").iter().map(move |(media_type, content)| {
                let found = examples::all(spec, content);
                examples::of_response(media_type, &id, &badge(status), &found, index == 0)
            })
        })
        .filter(|block| !block.0.is_empty())
        .collect();
    html! {
        @if !blocks.is_empty() {
            (part_heading(&operation.id, "response", "Response"))
            @for block in &blocks { (block) }
        }
    }
}

/// All responses; the first is open.
pub fn section(spec: &Spec<'_>, operation: &Operation<'_>) -> Markup {
    html! {
        (part_heading(&operation.id, "responses", "Responses"))
        div.responses {
            @for (index, entry) in all(spec, operation).enumerate() { (response(spec, operation, entry, index == 0)) }
        }
    }
}

fn response(spec: &Spec<'_>, operation: &Operation<'_>, (status, node): Entry<'_>, open: bool) -> Markup {
    let id = anchor(operation, status);
    let codes = problem_codes(node);
    let description = node.text_at("description");
    // A code that the description names is a link there.
    let unnamed: Vec<_> = codes.iter().filter(|code| !description.contains(&format!("`{code}`"))).collect();
    html! {
        details.response open[open] {
            summary {
                (badge(status)) " " span.reason { (reason(status)) }
                @if !codes.is_empty() { " " span.codes { (codes.join(" · ")) } }
            }
            // The anchor is inside, so that a browser that is led to it opens the block.
            div.answer id=(id) {
                div.prose { (markdown::render(description, &id, 4, &spec.links)) }
                @if !unnamed.is_empty() {
                    p.kind { "Explained: " @for code in &unnamed { a href=(problem_url(code)) { code { (code) } } " " } }
                }
                (headers(spec, node))
                (contents(spec, node, &id, is_success(status)))
                (follow_ups(spec, node))
            }
        }
    }
}

fn headers(spec: &Spec<'_>, node: &Node) -> Markup {
    let headers = node.members_at("headers");
    let rows = html! {
        @for (name, header) in headers { (members::header_row(spec, name, spec.resolve(header))) }
    };
    html! { @if !headers.is_empty() { (members::frame("Headers of the response", "Header", &rows)) } }
}

fn contents(spec: &Spec<'_>, node: &Node, id: &str, elsewhere: bool) -> Markup {
    html! {
        @for (media_type, content) in node.members_at("content") {
            p.kind {
                "Body: " code { (media_type) }
                @if let Some(schema) = content.get("schema") {
                    " · " (type_label(spec, Schema::new(spec, schema)))
                }
            }
            @let found = examples::all(spec, content);
            @if elsewhere && !found.is_empty() {
                p.kind {
                    "Examples: "
                    @for (index, example) in found.iter().enumerate() {
                        @if index > 0 { ", " }
                        a href={ "#" (examples::example_id(id, example)) } { (example.caption()) }
                    }
                }
            } @else {
                (examples::of_response(media_type, id, &html! {}, &found, true))
            }
        }
    }
}

/// What the answer makes possible.
fn follow_ups(spec: &Spec<'_>, node: &Node) -> Markup {
    let links = node.members_at("links");
    html! {
        @if !links.is_empty() {
            p.kind { "Next:" }
            ul.links {
                @for (name, link) in links {
                    @let link = spec.resolve(link);
                    @let target = operation_id(link.text_at("operationId"));
                    li {
                        @if spec.operations.iter().any(|operation| operation.id == target) {
                            a href={ "#" (target) } { code { (name) } }
                        } @else {
                            code { (name) }
                        }
                        @for (parameter, value) in link.members_at("parameters") {
                            " with " code { (parameter) " = " (value.plain()) }
                        }
                        @if !link.text_at("description").is_empty() { " — " (link.text_at("description")) }
                    }
                }
            }
        }
    }
}

/// The phrase of a status (RFC 9110).
#[must_use]
pub fn reason(status: &str) -> &'static str {
    match status {
        "200" => "OK",
        "201" => "Created",
        "202" => "Accepted",
        "204" => "No Content",
        "301" => "Moved Permanently",
        "302" => "Found",
        "303" => "See Other",
        "304" => "Not Modified",
        "307" => "Temporary Redirect",
        "308" => "Permanent Redirect",
        "400" => "Bad Request",
        "401" => "Unauthorized",
        "402" => "Payment Required",
        "403" => "Forbidden",
        "404" => "Not Found",
        "405" => "Method Not Allowed",
        "406" => "Not Acceptable",
        "408" => "Request Timeout",
        "409" => "Conflict",
        "410" => "Gone",
        "411" => "Length Required",
        "412" => "Precondition Failed",
        "413" => "Content Too Large",
        "415" => "Unsupported Media Type",
        "422" => "Unprocessable Content",
        "428" => "Precondition Required",
        "429" => "Too Many Requests",
        "431" => "Request Header Fields Too Large",
        "500" => "Internal Server Error",
        "501" => "Not Implemented",
        "502" => "Bad Gateway",
        "503" => "Service Unavailable",
        "504" => "Gateway Timeout",
        _ => "",
    }
}
