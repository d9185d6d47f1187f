//! The pages of the problem codes.

use maud::{Markup, html};

use super::{
    ProblemKind,
    layout::{self, Page},
    responses,
    spec::problem_url,
};

/// The name on the bar of pages that are not made from the `OpenAPI` file.
const BRAND: &str = "Ichido";

/// All codes on one page.
pub fn list(kinds: &[ProblemKind<'_>]) -> String {
    let main = html! {
        header.masthead {
            h1 { "Problem codes" }
            p.lead { "Every error is a problem document (RFC 9457). Its " code { "code" } " is one of these; there are no others." }
        }
        div.problems { @for kind in kinds { (card(kind)) } }
    };
    let navigation = html! {
        p.group { a href="#main" { "Problem codes" } }
        ul {
            @for kind in kinds {
                li { a href={ "#" (kind.code) } { (responses::badge(&kind.status.to_string())) " " (kind.code) } }
            }
        }
        p.group { a href="/docs" { "API reference" } }
    };
    layout::document(&Page {
        title: "Problem codes · Ichido",
        summary: "Every error code of the service: what it means and what to do.",
        brand: BRAND,
        navigation: Some(navigation),
        main,
    })
}

fn card(kind: &ProblemKind<'_>) -> Markup {
    html! {
        section.problem {
            h2 id=(kind.code) { a.here href={ "#" (kind.code) } { (kind.title) } }
            p.endpoint {
                (responses::badge(&kind.status.to_string())) " "
                a href=(problem_url(kind.code)) { code { (kind.code) } }
                " " (again(kind))
            }
            p { (kind.detail) }
        }
    }
}

fn again(kind: &ProblemKind<'_>) -> Markup {
    html! {
        @if kind.retryable { span.verdict.yes { "Retryable: send the same again" } }
        @else { span.verdict.no { "Not retryable as it is" } }
    }
}

/// One code on a page of its own.
pub fn one(kind: &ProblemKind<'_>) -> String {
    let status = kind.status.to_string();
    let main = html! {
        nav.trail aria-label="Where you are" {
            a href="/docs" { "API reference" } " / " a href="/problems" { "Problem codes" } " / "
            span aria-current="page" { (kind.code) }
        }
        header.masthead {
            h1 { (kind.title) }
            p.endpoint { (responses::badge(&status)) " " span { (responses::reason(&status)) } " " code { (kind.code) } }
        }
        p.lead { (kind.detail) }
        dl.facts {
            div { dt { "Retry" } dd { (again(kind)) } }
        }
        p { "How to retry, and what every member of a problem document means, is in the " a href="/docs" { "API reference" } "." }
    };
    layout::document(&Page {
        title: &format!("{} · Ichido", kind.title),
        summary: kind.detail,
        brand: BRAND,
        navigation: None,
        main,
    })
}
