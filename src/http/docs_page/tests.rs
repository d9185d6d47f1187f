//! What the pages must hold, tried on the real contract.

use std::collections::BTreeSet;

use super::{
    DocsError, ProblemKind, STYLE, json, markdown,
    node::Node,
    render, render_problem, render_problems,
    spec::{Links, Spec},
};

const FILE: &str = include_str!("../../../openapi.yaml");

fn root() -> Node {
    serde_saphyr::from_str(FILE).unwrap()
}

fn page() -> String {
    render(FILE).unwrap()
}

/// The values of one attribute, as they are written.
fn attributes<'a>(page: &'a str, name: &str) -> Vec<&'a str> {
    page.split(&format!(" {name}=\"")).skip(1).map(|rest| rest.split('"').next().unwrap()).collect()
}

/// What a reader sees.
fn text(page: &str) -> String {
    let mut parts = page.split('<');
    let mut text = parts.next().unwrap().to_owned();
    for part in parts {
        text.push_str(part.split_once('>').map_or("", |(_, rest)| rest));
    }
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

/// The page without what is in its head.
fn body(page: &str) -> &str {
    page.split_once("</style>").unwrap().1
}

const KIND: ProblemKind<'_> = ProblemKind {
    code: "rate_limited",
    status: 429,
    title: "Too many new orders",
    detail: "Wait <as long> as Retry-After says.",
    retryable: true,
};

fn all_pages() -> [String; 3] {
    [page(), render_problems(&[KIND]), render_problem(&KIND)]
}

#[test]
fn shows_every_operation_with_its_parameters_and_statuses() {
    let root = root();
    let spec = Spec::new(&root).unwrap();
    let page = page();
    assert_eq!(spec.operations.len(), 22);
    for operation in &spec.operations {
        let start = page.find(&format!("<h3 id=\"{}\">", operation.id)).unwrap();
        let section = page[start..].split("</section>").next().unwrap();
        let shown = text(section);
        assert!(shown.contains(&format!("{} {}", operation.method, operation.path)), "{}", operation.id);
        assert!(shown.contains(operation.title()), "{}", operation.id);
        assert!(section.contains("<code>curl -i "), "{}", operation.id);
        if let Some(scope) = operation.node.get("x-required-scope").and_then(Node::text) {
            assert!(shown.contains(&format!("with the scope {scope}")), "{}", operation.id);
        }
        for parameter in &operation.parameters {
            let row = format!("<code>{}</code><span class=\"place\">in ", parameter.text_at("name"));
            assert!(section.contains(&row), "{} {}", operation.id, parameter.text_at("name"));
        }
        for (status, response) in operation.node.members_at("responses") {
            assert!(section.contains(&format!("id=\"{}-{status}\"", operation.id)), "{} {status}", operation.id);
            for (header, _) in spec.resolve(response).members_at("headers") {
                assert!(section.contains(&format!("<code>{header}</code>")), "{} {status} {header}", operation.id);
            }
        }
    }
}

#[test]
fn shows_every_schema_member_and_example() {
    let root = root();
    let spec = Spec::new(&root).unwrap();
    let page = page();
    let shown = text(&page);
    for (name, schema) in spec.components("schemas") {
        let start = page.find(&format!("<h3 id=\"schema-{name}\">")).unwrap();
        let section = page[start..].split("</section>").next().unwrap();
        for (member, _) in schema.members_at("properties") {
            assert!(section.contains(&format!("<code>{member}</code>")), "{name}.{member}");
        }
        for value in schema.elements_at("enum") {
            assert!(section.contains(&format!("<code>{}</code>", value.plain())), "{name} {value:?}");
        }
    }
    for (name, example) in spec.components("examples") {
        assert!(shown.contains(&text(&json::pretty(example.get("value").unwrap()).0)), "{name}");
    }
}

#[test]
fn opens_the_members_of_a_request_body() {
    let shown = text(&page());
    for name in ["customer.reference", "lines[].unit_amount", "metadata.*"] {
        assert!(shown.contains(name), "{name}");
    }
}

