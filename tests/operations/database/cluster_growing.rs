//! A cluster that grows: later migrations, and a service that moves onto one while it runs.
//! `make test-cluster` runs these; on one PostgreSQL the second ends at once.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use assent::clock::Clock;
use assent::infra::postgres::migrate_by;
use futures_util::future::join_all;
use sqlx::migrate::Migrator;
use sqlx::{query_as, query_scalar};

use crate::support::App;
use crate::support::postgres::cluster::workers;
use crate::support::postgres::database::TestDatabase;
use crate::support::server::start_of_time;
use crate::support::story::Site;
use crate::support::visitors::{checked_at_last, choice, recorded_at_last, with};

#[tokio::test]
async fn a_later_migration_of_many_statements_runs_on_distributed_tables() {
    let database = TestDatabase::create().await;
    let folder = tempfile::tempdir().unwrap();
    let later = "
        ALTER TABLE consent_receipts ADD COLUMN mood text;
        CREATE INDEX consent_receipts_mood ON consent_receipts (pixel_id, mood);
        UPDATE consent_days SET shown = shown + 0;
        CREATE FUNCTION set_mood() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            NEW.mood := 'calm';
            RETURN NEW;
        END $$;
        CREATE TRIGGER consent_receipts_mood BEFORE INSERT ON consent_receipts FOR EACH ROW
            EXECUTE FUNCTION set_mood();
        ALTER TABLE contacts ADD CONSTRAINT contacts_hem_length CHECK (length(hem) < 65);
        DROP INDEX consent_receipts_mood;";
    std::fs::write(folder.path().join("9001_mood.sql"), later).unwrap();
    let migrations = || async { Migrator::new(folder.path()).await.unwrap() };
    migrate_by(&database.pool(), migrations().await).await.unwrap();
    // Again, as every node does that starts.
    migrate_by(&database.pool(), migrations().await).await.unwrap();
    let app = App::spawn_on(Arc::new(database), Clock::manual(start_of_time()), &[]).await;
    let owner = app.account("owner@cluster.example").await;
    let site = app.consent_site(&owner.key, "shop.example").await;
    app.recorded(&site.acceptance("visitor")).await;
    let moods = query_scalar::<_, String>("SELECT mood FROM consent_receipts");
    assert_eq!(moods.fetch_all(&app.pool).await.unwrap(), ["calm"]);
}

/// Records for a pixel until it is told to stop, always a yes and its withdrawal, and checks after each.
/// Gives the receipts that were acknowledged.
async fn visits(app: &App, site: &Site, first: usize, stop: &AtomicBool) -> Vec<String> {
    let mut acknowledged = Vec::new();
    for number in (first..).take_while(|_| !stop.load(Ordering::Relaxed)) {
        let visitor = format!("visitor-{number}");
        let yes = site.acceptance(&visitor);
        let no = site.refusal(&visitor, "withdrawn");
        for (body, choice, permitted) in
            [(yes, choice(number), true), (no, choice(1_000_000 + number), false)]
        {
            let receipt = recorded_at_last(app, &with(&body, "choice_id", choice)).await;
            acknowledged.push(receipt["receipt_id"].as_str().unwrap().to_owned());
            assert_eq!(checked_at_last(app, site, &visitor).await["permitted"], permitted);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    acknowledged
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_running_service_moves_onto_a_cluster_whose_shards_are_split_and_rebalanced() {
    if workers().is_empty() {
        return;
    }
    let database = Arc::new(TestDatabase::undistributed().await);
    let app = App::spawn_on(Arc::clone(&database), Clock::manual(start_of_time()), &[]).await;
    let owner = app.unlimited_account("owner@cluster.example").await;
    let mut sites = Vec::new();
    for number in 0..6 {
        sites.push(app.consent_site(&owner.key, &format!("s{number}.example")).await);
    }
    let stop = AtomicBool::new(false);
    let growing = async {
        database.join_cluster(1).await;
        // Until every connection has heard of it.
        tokio::time::sleep(Duration::from_secs(35)).await;
        database.follow("citus-durable").await;
        database.follow("citus-growing").await;
        database.follow("citus-dividing").await;
        database.follow("citus-worker").await;
        stop.store(true, Ordering::Relaxed);
    };
    let all = sites.iter().enumerate();
    let all = join_all(all.map(|(nth, site)| visits(&app, site, 100_000 * nth, &stop)));
    let (acknowledged, ()) = tokio::join!(all, growing);
    let acknowledged = acknowledged.concat().into_iter().collect::<BTreeSet<_>>();
    let stored = "SELECT receipt_id::text FROM consent_receipts";
    let stored = query_scalar::<_, String>(stored).fetch_all(&app.pool).await.unwrap();
    assert_eq!(stored.len(), acknowledged.len(), "nothing is stored twice");
    assert_eq!(stored.into_iter().collect::<BTreeSet<_>>(), acknowledged);
    let (parts, machines) = query_as::<_, (i64, i64)>(
        "SELECT count(*), count(DISTINCT nodeport) FROM citus_shards
         WHERE table_name = 'consent_receipts'::regclass",
    )
    .fetch_one(&app.pool)
    .await
    .unwrap();
    let before = "SELECT current_setting('citus.shard_count')::bigint";
    let before = query_scalar::<_, i64>(before).fetch_one(&app.pool).await.unwrap();
    assert_eq!((parts, machines), (before + 1, 2));
}
