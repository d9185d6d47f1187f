//! Markdown of descriptions to HTML. Nothing in it can load, run or style anything.

use std::fmt::Write as _;

use maud::{Markup, PreEscaped, Render, html};
use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html::push_html};

use super::spec::{Links, slug};

/// A heading of a rendered text, for the navigation.
pub struct Heading {
    /// Its anchor.
    pub id: String,
    /// Its text.
    pub text: String,
}

/// Renders `source`. Headings go `shift` levels down and get anchors that begin with `prefix`.
pub fn with_headings(source: &str, prefix: &str, shift: usize, links: &Links) -> (Markup, Vec<Heading>) {
    let mut events = Parser::new_ext(source, Options::ENABLE_TABLES);
    let mut writer = Writer { out: Vec::new(), headings: Vec::new(), prefix, shift, links, in_link: false };
    while let Some(event) = events.next() {
        match event {
            Event::Start(Tag::Heading { level, .. }) => writer.heading(level, &mut events),
            other => writer.event(other),
        }
    }
    let mut page = String::new();
    push_html(&mut page, writer.out.into_iter());
    (PreEscaped(page), writer.headings)
}

/// Renders `source` where nobody needs its headings.
pub fn render(source: &str, prefix: &str, shift: usize, links: &Links) -> Markup {
    with_headings(source, prefix, shift, links).0
}

struct Writer<'a, 'b> {
    out: Vec<Event<'a>>,
    headings: Vec<Heading>,
    prefix: &'b str,
    shift: usize,
    links: &'b Links,
    in_link: bool,
}

impl<'a> Writer<'a, '_> {
    fn raw(&mut self, html: impl Into<CowStr<'a>>) {
        self.out.push(Event::Html(html.into()));
    }

    fn event(&mut self, event: Event<'a>) {
        match event {
            // Raw HTML is shown as it was typed.
            Event::Html(text) | Event::InlineHtml(text) => self.out.push(Event::Text(text)),
            Event::Start(Tag::HtmlBlock) => self.out.push(Event::Start(Tag::Paragraph)),
            Event::End(TagEnd::HtmlBlock) => self.out.push(Event::End(TagEnd::Paragraph)),
            // An image would be loaded; its text is enough.
            Event::Start(Tag::Image { .. }) | Event::End(TagEnd::Image) => {}
            Event::Start(Tag::Link { dest_url, .. }) if !harmless(&dest_url) => self.raw("<span>"),
            Event::Start(Tag::Link { dest_url, .. }) => {
                self.in_link = true;
                let mut open = String::from("<a href=\"");
                dest_url.as_ref().render_to(&mut open);
                self.raw(open + "\">");
            }
            Event::End(TagEnd::Link) => {
                self.raw(if self.in_link { "</a>" } else { "</span>" });
                self.in_link = false;
            }
            // Its language would become a class that nothing uses.
            Event::Start(Tag::CodeBlock(_)) => self.raw("<pre><code>"),
            Event::End(TagEnd::CodeBlock) => self.raw("</code></pre>"),
            // Alignments would become style attributes, which the Content-Security-Policy forbids. The box scrolls on a
            // narrow screen, so the keyboard must reach it.
            Event::Start(Tag::Table(columns)) => {
                self.raw("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table\">");
                self.out
                    .push(Event::Start(Tag::Table(columns.iter().map(|_| pulldown_cmark::Alignment::None).collect())));
            }
            Event::End(TagEnd::Table) => {
                self.out.push(Event::End(TagEnd::Table));
                self.raw("</div>");
            }
            Event::Code(code) => self.code(code),
            other => self.out.push(other),
        }
    }

    /// A name that the page explains somewhere is a link to there.
    fn code(&mut self, code: CowStr<'a>) {
        match self.links.get(code.as_ref()) {
            Some(target) if !self.in_link => self.raw(html! { a href=(target) { code { (code) } } }.0),
            _ => self.out.push(Event::Code(code)),
        }
    }

    /// The whole heading is the link to itself, so links inside it lose theirs.
    fn heading(&mut self, level: HeadingLevel, events: &mut Parser<'a>) {
        let mut inner = Vec::new();
        let mut text = String::new();
        for event in events.by_ref() {
            match event {
                Event::End(TagEnd::Heading(_)) => break,
                Event::Start(Tag::Link { .. } | Tag::Image { .. }) | Event::End(TagEnd::Link | TagEnd::Image) => {}
                Event::Text(part) | Event::InlineHtml(part) => {
                    text.push_str(&part);
                    inner.push(Event::Text(part));
                }
                Event::Code(part) => {
                    text.push_str(&part);
                    inner.push(Event::Code(part));
                }
                other => inner.push(other),
            }
        }
        let level = (level as usize + self.shift).clamp(2, 6);
        let id = self.free_id(&text);
        self.raw(format!("<h{level} id=\"{id}\"><a class=\"here\" href=\"#{id}\">"));
        self.out.append(&mut inner);
        self.raw(format!("</a></h{level}>\n"));
        self.headings.push(Heading { id, text });
    }

    fn free_id(&self, text: &str) -> String {
        let mut id = format!("{}-{}", self.prefix, slug(&text.to_lowercase()));
        while self.headings.iter().any(|other| other.id == id) {
            let _ = write!(id, "-{}", self.headings.len());
        }
        id
    }
}

/// Whether a link leads to a page or a mailbox, and not into a script.
fn harmless(url: &str) -> bool {
    let scheme = url.split(['/', '?', '#']).next().unwrap_or_default().split_once(':');
    scheme.is_none_or(|(name, _)| ["http", "https", "mailto"].iter().any(|known| name.eq_ignore_ascii_case(known)))
}
