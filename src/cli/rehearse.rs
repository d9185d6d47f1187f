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
use serde_json::json;
use std::io;

/// Arguments of `rehearse`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only this scenario; may be repeated
    #[arg(long, value_parser = PossibleValuesParser::new(scenes::names()))]
    scenario: Vec<String>,
    #[command(flatten)]
    pub(super) output: Output,
}

/// Plays the scenarios on a private stage (database, simulated world, server process), and fails when any effect was counted
/// another number of times than it should have been.
pub async fn run(args: Args) -> Result<(), CliError> {
    telemetry::init("error");
    let mut stop = Stop::listen()?;
    let mut stage = Stage::set().await?;
    let verdicts = tokio::select! {
        verdicts = play(&mut stage, &args.scenario) => verdicts,
        // What is on stage is taken down all the same.
        () = stop.signalled() => return Err(CliError::Io("stopped", io::ErrorKind::Interrupted.into())),
    };
    stage.strike().await;
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
        stage::progress(&format!("{name}: {about}"));
        match scene(stage).await {
            Ok(counted) => verdicts.extend(counted.into_iter().map(|count| count.judged(name))),
            Err(error) => verdicts.push(Verdict::broken(name, &error.to_string())),
        }
    }
    verdicts
}
