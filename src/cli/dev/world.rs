//! The simulated world beside `ichido dev`, and the secrets that this needs, kept with the data.

use crate::app::App;
use crate::app::gateways::PaymentSettings;
use crate::app::set_gateway::set_gateway;
use crate::app::steps::set_policy::set_step_policy;
use crate::cli::CliError;
use crate::cli::payments::PaymentArgs;
use crate::config::ConfigError;
use crate::db::deadline::Deadline;
use crate::db::step_policies::StepPolicy;
use crate::domain::ids::OrgId;
use crate::domain::sealed::SealingKey;
use crate::domain::step::StepKind;
use crate::sim;
use actix_web::dev::ServerHandle;
use secrecy::SecretString;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The name of the file with what secrets are sealed with.
pub(super) const SECRET_KEY: &str = "secret-key";

/// The settings of the environment, with a key of its own where none is set.
pub(super) fn settings(args: &PaymentArgs, data: &Path) -> Result<PaymentSettings, CliError> {
    let settings = args.settings()?;
    if settings.sealing_key.is_some() {
        return Ok(settings);
    }
    let text = SecretString::from(kept(&data.join(SECRET_KEY), || hexadecimal(&rand::random::<[u8; 32]>()))?);
    let key = SealingKey::parse(&text)
        .ok_or(ConfigError::Invalid { name: "ICHIDO_SECRET_KEY", why: "the file beside the data holds none" })?;
    Ok(PaymentSettings { sealing_key: Some(Arc::new(key)), ..settings })
}

/// A text that is kept in a file which only this user can read; made when it is not there.
pub(super) fn kept(file: &Path, make: impl FnOnce() -> String) -> Result<String, CliError> {
    if let Ok(text) = fs::read_to_string(file) {
        return Ok(text.trim().to_owned());
    }
    let text = make();
    write(file, &text)?;
    Ok(text)
}

/// Writes a secret beside the data.
pub(super) fn write(file: &Path, text: &str) -> Result<(), CliError> {
    let mut options = OpenOptions::new();
    let opened = options.create(true).write(true).truncate(true).mode(0o600).open(file);
    opened
        .and_then(|mut file| writeln!(file, "{text}"))
        .map_err(|error| CliError::Io("a secret cannot be written beside the data", error))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Starts the simulated world, with a journal beside the data, and makes it the organisation's gateway and the partner of every
/// step.
pub(super) async fn start(app: &App, org_id: OrgId, data: &Path) -> Result<(ServerHandle, SocketAddr), CliError> {
    let options = sim::Options { journal: Some(data.join("simulated-world.journal")), ..sim::Options::default() };
    let started = sim::start(SocketAddr::from(([127, 0, 0, 1], 0)), options);
    let (server, address) =
        started.map_err(|error: io::Error| CliError::Io("the simulated world cannot start", error))?;
    let handle = server.handle();
    tokio::spawn(server);
    let (base, secret) = (format!("http://{address}/stripe"), SecretString::from("sk_test_simulated"));
    let deadline = Deadline::after(Duration::from_secs(10));
    set_gateway(app, org_id, &base, &secret, deadline).await?;
    for kind in StepKind::ALL.iter().filter_map(|kind| StepKind::parse(kind)) {
        set_step_policy(app, org_id, policy(kind, address), None, deadline).await?;
    }
    Ok((handle, address))
}

fn policy(kind: StepKind, world: SocketAddr) -> StepPolicy {
    let url = format!("http://{world}/partners/{}", kind.as_str());
    StepPolicy {
        kind,
        url: url.clone(),
        honours_keys: true,
        status_url: Some(url),
        secret_sealed: None,
        owner: "operations".to_owned(),
        corrector: "operations".to_owned(),
        max_attempts: 20,
        time: Duration::from_hours(2),
    }
}
