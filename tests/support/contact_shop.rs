//! A site whose contacts depend on its visitors' consent.

use std::sync::Arc;
use std::time::{Duration as RealTime, Instant};

use serde_json::{Value, json};

use super::contacts::hem;
use super::server::Settings;
use super::story::Site;
use super::visitors::with;
use super::{Account, App};

/// A service with an account and its site.
pub struct ContactShop {
    pub app: Arc<App>,
    pub ann: Account,
    pub site: Site,
}

impl ContactShop {
    pub async fn open() -> Self {
        Self::open_with(&[]).await
    }

    pub async fn open_with(settings: Settings<'_>) -> Self {
        let app = Arc::new(App::spawn_with(settings).await);
        let ann = app.unlimited_account("ann@example.com").await;
        let site = app.consent_site(&ann.key, "ann.example").await;
        Self { app, ann, site }
    }

    /// Another site of the same account.
    pub async fn branch(&self, domain: &str) -> Self {
        let site = self.app.consent_site(&self.ann.key, domain).await;
        Self { app: self.app.clone(), ann: self.ann.clone(), site }
    }

    pub async fn accept(&self, visitor: &str) {
        self.app.recorded(&self.site.acceptance(visitor)).await;
    }

    /// Accepts, but not that data are resolved.
    pub async fn accept_analytics(&self, visitor: &str) {
        let choice = with(&self.site.acceptance(visitor), "purposes", json!(["analytics"]));
        self.app.recorded(&choice).await;
    }

    pub async fn refuse(&self, visitor: &str, state: &str) {
        self.app.recorded(&self.site.refusal(visitor, state)).await;
    }

    pub async fn configure(&self, name: &str, more: Value) -> Value {
        let mut body = json!({"controller_name": name, "purposes": ["resolution", "analytics"]});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.app.configure(&self.ann.key, &self.site.pixel_id, body).await.expect(200)
    }

    /// Stores items, and gives how many were stored and what was refused.
    pub async fn store(&self, items: Value) -> (u64, Value) {
        let stored = self.app.store(&self.ann.key, &self.site.pixel_id, items).await.expect(200);
        (stored["stored"].as_u64().unwrap(), stored["refused"].clone())
    }

    pub async fn stored(&self, items: Value) {
        let count = items.as_array().unwrap().len() as u64;
        assert_eq!(self.store(items).await, (count, json!([])));
    }

    /// Stores one item; why it was refused, null when it was not.
    pub async fn refusal(&self, item: Value) -> Value {
        let (stored, refused) = self.store(json!([item])).await;
        assert_eq!(stored == 0, refused != json!([]));
        refused[0]["reason"].clone()
    }

    pub async fn page(&self, query: &str) -> Value {
        self.app.contacts(&self.ann.key, &self.site.pixel_id, query).await.expect(200)
    }

    /// All contacts, which every way of reading gives alike.
    pub async fn contacts(&self) -> Vec<Value> {
        let list = |page: Value| page["contacts"].as_array().unwrap().clone();
        let all = list(self.page("after=0").await);
        let mut days = all
            .iter()
            .map(|contact| &contact["resolved_at"].as_str().unwrap()[..10])
            .collect::<Vec<_>>();
        days.sort_unstable();
        days.dedup();
        let mut by_day = Vec::new();
        for day in if days.is_empty() { vec!["2026-03-10"] } else { days } {
            by_day.extend(list(self.page(&format!("on={day}")).await));
        }
        by_day.sort_by_key(|contact| contact["id"].as_i64());
        assert_eq!(by_day, all);
        let changed = list(self.page("changed_after=0").await);
        let mut same = changed
            .iter()
            .map(|contact| {
                let contact = with(contact, "change", Value::Null);
                with(&with(&contact, "visits", Value::Null), "last_seen_at", Value::Null)
            })
            .collect::<Vec<_>>();
        same.sort_by_key(|contact| contact["id"].as_i64());
        assert_eq!(same, all);
        all
    }

    /// The consent of a person as it is read: null when the person is read without, `None` when not
    /// at all.
    pub async fn consent(&self, number: usize) -> Option<Value> {
        let contacts = self.contacts().await;
        let found = contacts.iter().find(|contact| contact["hem"] == hem(number));
        found.map(|contact| contact["consent"].clone())
    }

    /// The reason beside the consent of a person who is read, `None` for one who is not.
    pub async fn reason(&self, number: usize) -> Option<String> {
        let consent = self.consent(number).await?;
        let reason = consent["reason"].as_str().unwrap_or("unbound").to_owned();
        assert!(consent.is_null() || consent["permitted"] == (reason == "ok"));
        Some(reason)
    }

    pub async fn withdrawn(&self, query: &str) -> Value {
        let path = format!("/v1/pixels/{}/contacts/withdrawn{query}", self.site.pixel_id);
        self.app.read(&self.ann.key, &path).await.expect(200)
    }

    /// Waits until this number of entries is listed.
    pub async fn withdrawn_are(&self, count: usize) -> Vec<Value> {
        let started = Instant::now();
        loop {
            let entries = self.withdrawn("").await["withdrawn"].as_array().unwrap().clone();
            if entries.len() == count {
                return entries;
            }
            let waited = started.elapsed() < RealTime::from_secs(15);
            assert!(waited, "{} entries, not {count}", entries.len());
            tokio::time::sleep(RealTime::from_millis(20)).await;
        }
    }

    /// Waits until this number of rows of contacts exists.
    pub async fn rows_are(&self, count: i64) {
        let started = Instant::now();
        loop {
            let rows = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM contacts");
            let rows = rows.fetch_one(&self.app.pool).await.unwrap();
            if rows == count {
                return;
            }
            assert!(started.elapsed() < RealTime::from_secs(15), "{rows} contacts, not {count}");
            tokio::time::sleep(RealTime::from_millis(20)).await;
        }
    }

    /// Fails when any row of any table has one of these texts, and unless these tables are empty.
    pub async fn no_table_knows(&self, texts: &[&str], empty: &[&str]) {
        let tables = "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'";
        let tables =
            sqlx::query_scalar::<_, String>(tables).fetch_all(&self.app.pool).await.unwrap();
        assert!(tables.len() > 20);
        for table in tables {
            let rows = format!("SELECT t::text FROM \"{table}\" AS t");
            let rows = sqlx::query_scalar::<_, String>(sqlx::AssertSqlSafe(rows));
            let rows = rows.fetch_all(&self.app.pool).await.unwrap();
            assert!(!empty.contains(&table.as_str()) || rows.is_empty(), "{table}: {rows:?}");
            let known = |row: &String| texts.iter().any(|text| row.contains(text));
            assert!(!rows.iter().any(known), "{table}");
        }
    }
}
