//! The frame of every page: head, bar, navigation, footer.

use maud::{DOCTYPE, Markup, PreEscaped, html};

/// All the style there is. A Content-Security-Policy may name its SHA-256.
pub const STYLE: &str = include_str!("style.css");

/// What differs from page to page.
pub struct Page<'a> {
    /// The title of the window.
    pub title: &'a str,
    /// One sentence for search engines and previews.
    pub summary: &'a str,
    /// The name on the bar.
    pub brand: &'a str,
    /// The navigation beside the text; none on a page that needs none.
    pub navigation: Option<Markup>,
    /// The text.
    pub main: Markup,
}

/// The whole document.
pub fn document(page: &Page<'_>) -> String {
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                title { (page.title) }
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="description" content=(page.summary);
                style { (PreEscaped(STYLE)) }
            }
            body #top {
                a.skip href="#main" { "Skip to the text" }
                header.bar {
                    a.brand href="/docs" { span.mark aria-hidden="true" {} (page.brand) }
                    @if page.navigation.is_some() { a.open href="#contents" { "Contents" } }
                }
                div.frame.wide[page.navigation.is_some()] {
                    @if let Some(navigation) = &page.navigation {
                        nav #contents aria-label="Contents" {
                            a.close href="#top" { "Close" }
                            (navigation)
                        }
                    }
                    main #main tabindex="-1" { (page.main) }
                }
                footer {
                    a href="/docs" { "Reference" } " · "
                    a href="/problems" { "Problem codes" } " · "
                    a href="/openapi.yaml" { "OpenAPI file" }
                }
            }
        }
    };
    markup.into_string()
}
