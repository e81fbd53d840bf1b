use chrono::{DateTime, Duration, Utc};

use crate::error::{Result, wrong_field};
use crate::pixels::PublicPixel;
use crate::types::host::SiteHost;

/// The period after sharing was turned off in which the tag removes the cookie: longer than the cookie lasts.
const SHARED_FOR: Duration = Duration::days(366);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sharing {
    Off,
    On,
    /// Sharing was turned off, but visitors may still have the cookie.
    Ended,
}

impl Sharing {
    pub fn of(pixel: &PublicPixel, now: DateTime<Utc>) -> Self {
        match pixel.share_subdomains {
            _ if !pixel.domain.is_registrable() => Self::Off,
            true => Self::On,
            false if pixel.share_ended_at.is_some_and(|at| now < at + SHARED_FOR) => Self::Ended,
            false => Self::Off,
        }
    }
}

/// A cookie for a public suffix would be shared with sites of other owners; browsers refuse it.
pub fn check_sharing(host: &SiteHost, share: bool) -> Result<()> {
    match share && !host.is_registrable() {
        true => Err(wrong_field("share_subdomains", NOT_SHARED)),
        false => Ok(()),
    }
}

pub const NOT_SHARED: &str = "must be false, because the pixel's host is a public suffix";
