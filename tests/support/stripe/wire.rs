//! The HTTP interface of the fake provider, and its faults on the way.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::routes::{failure, handle};
use super::state::{Fault, Form, Received, State};

pub async fn serve(listener: TcpListener, state: Arc<Mutex<State>>) {
    while let Ok((stream, _)) = listener.accept().await {
        let state = state.clone();
        tokio::spawn(async move {
            // A client that hangs up early is no failure of the provider's.
            let _ = answer(stream, &state).await;
        });
    }
}

async fn answer(stream: TcpStream, state: &Mutex<State>) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let request = receive(&mut stream).await?;
    let fault = {
        let mut state = state.lock().expect("no request has failed inside");
        state.received.push(request.clone());
        state.next_faults.pop_front().or_else(|| state.fault.clone())
    };
    let handle = || {
        let mut state = state.lock().expect("no request has failed inside");
        handle(&mut state, &request)
    };
    match fault {
        None => {
            let (status, body) = handle();
            send(&mut stream, status, "", body.to_string().as_bytes()).await
        }
        Some(Fault::Slow(time)) => {
            tokio::time::sleep(time).await;
            let (status, body) = handle();
            send(&mut stream, status, "", body.to_string().as_bytes()).await
        }
        Some(Fault::Status(status)) => {
            let body = failure("api_error", "the provider has failed");
            send(&mut stream, status, "", body.to_string().as_bytes()).await
        }
        Some(Fault::Garbage) => send(&mut stream, 200, "", b"<html>Bad gateway</html>").await,
        Some(Fault::Huge) => {
            let filler = "x".repeat(2 << 20);
            let body = json!({"id": "cs_huge", "url": filler}).to_string();
            send(&mut stream, 200, "", body.as_bytes()).await
        }
        Some(Fault::Redirect(target)) => {
            send(&mut stream, 302, &format!("Location: {target}\r\n"), b"{}").await
        }
        Some(Fault::Lost) => Ok(()),
        Some(Fault::AnswerLost) => {
            handle();
            Ok(())
        }
        Some(Fault::Silent) => std::future::pending().await,
        Some(Fault::Dripping) => {
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{";
            stream.write_all(head.as_bytes()).await?;
            loop {
                stream.write_all(b" ").await?;
                stream.flush().await?;
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        }
    }
}

async fn receive(stream: &mut BufReader<TcpStream>) -> std::io::Result<Received> {
    let mut line = String::new();
    stream.read_line(&mut line).await?;
    let mut words = line.split_whitespace();
    let mut request =
        Received { method: words.next().unwrap_or_default().to_owned(), ..Received::default() };
    let target = words.next().unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    request.path = path.to_owned();
    request.form = decode(query.as_bytes());
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        request.headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = request.header("content-length").and_then(|length| length.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).await?;
    request.form.extend(decode(&body));
    Ok(request)
}

fn decode(form: &[u8]) -> Form {
    url::form_urlencoded::parse(form).into_owned().collect()
}

async fn send(
    stream: &mut BufReader<TcpStream>,
    status: u16,
    headers: &str,
    body: &[u8],
) -> std::io::Result<()> {
    let head = format!(
        "HTTP/1.1 {status} Status\r\nContent-Type: application/json\r\nRequest-Id: req_1Fake\r\n\
         Connection: close\r\nContent-Length: {}\r\n{headers}\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body).await?;
    stream.flush().await
}
