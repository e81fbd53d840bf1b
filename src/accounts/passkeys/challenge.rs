use chrono::Duration;
use sha2::{Digest, Sha256};
use sqlx::PgPool;
use uuid::Uuid;

use super::ceremony::encoded;
use super::store::{self, Challenge};
use crate::clock::Clock;
use crate::error::Result;
use crate::types::ids::random_bytes;

const CHALLENGE_LIFE: Duration = Duration::minutes(5);
const CHALLENGE_LEN: usize = 32;

/// In milliseconds, for the browser.
pub fn timeout() -> i64 {
    CHALLENGE_LIFE.num_milliseconds()
}

/// The session that adds a passkey, and the user handle of the passkey.
#[derive(Clone, Copy)]
pub struct Addition<'a> {
    pub session_id: Uuid,
    pub user_handle: &'a [u8],
}

/// Stores a new challenge, and returns it as text.
pub async fn issue(pool: &PgPool, clock: &Clock, addition: Option<Addition<'_>>) -> Result<String> {
    let challenge = random_bytes::<CHALLENGE_LEN>();
    let expires_at = clock.now() + CHALLENGE_LIFE;
    let new = Challenge {
        session_id: addition.map(|it| it.session_id),
        user_handle: addition.map(|it| it.user_handle.to_vec()),
        expires_at,
    };
    let mut connection = pool.acquire().await?;
    store::insert_challenge(&mut connection, &hash_of(&challenge), &new).await?;
    Ok(encoded(&challenge))
}

/// Uses up a challenge, whether or not the rest of the answer is accepted. `None` when it is not valid.
pub async fn take(pool: &PgPool, clock: &Clock, challenge: &[u8]) -> Result<Option<Challenge>> {
    let mut connection = pool.acquire().await?;
    let taken = store::delete_challenge(&mut connection, &hash_of(challenge)).await?;
    Ok(taken.filter(|challenge| challenge.expires_at > clock.now()))
}

fn hash_of(challenge: &[u8]) -> Vec<u8> {
    Sha256::digest(challenge).to_vec()
}
