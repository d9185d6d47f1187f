//! Starting on a database that refuses.

use super::PASSWORD;
use crate::support::process::Program;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// A server that asks for the password and refuses it, in words that repeat what it was told.
async fn refusing_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut told = vec![0; 1_024];
            let _ = stream.read(&mut told).await;
            let _ = stream.write_all(b"R\0\0\0\x08\0\0\0\x03").await;
            let read = stream.read(&mut told).await.unwrap_or_default();
            // The password message: type, length, text, NUL.
            let password =
                String::from_utf8_lossy(told.get(5..read.saturating_sub(1)).unwrap_or_default()).into_owned();
            let message = format!("SFATAL\0VFATAL\0C28P01\0Mpassword {password} is wrong\0D{password}\0\0");
            let length = u32::try_from(message.len() + 4).unwrap().to_be_bytes();
            let _ = stream.write_all(&[b"E", &length[..], message.as_bytes()].concat()).await;
        }
    });
    address
}

#[tokio::test]
async fn a_refused_password_is_nowhere_in_what_any_command_says() {
    let address = refusing_server().await;
    let url = format!("postgresql://canaryuser:{PASSWORD}@{address}/canarydatabase?sslmode=disable");
    for args in [
        &["serve", "--listen", "127.0.0.1:0"][..],
        &["worker"],
        &["migrate"],
        &["migrate", "--check", "--json"],
        &["check"],
        &["check", "--json"],
        &["org", "list"],
        &["key", "list", "--org", "1", "--json"],
        &["cleanup"],
    ] {
        let ended = Program::new(args).env("DATABASE_URL", &url).env("RUST_LOG", "trace").run().await;
        assert_eq!(ended.status.code(), Some(1), "{args:?} {ended:?}");
        let said = format!("{}{}", ended.out, ended.err);
        assert!(!said.is_empty(), "{args:?}");
        for secret in [PASSWORD, "canaryuser", "canarydatabase", "postgresql:"] {
            assert!(!said.contains(secret), "{secret} in what {args:?} says: {said}");
        }
    }
}
