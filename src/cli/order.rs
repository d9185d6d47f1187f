//! `ichido order`.

use crate::app::error::AppError;
use crate::app::inspect::get_trace;
use crate::cli::output::Output;
use crate::cli::{CliError, admin_app};
use crate::db::deadline::Deadline;
use crate::domain::ids::{OrderId, OrgId};
use crate::domain::reply::timestamp;
use crate::domain::trace::{Trace, TraceEntry, TraceView};
use serde_json::{Value, json};

/// Subcommands of `order`.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Show everything that happened to an order, oldest first
    Trace(TraceArgs),
}

/// Arguments of `order trace`.
#[derive(Debug, clap::Args)]
pub struct TraceArgs {
    /// The order's id
    #[arg(value_name = "ID", value_parser = order_id)]
    order: OrderId,
    /// The organisation
    #[arg(long)]
    org: i64,
    #[command(flatten)]
    output: Output,
}

impl Command {
    pub(super) fn json(&self) -> bool {
        let Self::Trace(args) = self;
        args.output.json
    }
}

/// Runs a subcommand.
pub async fn run(command: Command) -> Result<(), CliError> {
    let Command::Trace(args) = command;
    let app = admin_app().await?;
    let trace = get_trace(&app, OrgId(args.org), args.order, Deadline::of_request()).await;
    let trace = trace.map_err(|error| match error {
        AppError::NotFound => CliError::NoSuch(format!("order {} in organisation {}", args.order, args.org)),
        other => CliError::App(other),
    })?;
    args.output.print(&json!(TraceView::of(&trace)), || timeline(&trace));
    Ok(())
}

fn order_id(text: &str) -> Result<OrderId, String> {
    OrderId::parse(text)
        .ok_or_else(|| "the id of an order is expected, such as 019cadd4-669a-704a-80c5-c7fd0a6a3a45".to_owned())
}

/// One line for each entry, with the states it led to; what else is known below it.
fn timeline(trace: &Trace) -> String {
    let mut lines = vec![format!("order {}", trace.order_id)];
    for entry in &trace.entries {
        lines.push(headline(entry));
        lines.extend(rest(&entry.details));
    }
    if trace.truncated {
        lines.push(format!("… more than {} entries; the later ones are not shown", trace.entries.len()));
    }
    lines.push("effects".to_owned());
    if trace.effects.is_empty() {
        lines.push("  none is done".to_owned());
    }
    lines.extend(trace.effects.iter().map(|effect| {
        let name = [effect.kind.as_str(), &effect.fact].join(" ");
        format!("  {} × {}", effect.count, name.trim())
    }));
    lines.join("\n")
}

fn headline(entry: &TraceEntry) -> String {
    let word = |name: &str| entry.details.get(name).and_then(Value::as_str).unwrap_or_default();
    let about = [word("kind"), word("fact")].join(" ");
    let part = |name: &str| entry.details.get(name).unwrap_or(&Value::Null);
    let moved = [("", &entry.details), ("payment ", part("payment")), ("order ", part("order"))];
    let moved = moved.iter().filter_map(|(what, states)| {
        let (from, to) = (states.get("from").and_then(Value::as_str), states.get("to").and_then(Value::as_str));
        to.filter(|to| from != Some(to)).map(|to| format!("{what}{} → {to}", from.unwrap_or("·")))
    });
    let moved: Vec<_> = moved.collect();
    let line = format!("{}  {:<20} {} ({})", timestamp(entry.at), entry.what, about.trim(), entry.actor);
    if moved.is_empty() { line } else { format!("{line}  {}", moved.join(", ")) }
}

/// What the headline does not tell.
fn rest(details: &Value) -> Vec<String> {
    const TOLD: [&str; 6] = ["kind", "fact", "from", "to", "payment", "order"];
    let members = details.as_object().into_iter().flatten();
    let untold = members.filter(|(name, value)| !TOLD.contains(&name.as_str()) && !value.is_null());
    untold
        .map(|(name, value)| {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            // What people wrote may hold anything; a line stays a line.
            format!("    {name}: {}", value.replace(char::is_control, " "))
        })
        .collect()
}
