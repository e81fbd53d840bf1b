//! Reads a log, event by event. The log of a browser that was killed may be truncated anywhere.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use serde_json::Value;

use super::entries::{Connecting, CookieSent, CookieWritten, NetLog, Request, Unnamed};
use super::lines::{Event, Lines};
use super::link_header::preconnected;
use super::parties::{Documents, group, is_page};
use super::set_cookie::lasting_cookie;
use crate::browser::site::shortened;
use crate::clock::Clock;

/// Entries of one kind beyond this number are not kept.
const MAX_ENTRIES: usize = 50_000;
const MAX_UNNAMED: usize = 1000;
/// Packets to one address within this time are one entry.
const BETWEEN_PACKETS_MS: f64 = 100.0;
const BEGIN: u8 = 1;

/// A request with its network partition, which shows whether a page caused it.
struct Started {
    request: Request,
    initiator: String,
    partition: String,
}

#[derive(Default)]
struct Reading {
    log: NetLog,
    started: Vec<Started>,
    latest: HashMap<i64, usize>,
    grouped: HashMap<i64, ()>,
    connections: Vec<(Connecting, String)>,
    connected_sockets: HashMap<i64, ()>,
    unnamed_at: HashMap<std::net::SocketAddr, f64>,
    /// Lifetimes of cookies in headers, by name and value.
    lifetimes: HashMap<(String, String), f64>,
    documents: Documents,
}

/// Reads the entries that verdicts need. Fails if the file cannot be read or is not a network log.
pub fn read(path: &Path) -> Result<NetLog, String> {
    let unreadable = |error: &dyn std::fmt::Display| format!("no network log: {error}");
    let file = File::open(path).map_err(|error| unreadable(&error))?;
    let mut lines = BufReader::new(file).split(b'\n');
    let first = lines.next().transpose().map_err(|error| unreadable(&error))?.unwrap_or_default();
    let names = event_names(&first).ok_or_else(|| unreadable(&"it is empty"))?;
    let (mut reading, mut form) = (Reading::default(), Lines::default());
    for line in lines {
        let line = line.map_err(|error| unreadable(&error))?;
        let Some(event) = form.event(&line) else { continue };
        if let Some(name) = names.get(&event.kind) {
            reading.take(name, &event);
        }
    }
    let log = reading.finish();
    Ok(NetLog { is_closed: form.is_closed, has_gap: form.has_gap, ..log })
}

