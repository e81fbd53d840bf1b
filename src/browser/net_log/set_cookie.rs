//! Lifetimes of cookies in response headers.

use chrono::{DateTime, FixedOffset, Utc};

/// The longest lifetime that a browser permits, in seconds.
const MAX_LIFETIME_S: f64 = 400.0 * 86_400.0;

/// The name, the value and the lifetime in seconds of a `Set-Cookie` header. `None` for a session cookie.
pub fn lasting_cookie(header: &str, now: DateTime<Utc>) -> Option<(String, String, f64)> {
    let mut parts = header.split(';').map(str::trim);
    let (name, value) = parts.next()?.split_once('=')?;
    let (mut max_age, mut expires) = (None, None);
    for (attribute, value) in parts.filter_map(|part| part.split_once('=')) {
        match attribute.trim().to_ascii_lowercase().as_str() {
            "max-age" => max_age = value.trim().parse::<f64>().ok().or(max_age),
            "expires" => expires = Some(seconds_until(value, now)),
            _ => {}
        }
    }
    let lifetime_s = max_age.or(expires)?.clamp(0.0, MAX_LIFETIME_S);
    Some((name.trim().to_owned(), value.trim().to_owned(), lifetime_s))
}

/// An unparsable date counts as the maximum lifetime, because browsers accept more formats.
fn seconds_until(date: &str, now: DateTime<Utc>) -> f64 {
    let date = date.trim().replace('-', " ");
    #[allow(clippy::cast_precision_loss, reason = "a time in seconds")]
    let seconds = |date: DateTime<FixedOffset>| (date.timestamp() - now.timestamp()) as f64;
    DateTime::parse_from_rfc2822(&date).map_or(MAX_LIFETIME_S, seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifetimes_are_read_from_headers() {
        let now = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        let day = DateTime::from_timestamp(1_800_086_400, 0).unwrap();
        let day = day.format("%a, %d %b %Y %H:%M:%S GMT").to_string();
        let with_hyphens = day.replacen(' ', "-", 3).replacen('-', " ", 1);
        for date in [day, with_hyphens] {
            let header = format!("id=x; Expires={date}; HttpOnly");
            let (.., lifetime_s) = lasting_cookie(&header, now).unwrap();
            assert!((lifetime_s - 86_400.0).abs() < 1.0, "{header}: {lifetime_s}");
        }
        let headers = [
            ("id=x; Max-Age=86400; Path=/", Some(86_400.0)),
            ("id=x;path=/;MAX-AGE=60;expires=Wed, 01 Jan 2031 00:00:00 GMT", Some(60.0)),
            ("id=x; Expires=Thu, 01 Jan 1970 00:00:00 GMT", Some(0.0)),
            ("id=x; Expires=some day", Some(MAX_LIFETIME_S)),
            ("id=x; Max-Age=99999999999", Some(MAX_LIFETIME_S)),
            ("id=x; Secure; SameSite=Lax", None),
        ];
        for (header, lifetime_s) in headers {
            let expected = lifetime_s.map(|seconds| ("id".to_owned(), "x".to_owned(), seconds));
            assert_eq!(lasting_cookie(header, now), expected, "{header}");
        }
    }
}