#[test]
fn writes_examples_in_the_order_of_the_file() {
    let node: Node = serde_saphyr::from_str("{b: 1, a: [true, {}], c: 'no'}").unwrap();
    let expected = "{\n  \"b\": 1,\n  \"a\": [\n    true,\n    {}\n  ],\n  \"c\": \"no\"\n}";
    assert_eq!(text(&json::pretty(&node).0), expected);
    assert_eq!(node.compact(), r#"{"b":1,"a":[true,{}],"c":"no"}"#);
}

#[test]
fn every_link_in_the_page_has_its_target_and_every_anchor_is_unique() {
    for page in all_pages() {
        let ids = attributes(body(&page), "id");
        let unique: BTreeSet<_> = ids.iter().copied().collect();
        assert_eq!(ids.len(), unique.len());
        for target in attributes(&page, "href").into_iter().filter_map(|href| href.strip_prefix('#')) {
            assert!(unique.contains(target), "{target}");
        }
    }
}

#[test]
fn every_heading_but_the_first_is_an_anchor() {
    for page in all_pages() {
        for level in 2..=6 {
            for heading in page.split(&format!("<h{level}")).skip(1) {
                assert!(heading.starts_with(" id=\""), "{heading:.60}");
                assert!(heading.split_once('>').unwrap().1.starts_with("<a class=\"here\""), "{heading:.60}");
            }
        }
    }
}

#[test]
fn loads_nothing_runs_nothing_and_needs_one_style_only() {
    for page in all_pages() {
        assert!(page.contains(&format!("<style>{STYLE}</style>")));
        for forbidden in ["<script", "<link", "<img", "<iframe", " src=", " style=", " onclick=", "url(", "@import"] {
            assert!(!page.contains(forbidden), "{forbidden}");
        }
        assert!(page.contains("<html lang=\"en\">") && page.contains("<main") && page.contains("href=\"/docs\""));
    }
}

const HOSTILE: &str = r##"
openapi: 3.1.0
info: {title: '<script>x</script>', version: '"><b>', description: "# <i>h</i>\n\n<script>y</script>\n\n[a](javascript:z) ![p](http://h/p.png) [q](http://h/\"onclick=x)\n\n|a|\n|:-:|\n|<b>|\n\n```\"><u>\n<s>\n```"}
paths:
  /<p>/{id}:
    parameters:
      - {name: id, in: path, example: "a'b/?\"<"}
    put:
      operationId: '"><x'
      parameters:
        - {name: 'X-<h>', in: header, required: true, example: "it's $(x) `y`"}
      requestBody: {content: {application/json: {example: {"k'": "v'<"}, schema: {$ref: '#/components/schemas/Loop'}}}}
      responses: {'200': {description: '<em>', headers: {'<H>': {schema: {pattern: '<z>'}}}}}
components:
  schemas:
    Loop: {type: object, properties: {next: {$ref: '#/components/schemas/Loop'}, all: {type: array, items: {$ref: '#/components/schemas/Loop'}}}}
"##;

#[test]
fn hostile_text_stays_text_and_a_schema_that_holds_itself_ends() {
    let page = render(HOSTILE).unwrap();
    for tag in ["script", "i", "b", "u", "s", "x", "h", "p.png", "em", "z", "H"] {
        assert!(!page.contains(&format!("<{tag}>")), "{tag}");
    }
    for forbidden in ["<script", "<img", "javascript:", " onclick=", " style="] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    let shown = text(&page);
    assert!(shown.contains("<script>y</script>") && shown.contains("<s>"));
    assert!(shown.contains("'http://127.0.0.1:8080/<p>/a%27b%2F%3F%22%3C'"), "{shown}");
    assert!(shown.contains(r"-H 'X-<h>: it'\''s $(x) `y`'"));
    assert!(shown.contains(r#""k'\''": "v'\''<""#) && shown.contains("curl -i -X PUT"));
    assert!(render_problem(&KIND).contains("Wait &lt;as long&gt;"));
}

#[test]
fn links_known_names_but_not_inside_other_links_or_headings() {
    let links = Links::from([("Order".to_owned(), "#schema-Order".to_owned())]);
    let render = |source| markdown::render(source, "x", 2, &links).0;
    assert_eq!(render("`Order`").trim(), "<p><a href=\"#schema-Order\"><code>Order</code></a></p>");
    assert!(!render("[see `Order`](/docs)").contains("#schema-Order"));
    assert_eq!(
        render("# An `Order`").trim(),
        "<h3 id=\"x-an-order\"><a class=\"here\" href=\"#x-an-order\">An <code>Order</code></a></h3>"
    );
}

#[test]
fn refuses_what_it_cannot_show() {
    assert!(matches!(render("a: [b"), Err(DocsError::Yaml(_))));
    assert!(matches!(render("a: b"), Err(DocsError::NotOpenApi)));
    for target in ["#/components/schemas/None", "other.yaml#/a", "#/components/schemas/Self"] {
        let file = format!(
            "openapi: 3.1.0\npaths: {{}}\ncomponents: {{schemas: {{Self: {{$ref: '#/components/schemas/Self'}}, A: {{$ref: '{target}'}}}}}}"
        );
        assert!(matches!(render(&file), Err(DocsError::Reference(_))), "{target}");
    }
}
