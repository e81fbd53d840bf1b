//! `assent healthcheck`, for containers: queries the local listener.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use assent::config::Config;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::failure::Failure;
use super::listener::local_addresses;

/// Succeeds if `/healthz` answers 200 within three seconds.
pub async fn ask(config: &Config) -> Result<(), Failure> {
    let addresses = local_addresses(config)?;
    let answer = tokio::time::timeout(Duration::from_secs(3), status_line(&addresses))
        .await
        .map_err(|_| Failure("no answer within 3 seconds".to_owned()))?;
    match answer {
        Ok(line) if line.starts_with("HTTP/1.1 200 ") || line.starts_with("HTTP/1.0 200 ") => {
            Ok(())
        }
        Ok(line) => Err(Failure(format!("unwell: {line}"))),
        Err(error) => {
            let named = addresses.iter().map(ToString::to_string).collect::<Vec<_>>();
            Err(Failure(format!("{} does not answer: {error}", named.join(" or "))))
        }
    }
}

async fn status_line(addresses: &[SocketAddr]) -> io::Result<String> {
    let mut stream = TcpStream::connect(addresses).await?;
    stream.write_all(b"GET /healthz HTTP/1.0\r\n\r\n").await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    let text = String::from_utf8_lossy(&answer);
    Ok(text.lines().next().unwrap_or_default().to_owned())
}
