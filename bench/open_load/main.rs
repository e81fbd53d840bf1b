//! An open load: requests are sent on a schedule, whatever the answers take, and an answer's time counts
//! from when its request was due. A generator that waits for an answer before it sends the next request
//! measures a stall once for each connection; visitors who come meanwhile wait for it too (coordinated
//! omission).
//!
//! Requests come on standard input, a JSON object a line with `method`, `path`, `headers` and `body`; what
//! it came to is printed as one JSON object.

mod load;

use std::io::{BufRead, Write, stdin, stdout};
use std::net::SocketAddr;

use clap::Parser;
use http_body_util::Full;
use hyper::Request;
use hyper::body::Bytes;
use serde::Deserialize;

use load::Load;

#[derive(Parser)]
struct Options {
    /// Address and port of the server.
    address: SocketAddr,
    /// Requests a second.
    #[arg(long)]
    rate: f64,
    /// The most requests that are under way at the same time. One that finds no free connection waits
    /// for one, and its time counts from when it was due all the same.
    #[arg(long)]
    connections: usize,
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

fn get() -> String {
    "GET".to_owned()
}

fn read(line: &str, host: &str) -> Result<Request<Full<Bytes>>, Box<dyn std::error::Error>> {
    let Planned { method, path, headers, body } = serde_json::from_str(line)?;
    let mut request = Request::builder().method(&*method).uri(path).header("Host", host);
    for (name, value) in headers {
        request = request.header(name, value);
    }
    Ok(request.body(Full::from(body))?)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Options { address, rate, connections } = Options::parse();
    let host = address.to_string();
    let requests = stdin().lock().lines().map(|line| read(&line?, &host));
    let requests = requests.collect::<Result<Vec<_>, _>>()?;
    let report = Load { address, rate, connections }.run(requests)?;
    writeln!(stdout(), "{}", serde_json::to_string(&report)?)?;
    Ok(())
}

#[cfg(test)]
mod tests;
