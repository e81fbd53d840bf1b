//! The sites to which a request restricts a key or a member.

use sqlx::PgConnection;

use super::sites::Sites;
use super::store::sites::count_own_pixels;
use crate::error::{BODY, Error, FieldError, Result};
use crate::types::ids::{AccountId, PixelId};

/// The maximum number of pixels in a list, the same as for a webhook.
pub const MOST_SITES: usize = 100;

/// Checks the list of pixels and returns the sites; without a list, all sites. Fails for another account's pixel.
pub async fn chosen(
    connection: &mut PgConnection,
    account_id: &AccountId,
    pixels: Option<&[String]>,
) -> Result<Sites> {
    let Some(pixels) = pixels else { return Ok(Sites::ALL) };
    let mut listed = pixels.to_vec();
    listed.sort_unstable();
    listed.dedup();
    if listed.is_empty() || listed.len() > MOST_SITES {
        return Err(wrong_number());
    }
    let are_ids = listed.iter().all(|pixel_id| PixelId::parse(pixel_id).is_some());
    if !are_ids || count_own_pixels(connection, account_id, &listed).await? != listed.len() {
        return Err(Error::PixelNotFound);
    }
    Ok(Sites::from(Some(listed)))
}

/// The refusal of an empty list, which could be meant as all sites or as none, and of a long one.
pub fn wrong_number() -> Error {
    wrong("must be 1 to 100 pixels; leave it out for all")
}

/// The refusal of a restriction together with the role `full`.
pub fn admin_of_some() -> Error {
    wrong("a member with the role full has all pixels")
}

/// The refusal of a list of pixels together with all pixels.
pub fn some_and_all() -> Error {
    wrong("leave it out together with all_pixels")
}

fn wrong(problem: &str) -> Error {
    Error::Validation(vec![FieldError::new(&[BODY, "pixels"], problem, "value_error")])
}
