//! The client's address behind a trusted proxy, from the header that `CLIENT_IP_HEADER` names. A proxy
//! appends the address that it sees, so only the last element of the last line is trusted. Elements are
//! parsed in all forms that proxies write: an address alone or with a port (`192.0.2.1:4711`,
//! `[2001:db8::1]:4711`), in brackets or quotes, or with a zone; in `Forwarded`, the parameter `for` (RFC 7239).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rocket::Request;

use crate::app::App;

/// The client's address from the header, or else the peer's address. `None` for a local client of tests.
pub fn client_address(request: &Request<'_>) -> Option<IpAddr> {
    // Cached, because several guards use it, and an unparsable address must be counted once per request.
    request.local_cache(|| Found(find(request))).0
}

struct Found(Option<IpAddr>);

fn find(request: &Request<'_>) -> Option<IpAddr> {
    let peer = request.remote().map(|remote| remote.ip());
    let infra = &request.rocket().state::<App>()?.infra;
    let Some(name) = &infra.config.client_ip_header else { return peer };
    let lines = request.headers().iter().filter(|header| header.name == name.as_str());
    let line = lines.last();
    let read = line.as_ref().and_then(|line| parse(name, &line.value));
    // Local health checks bypass the proxy, so they have no header.
    let is_local = peer.is_none_or(|peer| peer.is_loopback());
    if read.is_none() && !(line.is_none() && is_local) {
        infra.unread_addresses.count_request();
    }
    read.or(peer)
}

fn parse(header: &str, line: &str) -> Option<IpAddr> {
    if !header.eq_ignore_ascii_case("forwarded") {
        return address(last_element(line.split(','))?);
    }
    // A quotation mark that the client left open must not hide the element that the proxy appended.
    let elements = split_outside_quotes(line, ',').unwrap_or_else(|| line.split(',').collect());
    let last = last_element(elements.into_iter())?;
    let pairs = split_outside_quotes(last, ';')?.into_iter();
    let pairs = pairs.filter_map(|pair| pair.split_once('='));
    let mut named = pairs.filter(|(name, _)| name.trim().eq_ignore_ascii_case("for"));
    named.next().and_then(|(_, value)| address(value))
}

fn last_element<'a>(elements: impl DoubleEndedIterator<Item = &'a str>) -> Option<&'a str> {
    elements.rev().find(|element| !element.trim().is_empty())
}

/// Splits a text at separators outside quotation marks; `None` if a quotation mark is not closed.
fn split_outside_quotes(text: &str, separator: char) -> Option<Vec<&str>> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let split = text.split(|character| {
        let ends = character == separator && !is_quoted;
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            _ => {}
        }
        ends
    });
    let parts = split.collect();
    (!is_quoted).then_some(parts)
}

fn address(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let text =
        text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text).trim();
    if let Some(rest) = text.strip_prefix('[') {
        let (inside, port) = rest.split_once(']')?;
        return is_port(port).then(|| v6(inside))?;
    }
    if text.matches(':').count() == 1 {
        let (inside, _) =
            text.split_once(':').filter(|(inside, _)| is_port(&text[inside.len()..]))?;
        return v4(inside);
    }
    v4(text).or_else(|| v6(text))
}

/// Whether the text is empty, or a colon and a port. RFC 7239 allows names for ports as well.
fn is_port(text: &str) -> bool {
    let Some(port) = text.strip_prefix(':') else { return text.is_empty() };
    let is_number = port.parse::<u16>().is_ok();
    let is_name = port.strip_prefix('_').is_some_and(|name| !name.is_empty());
    is_number || is_name
}

fn v4(text: &str) -> Option<IpAddr> {
    text.parse::<Ipv4Addr>().ok().map(IpAddr::V4)
}

fn v6(text: &str) -> Option<IpAddr> {
    let address = text.split_once('%').map_or(text, |(address, _)| address);
    address.parse::<Ipv6Addr>().ok().map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_read_as(header: &str, line: &str, expected: &str) {
        let expected = expected.parse::<IpAddr>().unwrap();
        assert_eq!(parse(header, line), Some(expected), "{header}: {line}");
    }

    #[test]
    fn an_address_is_read_in_every_form_that_proxies_write() {
        for (line, expected) in [
            ("192.0.2.1", "192.0.2.1"),
            (" 192.0.2.1 ", "192.0.2.1"),
            ("192.0.2.1:4711", "192.0.2.1"),
            ("\"192.0.2.1:4711\"", "192.0.2.1"),
            ("2001:db8::1", "2001:db8::1"),
            ("[2001:db8::1]", "2001:db8::1"),
            ("[2001:db8::1]:4711", "2001:db8::1"),
            ("\"[2001:db8::1]:4711\"", "2001:db8::1"),
            ("\"[2001:db8::1]\"", "2001:db8::1"),
            ("fe80::1%eth0", "fe80::1"),
            ("[fe80::1%25eth0]:80", "fe80::1"),
            ("::ffff:192.0.2.1", "192.0.2.1"),
            ("[::ffff:192.0.2.1]:80", "192.0.2.1"),
            ("198.51.100.7, 192.0.2.1", "192.0.2.1"),
            ("unknown, 192.0.2.1:1 ,, ", "192.0.2.1"),
            ("\"a, b\", [2001:db8::2]:1", "2001:db8::2"),
            ("\", 192.0.2.1", "192.0.2.1"),
            ("\"a\\\", \"[2001:db8::2]:1\"", "2001:db8::2"),
        ] {
            is_read_as("X-Forwarded-For", line, expected);
        }
    }

    #[test]
    fn forwarded_names_the_address_in_the_for_parameter_of_its_last_element() {
        for (line, expected) in [
            ("for=192.0.2.1", "192.0.2.1"),
            ("For=\"[2001:db8::1]:4711\";proto=https", "2001:db8::1"),
            ("for=198.51.100.7;by=203.0.113.1, by=\"x;for=1.1.1.1\"; for=192.0.2.1", "192.0.2.1"),
            ("proto=http;for=\"192.0.2.1:_port\"", "192.0.2.1"),
            ("for=\", for=192.0.2.1", "192.0.2.1"),
            ("for=\"\\\", for=\"[2001:db8::1]:1\"", "2001:db8::1"),
            ("for=\", for=\"[2001:db8::1]:1\"", "2001:db8::1"),
        ] {
            is_read_as("Forwarded", line, expected);
        }
    }

    #[test]
    fn invalid_addresses_are_not_parsed() {
        for line in [
            "",
            ",",
            "unknown",
            "_hidden",
            "shop.example",
            "192.0.2.1:port",
            "192.0.2.1:99999",
            "192.0.2",
            "[2001:db8::1",
            "[192.0.2.1]",
            "[2001:db8::1]x",
            "192.0.2.1, unknown",
        ] {
            assert_eq!(parse("X-Forwarded-For", line), None, "{line}");
        }
        for line in ["for=unknown", "for=_obfuscated", "192.0.2.1", "for=192.0.2.1, by=192.0.2.2"] {
            assert_eq!(parse("Forwarded", line), None, "{line}");
        }
    }
}
