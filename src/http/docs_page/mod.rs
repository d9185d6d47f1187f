//! Pages for people, written by the server from its `OpenAPI` file: no script, no image, nothing from another host.
//!
//! [`render`] is pure: the caller keeps its answer. Everything that comes from the file is
//! escaped. The only style is [`STYLE`], in one `<style>` element; there are no style attributes, so a
//! Content-Security-Policy of `default-src 'none'; style-src 'sha256-…'` is enough.

mod curl;
mod examples;
mod json;
mod layout;
mod markdown;
mod members;
mod node;
mod operation;
mod problems;
mod reference;
mod responses;
mod schema;
mod security;
mod spec;
#[cfg(test)]
mod tests;

pub use layout::STYLE;

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum DocsError {
    /// The file is not YAML.
    #[error("the OpenAPI file cannot be read: {0}")]
    Yaml(String),
    /// It is YAML, but no `OpenAPI` document.
    #[error("the file is no OpenAPI document: it lacks `openapi` or `paths`")]
    NotOpenApi,
    /// A `$ref` leads nowhere, in a circle or out of the file.
    #[error("the OpenAPI file has a reference that leads nowhere: {0}")]
    Reference(String),
}

/// One problem code, as its page shows it.
#[derive(Debug, Clone, Copy)]
pub struct ProblemKind<'a> {
    /// For machines.
    pub code: &'a str,
    /// HTTP status.
    pub status: u16,
    /// What it means, in a few words.
    pub title: &'a str,
    /// What it means and what to do.
    pub detail: &'a str,
    /// Whether the same request can succeed later.
    pub retryable: bool,
}

/// The page of the whole reference.
///
/// # Errors
///
/// When `openapi_yaml` is not YAML, is no `OpenAPI` document, or has a reference that leads nowhere.
pub fn render(openapi_yaml: &str) -> Result<String, DocsError> {
    let root = serde_saphyr::from_str(openapi_yaml).map_err(|error| DocsError::Yaml(error.to_string()))?;
    Ok(reference::page(&spec::Spec::new(&root)?))
}

/// The page of all problem codes.
#[must_use]
pub fn render_problems(kinds: &[ProblemKind<'_>]) -> String {
    problems::list(kinds)
}

/// The page of one problem code.
#[must_use]
pub fn render_problem(kind: &ProblemKind<'_>) -> String {
    problems::one(kind)
}