fn event_names(line: &[u8]) -> Option<HashMap<u64, String>> {
    let line = line.trim_ascii_end().strip_suffix(b",")?;
    let text = [line, b"}"].concat();
    let constants: Value = serde_json::from_slice(&text).ok()?;
    let kinds = constants["constants"]["logEventTypes"].as_object()?;
    Some(kinds.iter().filter_map(|(name, kind)| Some((kind.as_u64()?, name.clone()))).collect())
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

fn is_document(destination: &str) -> bool {
    matches!(destination, "main frame" | "subframe")
}

fn domain(params: &Value) -> String {
    text(params, "domain").trim_start_matches('.').to_owned()
}

impl Reading {
    fn take(&mut self, name: &str, event: &Event) {
        let (id, params) = (event.source.id, &event.params);
        let at_ms = event.time.parse::<f64>().unwrap_or_default();
        let is_start = event.phase == BEGIN;
        self.log.last_ms = self.log.last_ms.max(at_ms);
        match name {
            "URL_REQUEST_START_JOB" if is_start => self.start(id, at_ms, params),
            "HTTP_STREAM_REQUEST" if is_start => {
                if let Some(&at) = self.latest.get(&id) {
                    self.started[at].request.is_sent = true;
                }
            }
            "HTTP_TRANSACTION_SEND_REQUEST_HEADERS"
            | "HTTP_TRANSACTION_HTTP2_SEND_REQUEST_HEADERS"
            | "HTTP_TRANSACTION_QUIC_SEND_REQUEST_HEADERS" => self.headers(id, params),
            "HTTP_TRANSACTION_READ_RESPONSE_HEADERS" => self.response(id, at_ms, params),
            "SOCKET_POOL_CONNECT_JOB_CREATED" => {
                self.grouped.insert(id, ());
                if params["backup_job"] != Value::Bool(true) {
                    self.connect(at_ms, text(params, "group_id"));
                }
            }
            "QUIC_SESSION_WEBTRANSPORT_CLIENT_ALIVE" if is_start => {
                let partition = text(params, "network_anonymization_key");
                self.connected(at_ms, text(params, "url"), partition, true);
            }
            // Connections for requests belong to a socket pool group; those of WebRTC do not.
            "TCP_CONNECT_JOB_CONNECTOR_CONNECT_START" | "TRANSPORT_CONNECT_JOB_CONNECT_ATTEMPT"
                if !self.grouped.contains_key(&id) =>
            {
                self.unnamed(at_ms, text(params, "address"));
            }
            // QUIC and DNS use connected sockets; a socket of WebRTC sends to many addresses.
            "UDP_CONNECT" => {
                self.connected_sockets.insert(id, ());
            }
            "UDP_BYTES_SENT" if !self.connected_sockets.contains_key(&id) => {
                self.unnamed(at_ms, text(params, "address"));
            }
            "COOKIE_STORE_COOKIE_ADDED" => self.cookie_written(at_ms, params),
            "COOKIE_INCLUSION_STATUS" => self.cookie_sent(id, at_ms, params),
            _ => {}
        }
    }

    fn start(&mut self, id: i64, at_ms: f64, params: &Value) {
        if self.started.len() >= MAX_ENTRIES {
            self.log.is_cut = true;
            return;
        }
        let destination = text(params, "request_type").to_owned();
        let partition = text(params, "network_isolation_key").to_owned();
        let initiator = text(params, "initiator").to_owned();
        if destination == "main frame" {
            self.documents.add(&partition);
        }
        let url = shortened(text(params, "url")).to_owned();
        let method = text(params, "method").to_owned();
        let request = Request { at_ms, url, method, destination, ..Request::default() };
        self.latest.insert(id, self.started.len());
        self.started.push(Started { request, initiator, partition });
    }

    fn headers(&mut self, id: i64, params: &Value) {
        let Some(&at) = self.latest.get(&id) else { return };
        let kept = ["accept", "content-type", "sec-purpose", "sec-fetch-dest", "ping-to"];
        let lines = params["headers"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let lines = lines.filter(|line| {
            let name = line.split(':').next().unwrap_or_default();
            kept.iter().any(|known| known.eq_ignore_ascii_case(name))
        });
        self.started[at].request.headers = lines.map(str::to_owned).collect();
    }

    fn response(&mut self, id: i64, at_ms: f64, params: &Value) {
        let lines = params["headers"].as_array().into_iter().flatten().filter_map(Value::as_str);
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            if name.eq_ignore_ascii_case("set-cookie") {
                self.cookie_set(value);
            } else if name.eq_ignore_ascii_case("link") {
                self.linked(id, at_ms, value);
            }
        }
    }

    fn cookie_set(&mut self, value: &str) {
        let Some((name, value, lifetime_s)) = lasting_cookie(value, Clock::System.now()) else {
            return;
        };
        if self.lifetimes.len() < MAX_ENTRIES {
            self.lifetimes.insert((name, value), lifetime_s);
        } else {
            self.log.is_cut = true;
        }
    }

    fn linked(&mut self, id: i64, at_ms: f64, value: &str) {
        let Some(Started { request, partition, .. }) =
            self.latest.get(&id).map(|&at| &self.started[at])
        else {
            return;
        };
        if !is_document(&request.destination) {
            return;
        }
        let partition = partition.clone();
        for origin in preconnected(value, &request.url) {
            self.connected(at_ms, &origin, &partition, false);
        }
    }

    fn connect(&mut self, at_ms: f64, id: &str) {
        if let Some((origin, partition)) = group(id) {
            self.connected(at_ms, origin, partition, false);
        }
    }

    fn connected(&mut self, at_ms: f64, origin: &str, partition: &str, is_transport: bool) {
        if self.connections.len() >= MAX_ENTRIES {
            self.log.is_cut = true;
            return;
        }
        let origin = shortened(origin).to_owned();
        let connection = Connecting { at_ms, origin, is_transport };
        self.connections.push((connection, partition.to_owned()));
    }

    fn unnamed(&mut self, at_ms: f64, address: &str) {
        let Ok(address) = address.parse::<std::net::SocketAddr>() else { return };
        // Multicast packets are ignored: they resolve names of the local network (mDNS).
        let last = self.unnamed_at.get(&address);
        let is_new = last.is_none_or(|last| at_ms - last > BETWEEN_PACKETS_MS);
        if !is_new || address.ip().is_multicast() {
            return;
        }
        self.log.is_cut |= self.log.unnamed.len() >= MAX_UNNAMED;
        if self.log.unnamed.len() < MAX_UNNAMED {
            self.unnamed_at.insert(address, at_ms);
            self.log.unnamed.push(Unnamed { at_ms, address });
        }
    }

    fn cookie_written(&mut self, at_ms: f64, params: &Value) {
        if self.log.cookies_written.len() >= MAX_ENTRIES {
            self.log.is_cut = true;
            return;
        }
        self.log.cookies_written.push(CookieWritten {
            at_ms,
            name: text(params, "name").to_owned(),
            value: text(params, "value").to_owned(),
            domain: domain(params),
            is_persistent: params["is_persistent"].as_bool().unwrap_or(false),
            lifetime_s: None,
        });
    }

    fn cookie_sent(&mut self, id: i64, at_ms: f64, params: &Value) {
        let is_sent = text(params, "operation") == "send"
            && text(params, "status").split(',').next() == Some("INCLUDE");
        if !is_sent || !self.latest.contains_key(&id) {
            return;
        }
        if self.log.cookies_sent.len() >= MAX_ENTRIES {
            self.log.is_cut = true;
            return;
        }
        let name = text(params, "name").to_owned();
        self.log.cookies_sent.push(CookieSent { at_ms, name, domain: domain(params) });
    }

    fn finish(mut self) -> NetLog {
        let documents = self.documents;
        for Started { mut request, initiator, partition } in self.started {
            let is_document = is_document(&request.destination);
            request.by_page = is_page(&initiator) || is_document || documents.have(&partition);
            self.log.requests.push(request);
        }
        let by_page = self.connections.into_iter().filter(|(_, of)| documents.have(of));
        self.log.connections = by_page.map(|(connection, _)| connection).collect();
        for cookie in &mut self.log.cookies_written {
            let lifetime = self.lifetimes.get(&(cookie.name.clone(), cookie.value.clone()));
            cookie.lifetime_s = lifetime.copied().filter(|_| cookie.is_persistent);
        }
        self.log
    }
}
