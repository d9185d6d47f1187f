//! The program: everything is in the library, so that tests use the same.

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    // Fails only when a provider is installed already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    ichido::cli::main().await
}
