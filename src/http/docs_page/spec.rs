//! Reads the `OpenAPI` file: finds its operations, follows `$ref`, and knows which words of its prose are links.

use std::collections::BTreeMap;

use super::{DocsError, node::Node};

/// The members of a path that are operations.
const METHODS: [&str; 8] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

/// A chain of references longer than this is a circle.
const MAX_HOPS: usize = 16;

/// Where a word in backquotes leads.
pub type Links = BTreeMap<String, String>;

/// The file and what is derived from it once.
pub struct Spec<'a> {
    /// The whole document.
    pub root: &'a Node,
    /// All operations, in the order of the file.
    pub operations: Vec<Operation<'a>>,
    /// Schemas, problem codes and routes that prose may name in backquotes.
    pub links: Links,
}

/// One method of one path.
pub struct Operation<'a> {
    /// In upper case.
    pub method: String,
    /// As the file has it, with its `{parameters}`.
    pub path: &'a str,
    /// The operation object.
    pub node: &'a Node,
    /// Parameters of the path and of the operation, with references resolved.
    pub parameters: Vec<&'a Node>,
    /// The anchor on the page.
    pub id: String,
}

impl Operation<'_> {
    /// What people call it.
    #[must_use]
    pub fn title(&self) -> &str {
        match self.node.text_at("summary") {
            "" => self.path,
            summary => summary,
        }
    }
}

impl<'a> Spec<'a> {
    /// Checks what the page relies on and collects the operations.
    ///
    /// # Errors
    ///
    /// When this is no `OpenAPI` document, or a reference leads nowhere.
    pub fn new(root: &'a Node) -> Result<Self, DocsError> {
        if root.text_at("openapi").is_empty() || root.get("paths").is_none() {
            return Err(DocsError::NotOpenApi);
        }
        check_references(root, root)?;
        let mut spec = Self { root, operations: Vec::new(), links: Links::new() };
        spec.operations = spec.find_operations();
        spec.links = spec.find_links();
        Ok(spec)
    }

    /// What `node` stands for, when it is a reference; else `node`.
    #[must_use]
    pub fn resolve(&self, node: &'a Node) -> &'a Node {
        follow(self.root, node).unwrap_or(node)
    }

    /// The operations whose first tag is `tag`.
    pub fn tagged(&self, tag: Option<&str>) -> impl Iterator<Item = &Operation<'a>> {
        let tag = tag.map(str::to_owned);
        self.operations.iter().filter(move |operation| self.tag_of(operation) == tag.as_deref())
    }

    /// The first tag of the operation, when the document describes that tag.
    fn tag_of(&self, operation: &Operation<'a>) -> Option<&'a str> {
        let name = operation.node.elements_at("tags").first()?.text()?;
        self.root.elements_at("tags").iter().map(|tag| tag.text_at("name")).find(|known| *known == name)
    }

    /// The components of one kind.
    #[must_use]
    pub fn components(&self, kind: &str) -> &'a [(String, Node)] {
        self.root.get("components").map_or(&[], |components| components.members_at(kind))
    }

    fn find_operations(&self) -> Vec<Operation<'a>> {
        let mut found = Vec::new();
        for (path, item) in self.root.members_at("paths") {
            for (method, node) in item.members().iter().filter(|(name, _)| METHODS.contains(&name.as_str())) {
                let id = match node.text_at("operationId") {
                    "" => format!("op-{method}{}", slug(path)),
                    name => operation_id(name),
                };
                let parameters = self.parameters(item, node);
                found.push(Operation { method: method.to_uppercase(), path, node, parameters, id });
            }
        }
        found
    }

    /// A parameter of the operation replaces the one of the path that has the same name and place.
    fn parameters(&self, item: &'a Node, operation: &'a Node) -> Vec<&'a Node> {
        let key = |node: &'a Node| (node.text_at("in"), node.text_at("name"));
        let own: Vec<_> = operation.elements_at("parameters").iter().map(|node| self.resolve(node)).collect();
        let shared = item.elements_at("parameters").iter().map(|node| self.resolve(node));
        let mut all: Vec<_> = shared.filter(|node| own.iter().all(|other| key(other) != key(node))).collect();
        all.extend(own);
        all
    }

    fn find_links(&self) -> Links {
        let mut links = Links::new();
        for (name, _) in self.components("schemas") {
            links.insert(name.clone(), format!("#{}", schema_id(name)));
        }
        for code in self.problem_codes() {
            links.insert(code.to_owned(), problem_url(code));
        }
        for operation in &self.operations {
            let target = format!("#{}", operation.id);
            links.insert(format!("{} {}", operation.method, operation.path), target.clone());
            links.entry(operation.path.to_owned()).or_insert(target);
        }
        links
    }

    /// Every code that some response names.
    fn problem_codes(&self) -> Vec<&'a str> {
        let shared = self.components("responses").iter();
        let own = self.operations.iter().flat_map(|operation| operation.node.members_at("responses"));
        shared.chain(own).flat_map(|(_, response)| problem_codes(response)).collect()
    }
}

/// The codes that a response names.
#[must_use]
pub fn problem_codes(response: &Node) -> Vec<&str> {
    response.elements_at("x-problem-codes").iter().filter_map(Node::text).collect()
}

/// The page that explains a problem code.
#[must_use]
pub fn problem_url(code: &str) -> String {
    format!("/problems/{}", slug(code))
}

/// The anchor of an operation.
#[must_use]
pub fn operation_id(name: &str) -> String {
    format!("op-{}", slug(name))
}

/// The anchor of a schema.
#[must_use]
pub fn schema_id(name: &str) -> String {
    format!("schema-{}", slug(name))
}

/// `text` with only characters that an id and a URL may have as they are.
#[must_use]
pub fn slug(text: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-') { c } else { '-' };
    text.chars().map(safe).collect::<String>().trim_end_matches('-').to_owned()
}

fn follow<'a>(root: &'a Node, node: &'a Node) -> Option<&'a Node> {
    let mut current = node;
    for _ in 0..MAX_HOPS {
        let Some(reference) = current.get("$ref").and_then(Node::text) else { return Some(current) };
        current = pointer(root, reference)?;
    }
    None
}

fn pointer<'a>(root: &'a Node, reference: &str) -> Option<&'a Node> {
    let steps = reference.strip_prefix("#/")?.split('/');
    steps.map(|step| step.replace("~1", "/").replace("~0", "~")).try_fold(root, |node, step| node.get(&step))
}

/// A page with a dead reference would lack a part without a word.
fn check_references(root: &Node, node: &Node) -> Result<(), DocsError> {
    if let Some(reference) = node.get("$ref").and_then(Node::text)
        && follow(root, node).is_none()
    {
        return Err(DocsError::Reference(reference.to_owned()));
    }
    for element in node.elements() {
        check_references(root, element)?;
    }
    // Examples are data: a `$ref` in them is a word like any other.
    let data = |key: &str| matches!(key, "value" | "example" | "default" | "const" | "enum");
    node.members().iter().filter(|(key, _)| !data(key)).try_for_each(|(_, member)| check_references(root, member))
}
