//! The load bench itself: every work in turn, round after round.

use std::path::Path;
use std::time::Duration;

use crate::Failure;
use crate::keys::Keys;
use crate::options::{Options, WORKER};
use crate::peers::{self, Peer};
use crate::pgbench::Pgbench;
use crate::plan::{self, Progress, Run};
use crate::report::Report;
use crate::service::{Service, raise_open_files, run_pgbench};
use crate::stand::Stand;
use crate::steps;
use crate::work::{PeerName, Sample, Work};

/// How much write-ahead log a run may keep: no checkpoint falls into some runs and not into others.
const WAL: &str = "16GB";

/// What a round of a worker's steps takes, more or less.
const STEPS_TAKE: Duration = Duration::from_secs(20);

/// Everything that runs.
struct Bench {
    service: Service,
    pgbench: Option<Pgbench>,
    peers: Vec<Peer>,
    stand: Stand,
    /// How many connections this process can have.
    most_connections: usize,
}

/// Measures all that is asked for.
pub async fn measure(options: &Options, directory: &Path) -> Result<Report, Failure> {
    let bench = Bench::start(options, directory).await?;
    let mut report = Report::new(bench.stand.environment.clone(), options);
    eprintln!("{}", bench.stand.environment.line());
    let names: Vec<PeerName> = bench.peers.iter().map(|peer| peer.name).collect();
    let runs = plan::runs(options, &names);
    let steps = if options.wants(WORKER) { STEPS_TAKE * u32::try_from(options.rounds)? } else { Duration::ZERO };
    let mut progress = Progress::new(&runs, steps);
    for mut run in runs {
        let planned = run;
        run.connections = run.connections.min(bench.most_connections);
        if run.connections < planned.connections {
            eprintln!("only {} connections: no more files may be open", run.connections);
        }
        progress.begin();
        let sample = bench
            .run(&run)
            .await
            .map_err(|error| format!("{} with {} connections: {error}", run.work.name(), run.connections))?;
        progress.end(&planned);
        if let Some(sample) = sample {
            eprintln!("{}  ({progress})", plan::describe(&run, &sample));
            report.add(run.work, run.connections, sample);
        }
    }
    report.set_rows(bench.service.count_rows().await?);
    if options.wants(WORKER) {
        bench.run_steps(options, &mut report).await?;
    }
    bench.end().await;
    Ok(report)
}

impl Bench {
    async fn start(options: &Options, directory: &Path) -> Result<Self, Failure> {
        let most_connections = raise_open_files();
        let stand = Stand::start(directory, WAL).await?;
        let service = Service::start(&stand, "bench").await?;
        service.warm_up(&stand).await?;
        let pgbench = service.pgbench(&stand).await?;
        service.warm_payments(&stand).await?;
        let word = Work::PeerNew("").word();
        let with_peers = options.names(word) || (options.wants(word) && !options.quick);
        let peers = if with_peers { peers::start(&stand, directory, options.install_peers).await? } else { Vec::new() };
        Ok(Self { service, pgbench, peers, stand, most_connections })
    }

    /// One run; `None` when what it needs is missing.
    async fn run(&self, run: &Run) -> Result<Option<Sample>, Failure> {
        if run.work.is_pgbench() {
            return match &self.pgbench {
                Some(pgbench) => run_pgbench(&self.stand, pgbench, run).await.map(Some),
                None => Ok(None),
            };
        }
        if let Some(peer) = self.peers.iter().find(|peer| peer.does(run.work)) {
            return peer.run(&self.stand, run).await.map(Some);
        }
        self.service.run(&self.stand, run, Keys::RANDOM).await.map(Some)
    }

    /// What one worker does, with the service idle.
    async fn run_steps(&self, options: &Options, report: &mut Report) -> Result<(), Failure> {
        for round in 1..=options.rounds {
            let Service { url, client, .. } = &self.service;
            let steps = steps::run(url, self.stand.directory.path(), client).await?;
            eprintln!("one worker, round {round} of {}: {:.0} effects a second", options.rounds, steps.per_second);
            report.add_steps(steps);
        }
        Ok(())
    }

    async fn end(self) {
        for peer in self.peers {
            peer.end().await;
        }
    }
}
