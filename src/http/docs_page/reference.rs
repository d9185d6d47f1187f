//! The reference: introduction, operations by tag, schemas.

use maud::{Markup, html};

use super::{
    layout::{self, Page},
    markdown::{self, Heading},
    members,
    node::Node,
    operation, schema, security,
    spec::{Spec, schema_id, slug},
};

/// The page for the whole document.
pub fn page(spec: &Spec<'_>) -> String {
    let info = spec.root.get("info").unwrap_or(&Node::Null);
    let title = info.text_at("title");
    let (introduction, headings) = markdown::with_headings(info.text_at("description"), "intro", 0, &spec.links);
    let main = html! {
        (masthead(spec, info))
        div.prose.introduction { (introduction) }
        (security::section(spec))
        @for tag in spec.root.elements_at("tags") { (tag_section(spec, Some(tag))) }
        (tag_section(spec, None))
        (schemas(spec))
    };
    layout::document(&Page {
        title: &format!("{title} {} · API reference", info.text_at("version")),
        summary: info.text_at("summary"),
        brand: title,
        navigation: Some(navigation(spec, &headings)),
        main,
    })
}

fn masthead(spec: &Spec<'_>, info: &Node) -> Markup {
    let license = info.get("license").map_or("", |license| license.text_at("name"));
    let contact = info.get("contact").map_or("", |contact| contact.text_at("name"));
    html! {
        header.masthead {
            h1 { (info.text_at("title")) " " span.version { (info.text_at("version")) } }
            p.lead { (info.text_at("summary")) }
            dl.facts {
                (servers(spec))
                div { dt { "Description" } dd { a href="/openapi.yaml" { "openapi.yaml" } " (OpenAPI " (spec.root.text_at("openapi")) ")" } }
                div { dt { "Errors" } dd { a href="/problems" { "All problem codes" } } }
                @if !contact.is_empty() { div { dt { "Contact" } dd { (contact) } } }
                @if !license.is_empty() { div { dt { "Licence" } dd { (license) } } }
            }
        }
    }
}

fn servers(spec: &Spec<'_>) -> Markup {
    let servers = spec.root.elements_at("servers");
    html! {
        @if !servers.is_empty() {
            div {
                dt { (if servers.len() == 1 { "Server" } else { "Servers" }) }
                @for server in servers {
                    dd {
                        (described(spec, server.text_at("url"), server.text_at("description")))
                        @for (name, variable) in server.members_at("variables") {
                            @let rest = format!("{} (default `{}`)", variable.text_at("description"), variable.text_at("default"));
                            (described(spec, &format!("{{{name}}}"), &rest))
                        }
                    }
                }
            }
        }
    }
}

/// A name and what it is, on one line.
fn described(spec: &Spec<'_>, name: &str, text: &str) -> Markup {
    html! { div.described { code { (name) } (markdown::render(text, "server", 5, &spec.links)) } }
}

/// One tag with its operations; `None` is for operations without one.
fn tag_section(spec: &Spec<'_>, tag: Option<&Node>) -> Markup {
    let name = tag.map(|tag| tag.text_at("name"));
    let operations: Vec<_> = spec.tagged(name).collect();
    let id = tag_id(name);
    html! {
        @if tag.is_some() || !operations.is_empty() {
            section.tag {
                h2 id=(id) { a.here href={ "#" (id) } { (name.unwrap_or("Other")) } }
                @if let Some(tag) = tag {
                    div.prose { (markdown::render(tag.text_at("description"), &id, 2, &spec.links)) }
                }
                ul.endpoints {
                    @for entry in &operations {
                        li {
                            (operation::method_badge(&entry.method)) " "
                            a href={ "#" (entry.id) } { (operation::path(entry.path)) } " "
                            span.summary { (entry.title()) }
                        }
                    }
                }
                @for entry in &operations { (operation::section(spec, entry)) }
            }
        }
    }
}

fn tag_id(name: Option<&str>) -> String {
    format!("tag-{}", slug(&name.unwrap_or("other").to_lowercase()))
}

fn schemas(spec: &Spec<'_>) -> Markup {
    let schemas = spec.components("schemas");
    html! {
        @if !schemas.is_empty() {
            section.tag {
                h2 #schemas { a.here href="#schemas" { "Schemas" } }
                @for (name, node) in schemas { (schema_article(spec, name, node)) }
            }
        }
    }
}

fn schema_article(spec: &Spec<'_>, name: &str, node: &Node) -> Markup {
    let id = schema_id(name);
    let schema = schema::Schema::new(spec, node);
    let rules = schema::constraints(schema);
    let values = schema.get("enum").map_or(&[][..], Node::elements);
    html! {
        section.schema-article {
            h3 id=(id) { a.here href={ "#" (id) } { (name) } }
            p.kind { (schema::type_label(spec, schema)) @for rule in &rules { " · " (rule) } }
            div.prose { (markdown::render(node.text_at("description"), &id, 3, &spec.links)) }
            (members::table(spec, node, false, &format!("Members of {name}")))
            @if schema::is_long(values) {
                details.values {
                    summary { "All " (values.len()) " values" }
                    p { @for value in values { code { (value.plain()) } " " } }
                }
            }
        }
    }
}

fn navigation(spec: &Spec<'_>, headings: &[Heading]) -> Markup {
    let groups = spec.root.elements_at("tags").iter().map(|tag| Some(tag.text_at("name"))).chain([None]);
    html! {
        p.group { a href="#main" { "Introduction" } }
        ul { @for heading in headings { li { a href={ "#" (heading.id) } { (heading.text) } } } }
        @if !spec.components("securitySchemes").is_empty() {
            p.group { a href="#authentication" { "Authentication" } }
        }
        @for name in groups {
            @let operations: Vec<_> = spec.tagged(name).collect();
            @if name.is_some() || !operations.is_empty() {
                p.group { a href={ "#" (tag_id(name)) } { (name.unwrap_or("Other")) } }
                ul {
                    @for entry in &operations {
                        li { a href={ "#" (entry.id) } { (operation::method_badge(&entry.method)) " " (entry.title()) } }
                    }
                }
            }
        }
        @if !spec.components("schemas").is_empty() {
            p.group { a href="#schemas" { "Schemas" } }
            ul { @for (name, _) in spec.components("schemas") { li { a href={ "#" (schema_id(name)) } { (name) } } } }
        }
    }
}
