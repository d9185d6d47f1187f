//! The program: everything is in the library, so that tests use the same.

use mimalloc::MiMalloc;
use std::process::ExitCode;

/// A request for an order allocates some hundred times; with the system's allocator that was a quarter of the server's time.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

#[tokio::main]
async fn main() -> ExitCode {
    // Fails only when a provider is installed already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    ichido::cli::main().await
}
