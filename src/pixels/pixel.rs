use chrono::{DateTime, Utc};

use crate::types::host::SiteHost;
use crate::types::ids::{AccountId, PixelId};
use crate::types::text_enum::text_enum;

text_enum! {
    /// What the last check of the site's home page found.
    pub enum InstallStatus {
        NotChecked = "not_checked",
        Installed = "installed",
        NotInstalled = "not_installed",
        Unreachable = "unreachable",
    }
}

#[derive(Clone, Debug)]
pub struct Pixel {
    pub pixel_id: PixelId,
    pub account_id: AccountId,
    pub domain: SiteHost,
    pub install_status: InstallStatus,
    pub checked_at: Option<DateTime<Utc>>,
    pub check_error: Option<String>,
    pub consent_enabled: bool,
    pub contacts_need_consent: bool,
    /// Whether contacts are only stored with an acceptance that a person made.
    pub contacts_need_act: bool,
    /// Whether a choice counts on all subdomains.
    pub share_subdomains: bool,
}

text_enum! {
    /// Through which pipeline a site gets its pixel.
    pub enum Pipeline {
        Utm = "utm",
        Cms = "cms",
    }
}
