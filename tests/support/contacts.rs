//! Resolved people, invented.

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;

use super::server::{Answer, App};
use super::story::Account;
use super::visitors::with;

/// The hem of a person with a number.
pub fn hem(number: usize) -> String {
    format!("{number:064x}")
}

/// An item to store for a person with a number, seen now.
pub fn person(number: usize) -> Value {
    json!({"hem": hem(number), "contact": {"number": number}})
}

/// The same, stored with the consent of a visitor.
pub fn bound(number: usize, visitor: &str) -> Value {
    with(&person(number), "visitor_id", json!(visitor))
}

impl App {
    /// An account with a pixel.
    pub async fn shop(&self) -> (Account, String) {
        let ann = self.account("ann@example.com").await;
        let pixel = self.pixel(&ann.key, "ann.example").await;
        (ann, pixel)
    }

    /// Stores items on a pixel.
    pub async fn store(&self, key: &str, pixel: &str, contacts: Value) -> Answer {
        let path = format!("/v1/pixels/{pixel}/contacts");
        self.call(Method::POST, &path, key, json!({"contacts": contacts})).await
    }

    /// Stores the people with these numbers.
    pub async fn store_people(
        &self,
        key: &str,
        pixel: &str,
        numbers: std::ops::Range<usize>,
    ) -> Answer {
        self.store(key, pixel, numbers.map(person).collect()).await
    }

    /// Reads contacts with a query such as `after=0`.
    pub async fn contacts(&self, key: &str, pixel: &str, query: &str) -> Answer {
        let path = format!("/v1/pixels/{pixel}/contacts?{query}");
        self.call(Method::GET, &path, key, Value::Null).await
    }

    /// The first page of a pixel's contacts.
    pub async fn all_contacts(&self, key: &str, pixel: &str) -> Vec<Value> {
        let page = self.contacts(key, pixel, "after=0").await.expect(200);
        page["contacts"].as_array().expect("an array").clone()
    }
}

/// Contacts of 2026-03-10, put where the service puts them, each of about `size` bytes.
pub async fn insert_contacts(pool: &PgPool, pixel: &str, count: i32, size: i32) {
    sqlx::query(
        "INSERT INTO contacts (pixel_id, id, hem, resolved_at, resolved_on, contact)
         SELECT $1, n, sha256(n::text::bytea), '2026-03-10T00:00:00Z', '2026-03-10',
             json_build_object('number', n, 'filler', repeat('x', $3))
         FROM generate_series(1, $2) AS n",
    )
    .bind(pixel)
    .bind(count)
    .bind(size)
    .execute(pool)
    .await
    .unwrap();
    sqlx::query("INSERT INTO contact_counters (pixel_id, last_id) VALUES ($1, $2)")
        .bind(pixel)
        .bind(i64::from(count))
        .execute(pool)
        .await
        .unwrap();
}
