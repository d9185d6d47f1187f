//! `ichido rehearse`: makes what goes wrong in this trade go wrong on purpose, and counts at the receivers what really happened.

mod report;
mod scene;
mod scenes;
mod stage;

use crate::cli::CliError;
use crate::cli::output::Output;
use crate::cli::rehearse::report::{Verdict, table};
use crate::cli::rehearse::stage::Stage;
use crate::cli::run::Stop;
use crate::telemetry;
use clap::builder::PossibleValuesParser;
use reqwest::Url;
use serde_json::json;
use std::io;

/// Arguments of `rehearse`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only this scenario; may be repeated
    #[arg(long, value_parser = PossibleValuesParser::new(scenes::names()))]
    scenario: Vec<String>,
    /// A running service to play on, instead of a private stage; its gateway and partners have to be the simulated world
    #[arg(long, requires_all = ["token", "world"])]
    url: Option<Url>,
    /// A key of a test organisation there, with the scopes orders:read and orders:write
    #[arg(long, requires = "url")]
    token: Option<String>,
    /// The address of the simulated world, where effects are counted; `ichido dev` prints it
    #[arg(long, requires = "url")]
    world: Option<Url>,
    #[command(flatten)]
    pub(super) output: Output,
}

/// Plays the scenarios on a private stage (database, simulated world, server process) or on a service that runs, and fails when
/// any effect was counted another number of times than it should have been.
pub async fn run(args: Args) -> Result<(), CliError> {
    telemetry::init("error");
    let mut stop = Stop::listen()?;
    let mut stage = match (&args.url, &args.token, &args.world) {
        (Some(url), Some(token), Some(world)) => Stage::visit(url, token, world).await?,
        _ => Stage::set().await?,
    };
    let verdicts = tokio::select! {
        verdicts = play(&mut stage, &args.scenario) => verdicts,
        // What is on stage is taken down all the same.
        () = stop.signalled() => return Err(CliError::Io("stopped", io::ErrorKind::Interrupted.into())),
    };
    stage.strike().await;
    if verdicts.is_empty() {
        return Err(CliError::Rehearsal("what was asked for can only be played on a private stage"));
    }
    let failed = verdicts.iter().filter(|verdict| !verdict.ok).count();
    let object = json!({ "ok": failed == 0, "verdicts": verdicts });
    args.output.print(&object, || table(&verdicts));
    if failed > 0 { Err(CliError::ChecksFailed(failed)) } else { Ok(()) }
}

async fn play(stage: &mut Stage, wanted: &[String]) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    for (name, about, scene) in scenes::all() {
        if !wanted.is_empty() && !wanted.iter().any(|wanted| wanted == name) {
            continue;
        }
        if !stage.is_private() && scenes::PRIVATE.contains(&name) {
            stage::progress(&format!("{name}: left out, since it needs a private stage"));
            continue;
        }
        stage::progress(&format!("{name}: {about}"));
        match scene(stage).await {
            Ok(counted) => verdicts.extend(counted.into_iter().map(|count| count.judged(name))),
            Err(error) => verdicts.push(Verdict::broken(name, &error.to_string())),
        }
    }
    verdicts
}
