//! The simulated world beside `ichido dev`, and the secrets that this needs, kept with the data.

use crate::app::App;
use crate::app::gateways::PaymentSettings;
use crate::app::inbox::endpoints::{NewSecret, add_secret, create_endpoint};
use crate::app::set_gateway::set_gateway;
use crate::app::steps::set_policy::set_step_policy;
use crate::cli::CliError;
use crate::cli::partners::simulated;
use crate::cli::payments::PaymentArgs;
use crate::config::ConfigError;
use crate::db::deadline::Deadline;
use crate::domain::ids::OrgId;
use crate::domain::sealed::SealingKey;
use crate::domain::step::StepKind;
use crate::sim;
use actix_web::dev::ServerHandle;
use secrecy::SecretString;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

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
/// step. Its notifications come to an endpoint of the organisation's at `service`.
pub(super) async fn start(
    app: &App,
    org_id: OrgId,
    data: &Path,
    service: SocketAddr,
) -> Result<(ServerHandle, SocketAddr), CliError> {
    let (endpoint_id, webhook_secret) = endpoint(app, org_id, data).await?;
    let options = sim::Options {
        journal: Some(data.join("simulated-world.journal")),
        webhook_url: Some(format!("http://{}/v1/webhooks/{endpoint_id}", reachable(service))),
        webhook_secret: Some(webhook_secret),
    };
    let started = sim::start(SocketAddr::from(([127, 0, 0, 1], 0)), options);
    let (server, address) =
        started.map_err(|error: io::Error| CliError::Io("the simulated world cannot start", error))?;
    let handle = server.handle();
    tokio::spawn(server);
    let (base, secret) = (format!("http://{address}/stripe"), SecretString::from("sk_test_simulated"));
    let deadline = Deadline::after(Duration::from_secs(10));
    set_gateway(app, org_id, &base, &secret, deadline).await?;
    for kind in StepKind::ALL.iter().filter_map(|kind| StepKind::parse(kind)) {
        set_step_policy(app, org_id, simulated(kind, address), None, deadline).await?;
    }
    Ok((handle, address))
}

/// The endpoint, and the secret that the world signs with; the same ones in every run on the same data.
async fn endpoint(app: &App, org_id: OrgId, data: &Path) -> Result<(Uuid, SecretString), CliError> {
    let deadline = Deadline::after(Duration::from_secs(10));
    let word = || format!("whsec_{}", hexadecimal(&rand::random::<[u8; 16]>()));
    let secret = SecretString::from(kept(&data.join("webhook-secret"), word)?);
    let new = NewSecret { name: "dev".to_owned(), secret: secret.clone() };
    let file = data.join("webhook-endpoint");
    let known = fs::read_to_string(&file).ok().and_then(|text| Uuid::try_parse(text.trim()).ok());
    if let Some(id) = known
        && app.db.find_endpoint(id, deadline).await?.is_some_and(|endpoint| endpoint.org_id == org_id)
    {
        // The key that the first one was sealed with may be another one by now.
        add_secret(app, org_id, id, &new, deadline).await?;
        return Ok((id, secret));
    }
    let id = create_endpoint(app, org_id, &new, deadline).await?;
    write(&file, &id.to_string())?;
    Ok((id, secret))
}

/// An address at which this machine reaches itself.
fn reachable(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}
