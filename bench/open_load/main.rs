//! Generates an open load: requests are sent on a schedule, however long the responses take, and a
//! response time counts from when the request was due. A generator that waits for each response before
//! the next request would measure a stall only once per connection, although visitors who arrive
//! meanwhile are delayed too (coordinated omission).
//!
//! It reads the requests from standard input, one JSON object per line with `method`, `path`, `headers`
//! and `body`, and prints the result as one JSON object.

mod load;
mod visits;

use std::io::{BufRead, Write, stdin, stdout};
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Parser;
use http_body_util::Full;
use hyper::Request;
use hyper::body::Bytes;
use serde::Deserialize;

use load::Load;
use visits::Visits;

#[derive(Parser)]
struct Options {
    /// Address and port of the server.
    address: SocketAddr,
    /// Requests per second.
    #[arg(long)]
    rate: f64,
    /// Maximum number of concurrent requests. A request waits for a free connection, and this wait is
    /// part of its response time.
    #[arg(long)]
    connections: usize,
    /// The name of the server. With it, each request uses a TLS connection of its own and HTTP/2.
    #[arg(long, requires = "authority")]
    tls: Option<String>,
    /// A PEM file with the certificate of the authority that signed the server's.
    #[arg(long)]
    authority: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Planned {
    #[serde(default = "get")]
    method: String,
    path: String,
    #[serde(default)]
    headers: Vec<(String, String)>,
    #[serde(default)]
    body: String,
}

/// How requests name the server.
enum Server {
    Plain { host: String },
    Tls { name: String },
}

fn get() -> String {
    "GET".to_owned()
}

fn read(line: &str, server: &Server) -> Result<Request<Full<Bytes>>, Box<dyn std::error::Error>> {
    let Planned { method, path, headers, body } = serde_json::from_str(line)?;
    let mut request = Request::builder().method(&*method);
    request = match server {
        Server::Plain { host } => request.uri(path).header("Host", host),
        // HTTP/2 sends the host with the path.
        Server::Tls { name } => request.uri(format!("https://{name}{path}")),
    };
    for (name, value) in headers {
        request = request.header(name, value);
    }
    Ok(request.body(Full::from(body))?)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Options { address, rate, connections, tls, authority } = Options::parse();
    let visits = match (&tls, &authority) {
        (Some(name), Some(authority)) => Some(Visits::new(address, name.clone(), authority)?),
        _ => None,
    };
    let server = match tls {
        Some(name) => Server::Tls { name },
        None => Server::Plain { host: address.to_string() },
    };
    let requests = stdin().lock().lines().map(|line| read(&line?, &server));
    let requests = requests.collect::<Result<Vec<_>, _>>()?;
    let report = Load { address, rate, connections, visits }.run(requests)?;
    writeln!(stdout(), "{}", serde_json::to_string(&report)?)?;
    Ok(())
}

#[cfg(test)]
mod tests;
