//! One PostgreSQL for the whole test run, and a database of its own for each test.

use ichido::db::migrate::migrate;
use ichido::embedded::{Binaries, Options, Server, fetch};
use secrecy::{ExposeSecret, SecretString};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

const TEMPLATE: &str = "template_ichido";

struct Cluster {
    server: Server,
}

static CLUSTER: OnceLock<Cluster> = OnceLock::new();

/// A fresh, migrated database that no other test uses. About 60 ms.
pub async fn database() -> SecretString {
    copy_of(TEMPLATE).await
}

/// A fresh, empty database.
pub async fn empty_database() -> SecretString {
    copy_of("template0").await
}

/// A connection that belongs to the test itself, for looking at tables and for breaking things.
pub async fn connect(url: &SecretString) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(url.expose_secret(), tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(async move {
        let _ = connection.await;
    });
    client
}

/// Where the server's socket is, for tests that put something between it and the program.
pub fn socket_dir() -> PathBuf {
    cluster().server.socket_dir().to_owned()
}

async fn copy_of(template: &str) -> SecretString {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let name = format!("test_{}", NUMBER.fetch_add(1, Ordering::Relaxed));
    // Starting blocks for seconds, once.
    let admin = tokio::task::spawn_blocking(|| cluster().server.url("postgres")).await.unwrap();
    let client = connect(&SecretString::from(admin)).await;
    client.batch_execute(&format!("CREATE DATABASE {name} TEMPLATE {template}")).await.unwrap();
    SecretString::from(cluster().server.url(&name))
}

fn cluster() -> &'static Cluster {
    CLUSTER.get_or_init(start)
}

/// PostgreSQL ends with this process, by the kernel's doing; its directory is removed by the next run.
fn start() -> Cluster {
    let base = Path::new(env!("CARGO_TARGET_TMPDIR")).join("postgresql");
    fs::create_dir_all(&base).unwrap();
    fs::set_permissions(&base, fs::Permissions::from_mode(0o755)).unwrap();
    remove_leftovers(&base);
    let progress = |line: &str| eprintln!("{line}");
    // The whole suite also runs on the newest PostgreSQL, which no Debian of today has.
    let newest = std::env::var_os("ICHIDO_TEST_NEWEST_POSTGRESQL").is_some();
    let binaries = if newest { fetch(&progress) } else { Binaries::find(&progress) }.unwrap();
    let options = Options {
        data_dir: base.join(std::process::id().to_string()),
        durable: false,
        settings: vec![("max_connections".to_owned(), "600".to_owned())],
    };
    let server = Server::start(&binaries, &options, &progress).unwrap();
    let admin = SecretString::from(server.url("postgres"));
    let template = SecretString::from(server.url(TEMPLATE));
    // A runtime of its own: this may be called from inside one.
    let made = thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            connect(&admin).await.batch_execute(&format!("CREATE DATABASE {TEMPLATE}")).await.unwrap();
            migrate(&template).await.unwrap();
        });
    });
    made.join().unwrap();
    Cluster { server }
}

fn remove_leftovers(base: &Path) {
    for entry in fs::read_dir(base).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid = name.split('.').next().unwrap_or_default();
        if !Path::new("/proc").join(pid).exists() {
            // Gigabytes, so beside the tests; what is not removed when they end is removed by the next run.
            let path = entry.path();
            thread::spawn(move || fs::remove_dir_all(&path).or_else(|_| fs::remove_file(&path)));
        }
    }
}
