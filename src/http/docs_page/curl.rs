//! The `curl` command of an operation, built from the examples of the file.

use std::fmt::Write as _;

use maud::{Markup, html};

use super::{
    examples::{self, Example},
    json,
    node::Node,
    security,
    spec::{Operation, Spec},
};

/// Where the commands go when the file names no server by its address.
const LOCAL: &str = "http://127.0.0.1:8080";

/// The command for `operation`, with `body` when it has one.
pub fn command(spec: &Spec<'_>, operation: &Operation<'_>, body: Option<(&str, &Example<'_>)>) -> Markup {
    let mut lines = vec![html! { "curl -i" (method(operation, body.is_some())) " " (word(&url(spec, operation))) }];
    lines.extend(security::curl_argument(spec, operation).map(|argument| html! { "-H " (argument) }));
    for parameter in sent(operation, "header").filter(|node| node.flag("required")) {
        if let Some(value) = examples::first_value(spec, parameter) {
            lines.push(header(parameter.text_at("name"), &value.plain()));
        }
    }
    if let Some((media_type, example)) = body {
        lines.push(header("Content-Type", media_type));
        lines.push(html! { "-d '" (json::pretty_for_shell(example.value)) "'" });
    }
    html! {
        @for (index, line) in lines.iter().enumerate() {
            @if index > 0 { " \\\n  " }
            (line)
        }
    }
}

/// curl takes GET without a body and POST with one, unless told otherwise.
fn method(operation: &Operation<'_>, has_body: bool) -> String {
    match (operation.method.as_str(), has_body) {
        ("GET", false) | ("POST", true) => String::new(),
        ("HEAD", _) => " --head".to_owned(),
        (other, _) => format!(" -X {other}"),
    }
}

fn header(name: &str, value: &str) -> Markup {
    html! { "-H " (quoted(&format!("{name}: {value}"))) }
}

fn url(spec: &Spec<'_>, operation: &Operation<'_>) -> String {
    let mut path = operation.path.to_owned();
    for parameter in sent(operation, "path") {
        if let Some(value) = examples::first_value(spec, parameter) {
            path = path.replace(&format!("{{{}}}", parameter.text_at("name")), &percent_encoded(&value.plain()));
        }
    }
    let mut separator = '?';
    for parameter in sent(operation, "query") {
        if let Some(value) = examples::first_value(spec, parameter) {
            path.push(separator);
            path.push_str(&percent_encoded(parameter.text_at("name")));
            path.push('=');
            path.push_str(&percent_encoded(&value.plain()));
            separator = '&';
        }
    }
    server(spec.root) + &path
}

fn sent<'a>(operation: &'a Operation<'_>, place: &str) -> impl Iterator<Item = &'a Node> {
    operation.parameters.iter().copied().filter(move |node| node.text_at("in") == place)
}

/// The first server with an address of its own, its variables at their defaults.
fn server(root: &Node) -> String {
    let found = root.elements_at("servers").iter().find(|server| server.text_at("url").contains("://"));
    let Some(server) = found else { return LOCAL.to_owned() };
    let mut url = server.text_at("url").to_owned();
    for (name, variable) in server.members_at("variables") {
        url = url.replace(&format!("{{{name}}}"), variable.text_at("default"));
    }
    url.trim_end_matches('/').to_owned()
}

fn percent_encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

/// `text` as one word of a shell, in quotes only where it needs them.
fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._~/:%=@+,".contains(c);
    if !text.is_empty() && text.chars().all(plain) { text.to_owned() } else { quoted(text) }
}

/// `text` in single quotes, between which a shell reads everything as it is.
#[must_use]
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
