//! Resolved people, invented.

use reqwest::Method;
use serde_json::{Value, json};

use super::server::{Answer, App};
use super::story::Account;

/// The hem of a person with a number.
pub fn hem(number: usize) -> String {
    format!("{number:064x}")
}

/// An item to store for a person with a number, seen now.
pub fn person(number: usize) -> Value {
    json!({"hem": hem(number), "contact": {"number": number}})
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
