//! Fair queueing: visitors of an account over its rate wait, while other accounts have visitors too.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::{Duration, Instant};

use assent::clock::Clock;
use assent::infra::limits::account_rate::{AccountRates, RateConfig};
use futures_util::future::join_all;

use crate::limits::rate_limits::{ON, is_limited};
use crate::support::App;
use crate::support::postgres::database::TestDatabase;
use crate::support::server::start_of_time;
use crate::support::story::Site;

/// For so long a request waits for its turn, unless it gets it before; half of the time in which a choice must be stored.
const TIME_LIMIT: Duration = Duration::from_secs(2);

/// A node on which the visitors of an account get two turns at once and another one after half a minute,
/// unless the account has been alone for so many microseconds.
async fn paced(alone: u64) -> App {
    let database = Arc::new(TestDatabase::create().await);
    let clock = Clock::manual(start_of_time());
    App::spawn_tuned(database, clock, &[ON], |infra| {
        let at_once = const { NonZeroU64::new(2).unwrap() };
        let pacing =
            RateConfig { every: [30_000_000; 2], at_once, max_wait: micros(TIME_LIMIT), alone };
        infra.account_rates = AccountRates::new(Some(pacing), infra.metrics.paced.clone());
    })
    .await
}

fn micros(time: Duration) -> u64 {
    time.as_micros().try_into().unwrap()
}

fn tag(site: &Site) -> String {
    format!("/px/{}.js", site.pixel_id)
}

#[tokio::test]
async fn visitors_of_an_account_over_its_rate_wait_and_others_do_not() {
    let app = paced(u64::MAX).await;
    let owner = app.account("ann@pace.example").await;
    let busy = app.consent_site(&owner.key, "busy.example").await;
    let second = app.consent_site(&owner.key, "second.example").await;
    let neighbour = app.account("bob@pace.example").await;
    let other = app.consent_site(&neighbour.key, "other.example").await;
    for (site, visitor) in [(&busy, "a"), (&second, "b")] {
        assert_eq!(app.get(&tag(site)).await.status, 200);
        app.recorded(&site.acceptance(visitor)).await;
    }
    let begun = Instant::now();
    let check = format!("/v1/consent/check?pixel_id={}&visitor_id=v", busy.pixel_id);
    let (yes, no) = (busy.acceptance("v"), busy.refusal("v", "declined"));
    let (tag_again, second_tag, other_tag) = (tag(&busy), tag(&second), tag(&other));
    let (tag_again, second_tag, check, yes, no, other_took) = tokio::join!(
        app.get(&tag_again),
        app.get(&second_tag),
        app.get(&check),
        app.record(&yes),
        app.record(&no),
        async {
            assert_eq!(app.get(&other_tag).await.status, 200);
            begun.elapsed()
        },
    );
    for answer in [tag_again, second_tag, check, yes] {
        is_limited(&answer, TIME_LIMIT.as_secs() as u32);
    }
    // A no is taken all the same, and nobody was refused at once.
    assert_eq!(no.status, 202);
    assert!(begun.elapsed() >= TIME_LIMIT && other_took < TIME_LIMIT, "{other_took:?}");
}

#[tokio::test]
async fn an_account_alone_on_a_node_has_its_whole_capacity() {
    let alone = Duration::from_secs(3);
    let app = paced(micros(alone)).await;
    let owner = app.account("ann@pace.example").await;
    let site = app.consent_site(&owner.key, "busy.example").await;
    let neighbour = app.account("bob@pace.example").await;
    let other = app.consent_site(&neighbour.key, "other.example").await;
    assert_eq!(app.get(&tag(&other)).await.status, 200);
    assert_eq!(app.get(&tag(&site)).await.status, 200);
    tokio::time::sleep(alone).await;
    for _ in 0..20 {
        assert_eq!(app.get(&tag(&site)).await.status, 200);
    }
    // One visitor of somebody else ends that.
    assert_eq!(app.get(&tag(&other)).await.status, 200);
    let begun = Instant::now();
    let answers = join_all((0..5).map(|_| async { app.get(&tag(&site)).await })).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 429).count(), 4);
    assert!(begun.elapsed() >= TIME_LIMIT);
}
