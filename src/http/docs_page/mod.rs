//! stub
pub struct ProblemKind<'a> {
    pub code: &'a str,
    pub status: u16,
    pub title: &'a str,
    pub detail: &'a str,
    pub retryable: bool,
}
pub fn render(openapi_yaml: &str) -> Result<String, std::fmt::Error> {
    Ok(openapi_yaml.to_owned())
}
pub fn render_problems(kinds: &[ProblemKind<'_>]) -> String {
    kinds.iter().map(render_problem).collect()
}
pub fn render_problem(kind: &ProblemKind<'_>) -> String {
    format!("{} {} {} {} {}", kind.code, kind.status, kind.title, kind.detail, kind.retryable)
}
