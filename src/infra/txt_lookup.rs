//! TXT lookups in the DNS (RFC 1035), by which owners of a host prove their ownership. Uses TCP, which
//! every recursive resolver supports (RFC 7766): an answer cannot be forged by guessing an id, and is never
//! truncated. Answers are parsed here, because `simple-dns` refuses a whole answer if one record of any type
//! in it is malformed.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

const TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum number of servers, which are tried in order until one answers, as the system's resolver does.
const MOST_SERVERS: usize = 3;
const PORT: u16 = 53;
const RESOLV_CONF: &str = "/etc/resolv.conf";

const TXT: u16 = 16;
const INTERNET: u16 = 1;
const HEADER: usize = 12;
const NO_SUCH_NAME: u8 = 3;

#[derive(Clone)]
pub struct TxtLookup {
    /// Empty for the machine's own servers.
    servers: Vec<SocketAddr>,
}

impl TxtLookup {
    pub fn new(servers: Vec<SocketAddr>) -> Self {
        Self { servers }
    }

    /// The TXT records of an ASCII name, each as one text. Also empty if no server answers.
    pub async fn records(&self, name: &str) -> Vec<String> {
        for server in self.servers().await.into_iter().take(MOST_SERVERS) {
            match timeout(TIMEOUT, ask(server, name)).await {
                Ok(Ok(Some(records))) => return records,
                Ok(Ok(None)) => tracing::warn!("a DNS server gave no answer that helps"),
                Ok(Err(error)) => tracing::warn!(%error, "a DNS server cannot be asked"),
                Err(_) => tracing::warn!("a DNS server does not answer in time"),
            }
        }
        Vec::new()
    }

    /// Reads the servers anew for each lookup, because in a container they may change at runtime.
    async fn servers(&self) -> Vec<SocketAddr> {
        if !self.servers.is_empty() {
            return self.servers.clone();
        }
        servers_in(&tokio::fs::read_to_string(RESOLV_CONF).await.unwrap_or_default())
    }
}

fn servers_in(text: &str) -> Vec<SocketAddr> {
    let address = |line: &str| {
        let mut words = line.split_whitespace();
        let is_server = words.next() == Some("nameserver");
        is_server.then(|| words.next()?.parse::<IpAddr>().ok()).flatten()
    };
    let found = text.lines().filter_map(address).map(|ip| SocketAddr::new(ip, PORT));
    let found = found.collect::<Vec<_>>();
    match found.is_empty() {
        true => vec![SocketAddr::from(([127, 0, 0, 1], PORT))],
        false => found,
    }
}

async fn ask(server: SocketAddr, name: &str) -> std::io::Result<Option<Vec<String>>> {
    let id = rand::random::<u16>();
    let Some(question) = question(id, name) else { return Ok(Some(Vec::new())) };
    let mut stream = TcpStream::connect(server).await?;
    stream.write_all(&question).await?;
    let mut answer = vec![0; usize::from(stream.read_u16().await?)];
    stream.read_exact(&mut answer).await?;
    Ok(read_answer(&answer, id))
}

