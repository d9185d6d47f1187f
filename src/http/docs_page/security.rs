//! What an operation asks for before it answers.

use maud::{Markup, html};

use super::{
    curl, markdown,
    node::Node,
    spec::{Operation, Spec, slug},
};

/// The schemes of which an operation needs one, with the scopes each asks for. None when it needs no key.
fn schemes<'a>(spec: &Spec<'a>, operation: &Operation<'a>) -> Vec<(&'a str, &'a [Node])> {
    let needs = operation.node.get("security").or_else(|| spec.root.get("security"));
    let choices = needs.map_or(&[][..], Node::elements);
    if choices.iter().any(|choice| choice.members().is_empty()) {
        return Vec::new();
    }
    choices.iter().flat_map(Node::members).map(|(name, scopes)| (name.as_str(), scopes.elements())).collect()
}

/// One line: the key and the scope that the operation needs.
pub fn line(spec: &Spec<'_>, operation: &Operation<'_>) -> Markup {
    let schemes = schemes(spec, operation);
    let listed = schemes.iter().flat_map(|(_, scopes)| scopes.iter()).filter_map(Node::text);
    let required = operation.node.get("x-required-scope").and_then(Node::text);
    let scopes: Vec<_> = required.into_iter().chain(listed).collect();
    html! {
        p.needs {
            @if schemes.is_empty() {
                "No key needed"
            } @else {
                "Needs "
                @for (index, (name, _)) in schemes.iter().enumerate() {
                    @if index > 0 { " or " }
                    a href={ "#" (scheme_id(name)) } { (name) }
                }
                @for (index, scope) in scopes.iter().enumerate() {
                    @if index == 0 { " with the scope " } @else { ", " }
                    code { (scope) }
                }
            }
        }
    }
}

/// The argument that carries the key, which stays in a variable of the shell.
pub fn curl_argument(spec: &Spec<'_>, operation: &Operation<'_>) -> Option<String> {
    let (name, _) = *schemes(spec, operation).first()?;
    let scheme = spec.components("securitySchemes").iter().find(|(other, _)| other == name)?;
    let scheme = spec.resolve(&scheme.1);
    let variable = variable(spec.root.get("info")?.text_at("title"));
    match (scheme.text_at("type"), scheme.text_at("in")) {
        ("apiKey", "header") => {
            Some(format!("{}\"${variable}\"", curl::quoted(&format!("{}: ", scheme.text_at("name")))))
        }
        ("apiKey", _) => None,
        _ => Some(format!("\"Authorization: Bearer ${variable}\"")),
    }
}

/// `Ichido` is `ICHIDO_KEY`.
fn variable(title: &str) -> String {
    let name: String = title.chars().filter(char::is_ascii_alphanumeric).collect();
    let begins_well = name.starts_with(|c: char| c.is_ascii_alphabetic());
    if begins_well { format!("{}_KEY", name.to_uppercase()) } else { "API_KEY".to_owned() }
}

/// The section on authentication; empty when the file has no schemes.
pub fn section(spec: &Spec<'_>) -> Markup {
    let schemes = spec.components("securitySchemes");
    html! {
        @if !schemes.is_empty() {
            section {
                h2 #authentication { a.here href="#authentication" { "Authentication" } }
                @for (name, scheme) in schemes { (scheme_article(spec, name, spec.resolve(scheme))) }
            }
        }
    }
}

fn scheme_article(spec: &Spec<'_>, name: &str, scheme: &Node) -> Markup {
    let id = scheme_id(name);
    let parts = ["type", "scheme", "in", "name"].map(|key| scheme.text_at(key));
    let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    html! {
        h3 id=(id) { a.here href={ "#" (id) } { (name) } }
        p.kind {
            (parts.join(" · "))
            @if !scheme.text_at("bearerFormat").is_empty() { " · " code { (scheme.text_at("bearerFormat")) } }
        }
        div.prose { (markdown::render(scheme.text_at("description"), &id, 3, &spec.links)) }
    }
}

fn scheme_id(name: &str) -> String {
    format!("auth-{}", slug(name))
}
