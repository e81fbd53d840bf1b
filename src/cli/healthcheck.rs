//! `assent healthcheck`, for containers: asks the local listener.

use std::time::Duration;

use assent::config::Config;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::failure::Failure;

/// Succeeds when `/healthz` answers 200 within three seconds.
pub async fn ask(config: &Config) -> Result<(), Failure> {
    let port = std::env::var("ROCKET_PORT")
        .ok()
        .and_then(|port| port.parse().ok())
        .or(config.port)
        .unwrap_or(8000);
    let answer = tokio::time::timeout(Duration::from_secs(3), status_line(port))
        .await
        .map_err(|_| Failure("no answer within 3 seconds".to_owned()))?;
    match answer {
        Ok(line) if line.starts_with("HTTP/1.1 200 ") || line.starts_with("HTTP/1.0 200 ") => {
            Ok(())
        }
        Ok(line) => Err(Failure(format!("unwell: {line}"))),
        Err(error) => Err(Failure(format!("port {port} does not answer: {error}"))),
    }
}

async fn status_line(port: u16) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.write_all(b"GET /healthz HTTP/1.0\r\n\r\n").await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    let text = String::from_utf8_lossy(&answer);
    Ok(text.lines().next().unwrap_or_default().to_owned())
}
