//! An organisation's simulated gateway, the line to it, and the line on which its notifications come.
//!
//! Each organisation has one of its own, as it would have an account of its own: a notification comes to the endpoint of
//! the organisation whose payment it tells of. It may be killed: what it answered is in its journal, which it reads at start.

use crate::Failure;
use crate::admin::WEBHOOK_SECRET;
use crate::program::{Program, free_address};
use crate::proxy::{Proxy, Upstream};
use crate::supervisor::Supervised;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// It, running.
pub struct Gateway {
    /// What the program reaches it through.
    pub link: Proxy,
    /// What its notifications pass through.
    pub notifications: Proxy,
    /// Where the judge reaches it.
    pub address: SocketAddr,
    /// Where it writes what really happens.
    pub journal: PathBuf,
    /// The process.
    pub world: Supervised,
}

/// Where it runs, and whom it tells.
pub struct Place<'a> {
    /// The program.
    pub program: &'a Path,
    /// The directory of its log.
    pub logs: &'a Path,
    /// The directory of its journal.
    pub data: &'a Path,
    /// The server that its notifications go to.
    pub server: SocketAddr,
    /// The endpoint's path there.
    pub endpoint: &'a str,
}

impl Gateway {
    /// Starts an empty one.
    pub async fn start(name: &'static str, place: Place<'_>) -> Result<Self, Failure> {
        let address = free_address()?;
        let journal = place.data.join(format!("{name}.jsonl"));
        let notifications = Proxy::start(Upstream::Tcp(place.server)).await?;
        let url = format!("http://{}{}", notifications.address, place.endpoint);
        let (listen, file) = (address.to_string(), journal.to_string_lossy());
        let words = ["sim", "--listen", &listen, "--journal", &file, "--webhook-url", &url, "--webhook-secret-env"];
        let world = Supervised::start_listening(Program {
            name,
            path: place.program.to_owned(),
            arguments: words.into_iter().chain([WEBHOOK_SECRET.0]).map(str::to_owned).collect(),
            environment: [("ICHIDO_LOG", "json"), WEBHOOK_SECRET].map(|(n, v)| (n.to_owned(), v.to_owned())).to_vec(),
            logs: place.logs.to_owned(),
        })
        .await?;
        let link = Proxy::start(Upstream::Tcp(address)).await?;
        Ok(Self { link, notifications, address, journal, world })
    }
}
