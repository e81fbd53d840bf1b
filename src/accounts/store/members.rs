//! The SQL of members beside an account's own address.

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_as};
use uuid::Uuid;

use crate::accounts::scope::Scope;
use crate::error::Result;
use crate::types::ids::AccountId;

/// A member's place in an account.
pub struct Seat {
    pub member_id: Uuid,
    pub account_id: AccountId,
    pub email: String,
    pub role: Scope,
    pub created_at: DateTime<Utc>,
}

/// A query for `Seat` by the rest of a `SELECT`.
macro_rules! select_seat {
    ($rest:literal, $($argument:expr),+ $(,)?) => {
        query_as!(
            Seat,
            "SELECT member_id, account_id, email, role, created_at FROM members " + $rest,
            $($argument),+
        )
    };
}

/// The places that an address has, the oldest first.
pub async fn list_seats_of(connection: &mut PgConnection, email: &str) -> Result<Vec<Seat>> {
    let seats = select_seat!("WHERE email = $1 ORDER BY created_at, member_id", email)
        .fetch_all(connection)
        .await?;
    Ok(seats)
}

/// The places in an account, the oldest first.
pub async fn list_seats(
    connection: &mut PgConnection,
    account_id: &AccountId,
) -> Result<Vec<Seat>> {
    let id = account_id.as_str();
    let seats = select_seat!("WHERE account_id = $1 ORDER BY created_at, member_id", id)
        .fetch_all(connection)
        .await?;
    Ok(seats)
}

pub async fn find_seat_by_id(
    connection: &mut PgConnection,
    account_id: &AccountId,
    member_id: Uuid,
) -> Result<Option<Seat>> {
    let id = account_id.as_str();
    let seat = select_seat!("WHERE account_id = $1 AND member_id = $2", id, member_id)
        .fetch_optional(connection)
        .await?;
    Ok(seat)
}

pub async fn insert_seat(connection: &mut PgConnection, seat: &Seat) -> Result<()> {
    query!(
        "INSERT INTO members (member_id, account_id, email, role, created_at)
         VALUES ($1, $2, $3, $4, $5)",
        seat.member_id,
        seat.account_id.as_str(),
        seat.email,
        seat.role.as_str(),
        seat.created_at,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Writes the role down that a place has now.
pub async fn update_role(connection: &mut PgConnection, seat: &Seat) -> Result<()> {
    query!(
        "UPDATE members SET role = $3 WHERE account_id = $1 AND member_id = $2",
        seat.account_id.as_str(),
        seat.member_id,
        seat.role.as_str(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn delete_seat(
    connection: &mut PgConnection,
    account_id: &AccountId,
    member_id: Uuid,
) -> Result<()> {
    query!(
        "DELETE FROM members WHERE account_id = $1 AND member_id = $2",
        account_id.as_str(),
        member_id,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The place of an address in an account.
pub async fn find_seat(
    connection: &mut PgConnection,
    account_id: &AccountId,
    email: &str,
) -> Result<Option<Seat>> {
    let seat = select_seat!("WHERE account_id = $1 AND email = $2", account_id.as_str(), email)
        .fetch_optional(connection)
        .await?;
    Ok(seat)
}

/// Takes the place of an address away; `false` when it has none.
pub async fn delete_seat_of(
    connection: &mut PgConnection,
    account_id: &AccountId,
    email: &str,
) -> Result<bool> {
    let deleted = query!(
        "DELETE FROM members WHERE account_id = $1 AND email = $2",
        account_id.as_str(),
        email,
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected() == 1)
}
