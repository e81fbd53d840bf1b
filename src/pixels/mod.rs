pub mod change;
pub mod claims;
pub mod input;
pub mod install_check;
pub mod moves;
pub mod notices;
pub mod operator;
pub mod other_sites;
pub mod pipeline;
pub mod pixel;
pub mod setup;
pub mod snippets;
mod store;
pub mod test_hosts;
pub mod time_zone;
pub mod unused;
pub mod usage;
pub mod view;

pub use store::usage::{has_contacts, update_used};
pub use store::{
    PublicPixel, count_pixels, delete_pixel, delete_pixels_made_until, delete_pixels_of,
    find_any_pixel, find_created_at, find_pixel, find_pixel_by_host, find_public_pixel,
    list_aliases, list_pixel_ids, list_pixels, lock_pixel, share_pixel, update_consent_enabled,
    update_contacts_need_act, update_contacts_need_consent, update_share_subdomains,
};
