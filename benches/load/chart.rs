//! The report as a picture, `load.svg`: bars of what is done in a second, grouped by the number of connections.
//!
//! Plain text, with a background of its own, so that it can be read on a light and on a dark page.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::report::Report;
use crate::work::Work;

const WIDTH: f64 = 960.0;
/// Room for title and environment.
const HEAD: f64 = 102.0;
/// Left of the bars, for the names.
const LEFT: f64 = 60.0;
const PLOT: f64 = 240.0;
/// One panel: its title, legend, bars and the numbers of connections.
const PANEL: f64 = PLOT + 126.0;
const BACKGROUND: &str = "#ffffff";
const TEXT: &str = "#1f2933";
const FAINT: &str = "#d5dbe1";
/// Told apart by people who do not see all colours (Okabe and Ito): ours, pgbench's, then other services'.
const OURS: &str = "#0072b2";
const SINGLE: &str = "#e69f00";
const CLASSIC: &str = "#d55e00";
const PEERS: [&str; 4] = ["#009e73", "#cc79a7", "#56b4e9", "#7f7f7f"];

/// Bars of one colour.
struct Series {
    name: String,
    colour: &'static str,
    /// By number of connections; `None` where it was not measured.
    values: Vec<Option<f64>>,
}

/// One half of the picture.
struct Panel {
    title: &'static str,
    connections: Vec<usize>,
    series: Vec<Series>,
}

impl Report {
    /// New orders beside what PostgreSQL and others reach, and replays beside reads.
    pub fn chart(&self) -> String {
        let cells = self.cells();
        let peers_new = cells.iter().map(|cell| cell.0).filter(|work| matches!(work, Work::PeerNew(_)));
        let peers_replay = cells.iter().map(|cell| cell.0).filter(|work| matches!(work, Work::PeerReplay(_)));
        let new = [Work::New, Work::PgbenchSingle, Work::PgbenchClassic].into_iter().chain(peers_new);
        let replays = [Work::Replay, Work::PgbenchRead].into_iter().chain(peers_replay);
        let panels = [self.panel("New orders a second", new), self.panel("Replays a second", replays)];
        let panels: Vec<_> = panels.into_iter().filter(|panel| !panel.series.is_empty()).collect();
        let height = panels.iter().fold(HEAD, |height, _| height + PANEL);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
             height=\"{height}\" font-family=\"system-ui, sans-serif\" font-size=\"13\" fill=\"{TEXT}\">\n\
             <rect width=\"{WIDTH}\" height=\"{height}\" rx=\"6\" fill=\"{BACKGROUND}\"/>\n"
        );
        text(&mut svg, (24.0, 34.0), "font-size=\"20\" font-weight=\"600\"", "Ichido beside PostgreSQL alone");
        // Too long for one line.
        let environment = self.environment.line();
        let (first, second) = environment.split_once(", kernel").unwrap_or((&environment, ""));
        text(&mut svg, (24.0, 58.0), "font-size=\"12\"", first);
        text(&mut svg, (24.0, 76.0), "font-size=\"12\"", &format!("kernel{second}"));
        let rounds = format!(
            "Medians of {} round(s) of {} s; server, PostgreSQL and load generator share the machine",
            self.rounds,
            self.duration.as_secs()
        );
        text(&mut svg, (24.0, 94.0), "font-size=\"12\"", &rounds);
        let mut top = HEAD;
        for panel in &panels {
            panel.draw(&mut svg, top);
            top += PANEL;
        }
        svg + "</svg>\n"
    }

    /// The same for the same service in both panels.
    fn colour(&self, work: Work) -> &'static str {
        let peer_of =
            |work: Work| if let Work::PeerNew(name) | Work::PeerReplay(name) = work { Some(name) } else { None };
        match (work, peer_of(work)) {
            (_, Some(name)) => {
                let names: BTreeSet<_> = self.cells().iter().filter_map(|cell| peer_of(cell.0)).collect();
                PEERS[names.iter().position(|other| *other == name).unwrap_or_default() % PEERS.len()]
            }
            (Work::PgbenchSingle | Work::PgbenchRead, _) => SINGLE,
            (Work::PgbenchClassic, _) => CLASSIC,
            _ => OURS,
        }
    }

    fn panel(&self, title: &'static str, works: impl Iterator<Item = Work>) -> Panel {
        let mut works: Vec<_> = works.filter(|&work| !self.connections(work).is_empty()).collect();
        works.dedup();
        let mut connections: Vec<_> = works.iter().flat_map(|&work| self.connections(work)).collect();
        connections.sort_unstable();
        connections.dedup();
        let series = works
            .into_iter()
            .map(|work| Series {
                name: work.name(),
                colour: self.colour(work),
                values: connections.iter().map(|&connections| self.per_second(work, connections)).collect(),
            })
            .collect();
        Panel { title, connections, series }
    }
}