/// Encodes a TXT query with the length prefix of DNS over TCP; `None` for an invalid name.
fn question(id: u16, name: &str) -> Option<Vec<u8>> {
    let mut message = id.to_be_bytes().to_vec();
    // A recursive query with one question; the other sections are empty.
    message.extend([1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    for label in name.split('.') {
        let length = u8::try_from(label.len()).ok().filter(|length| (1..=63).contains(length))?;
        message.push(length);
        message.extend(label.as_bytes());
    }
    message.push(0);
    message.extend(TXT.to_be_bytes());
    message.extend(INTERNET.to_be_bytes());
    let length = u16::try_from(message.len()).ok().filter(|_| name.len() <= 253)?;
    Some([&length.to_be_bytes()[..], &message].concat())
}

/// The texts of the answer to the query with this id; `None` for any other message.
fn read_answer(message: &[u8], id: u16) -> Option<Vec<String>> {
    let is_ours = u16_at(message, 0)? == id && message.get(2)? & 0x80 != 0;
    let code = message.get(3)? & 0x0f;
    if !is_ours || code != 0 {
        return (is_ours && code == NO_SUCH_NAME).then(Vec::new);
    }
    let mut at = HEADER;
    for _ in 0..u16_at(message, 4)? {
        at = after_name(message, at)? + 4;
    }
    let mut records = Vec::new();
    for _ in 0..u16_at(message, 6)? {
        at = after_name(message, at)?;
        let (kind, class) = (u16_at(message, at)?, u16_at(message, at + 2)?);
        let start = at + 10;
        at = start + usize::from(u16_at(message, at + 8)?);
        let data = message.get(start..at)?;
        if (kind, class) == (TXT, INTERNET) {
            records.push(text_of(data)?);
        }
    }
    Some(records)
}

fn u16_at(message: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(message.get(at..at + 2)?.try_into().ok()?))
}

fn after_name(message: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match *message.get(at)? {
            0 => return Some(at + 1),
            pointer if pointer >= 0xc0 => return Some(at + 2),
            length => at += usize::from(length) + 1,
        }
    }
}

fn text_of(mut data: &[u8]) -> Option<String> {
    let mut text = Vec::new();
    while let Some((&length, rest)) = data.split_first() {
        let (part, rest) = rest.split_at_checked(usize::from(length))?;
        text.extend(part);
        data = rest;
    }
    Some(String::from_utf8_lossy(&text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer() -> Vec<u8> {
        let mut message = question(7, "_assent.shop.example").unwrap()[2..].to_vec();
        message[2] = 0x81;
        message[3] = 0x80;
        message[7] = 3;
        let record = |kind: u16, data: &[u8]| {
            let length = u16::try_from(data.len()).unwrap().to_be_bytes();
            [&[0xc0, 12][..], &kind.to_be_bytes(), &[0, 1, 0, 0, 0, 60], &length, data].concat()
        };
        message.extend(record(5, &[0xc0, 20]));
        message.extend(record(TXT, b"\x05first"));
        message.extend(record(TXT, b"\x04sec \x03ond"));
        message
    }

    #[test]
    fn the_texts_of_an_answer_are_read_whole() {
        assert_eq!(read_answer(&answer(), 7), Some(vec!["first".to_owned(), "sec ond".to_owned()]));
        assert_eq!(read_answer(&answer(), 8), None, "the answer to another question");
        let mut none = answer();
        none[3] = 0x83;
        assert_eq!(read_answer(&none, 7), Some(Vec::new()));
        none[3] = 0x82;
        assert_eq!(read_answer(&none, 7), None, "a server that failed");
    }

    #[test]
    fn an_answer_that_is_cut_or_bent_anywhere_is_none_or_harmless() {
        let whole = answer();
        for end in 0..whole.len() {
            assert_eq!(read_answer(&whole[..end], 7), None, "{end}");
        }
        for at in 0..whole.len() {
            for byte in [0, 1, 0x3f, 0x7f, 0xc0, 0xff] {
                let mut bent = whole.clone();
                bent[at] = byte;
                let _ = read_answer(&bent, 7);
            }
        }
    }

    #[test]
    fn what_is_no_name_is_not_asked_for() {
        for bad in ["", "a..b", &"x".repeat(64), &"abc.".repeat(64)] {
            assert!(question(1, bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn the_machines_servers_are_those_of_its_resolv_conf() {
        let text = "# nameserver 9.9.9.9\nsearch lan\nnameserver 192.0.2.1\nnameserver\t2001:db8::1\n\
                    nameserver fe80::1%eth0\noptions edns0";
        let found = servers_in(text);
        let expected: [SocketAddr; 2] =
            ["192.0.2.1:53".parse().unwrap(), "[2001:db8::1]:53".parse().unwrap()];
        assert_eq!(found, expected);
        assert_eq!(servers_in(""), ["127.0.0.1:53".parse().unwrap()]);
    }
}