impl Panel {
    fn draw(&self, svg: &mut String, top: f64) {
        text(svg, (24.0, top + 26.0), "font-size=\"15\" font-weight=\"600\"", self.title);
        let mut left = LEFT;
        for series in &self.series {
            rectangle(svg, (left, top + 38.0), (11.0, 11.0), series.colour);
            text(svg, (left + 16.0, top + 48.0), "", &series.name);
            // About 7 units a letter.
            left += 44.0 + 7.0 * count(series.name.len());
        }
        let most = self.series.iter().flat_map(|series| &series.values).flatten().copied().fold(1.0, f64::max);
        let bottom = top + PANEL - 40.0;
        grid(svg, bottom, most);
        let group = (WIDTH - LEFT - 24.0) / count(self.connections.len());
        let bar = (group * 0.84 / count(self.series.len())).min(70.0);
        for (index, connections) in self.connections.iter().enumerate() {
            let middle = LEFT + group * (count(index) + 0.5);
            let noun = if *connections == 1 { "connection" } else { "connections" };
            text(svg, (middle, bottom + 20.0), "text-anchor=\"middle\"", &format!("{connections} {noun}"));
            let present = self.series.iter().filter_map(|series| Some((series.values[index]?, series.colour)));
            let present: Vec<_> = present.collect();
            let mut left = middle - bar * count(present.len()) / 2.0;
            for (value, colour) in present {
                let height = value / most * PLOT;
                rectangle(svg, (left + 1.0, bottom - height), (bar - 2.0, height), colour);
                let place = (left + bar / 2.0, bottom - height - 4.0);
                text(svg, place, "font-size=\"11\" text-anchor=\"middle\"", &short(value));
                left += bar;
            }
        }
    }
}

/// Lines to read the height by.
fn grid(svg: &mut String, bottom: f64, most: f64) {
    let step = step(most);
    let mut value = 0.0;
    while value <= most {
        let y = bottom - value / most * PLOT;
        let _ = writeln!(
            svg,
            "<line x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{}\" y2=\"{y:.1}\" stroke=\"{FAINT}\"/>",
            WIDTH - 24.0
        );
        text(svg, (LEFT - 8.0, y + 4.0), "font-size=\"11\" text-anchor=\"end\"", &short(value));
        value += step;
    }
}

/// The distance of lines: 1, 2 or 5 and zeros, so that there are between three and eight.
fn step(most: f64) -> f64 {
    let power = 10_f64.powf((most / 4.0).log10().floor());
    let times = most / 4.0 / power;
    power
        * if times >= 5.0 {
            5.0
        } else if times >= 2.0 {
            2.0
        } else {
            1.0
        }
}

/// A number with three digits or so.
fn short(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        _ if value >= 9_950.0 => format!("{:.0}k", value / 1000.0),
        _ if value >= 995.0 => format!("{:.1}k", value / 1000.0),
        _ => format!("{value:.0}"),
    }
}

fn text(svg: &mut String, (x, y): (f64, f64), attributes: &str, content: &str) {
    let content = content.replace('&', "&amp;").replace('<', "&lt;");
    // Into a `String`: cannot fail.
    let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" {attributes}>{content}</text>");
}

fn rectangle(svg: &mut String, (x, y): (f64, f64), (width, height): (f64, f64), colour: &str) {
    let _ = writeln!(
        svg,
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{colour}\"/>"
    );
}

fn count(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}
