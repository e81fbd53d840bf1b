//! Choices by two nodes while the road of one of them to the database is held up, again and again.

use std::time::{Duration, Instant};

use futures_util::future::join_all;

use crate::support::App;
use crate::support::postgres::outage::Road;
use crate::support::story::Site;

const VISITORS: u64 = 300;
const STALL: Duration = Duration::from_secs(10);
/// After so long the tag gives a choice up.
const TAG_TIMEOUT: Duration = Duration::from_secs(8);

/// Says yes by one node at some moment, gives it up as the tag does, then says no by the other node.
/// Whether the yes was answered with a receipt.
async fn yes_then_no(here: &App, there: &App, site: &Site, visitor: &str, number: u64) -> bool {
    tokio::time::sleep(Duration::from_millis(number * 9_500 / VISITORS)).await;
    let yes = site.acceptance(visitor);
    let answer = tokio::time::timeout(TAG_TIMEOUT, there.record(&yes)).await;
    let status = answer.expect("the node answers while the tag still waits").status;
    assert!([202, 503].contains(&status), "{status}");
    here.recorded(&site.refusal(visitor, "declined")).await;
    status == 202
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_who_said_no_is_permitted_however_the_road_of_one_node_stalls() {
    let here = App::spawn().await;
    let key = here.account("shop@stalls.example").await.key;
    let site = here.consent_site(&key, "shop.example").await;
    let road = Road::to(&here.database.url).await;
    let there = here.another_node_by(&road.url).await;
    for round in 0..3 {
        there.recorded(&site.refusal("first", "declined")).await;
        let visitors = (0..VISITORS).map(|number| format!("visitor-{round}-{number}"));
        let visitors = visitors.collect::<Vec<_>>();
        let choosing = join_all(
            (0..)
                .zip(&visitors)
                .map(|(number, visitor)| yes_then_no(&here, &there, &site, visitor, number)),
        );
        let stalling = async {
            tokio::time::sleep(Duration::from_millis(200)).await;
            match round {
                // Requests in flight are lost, and new connections work.
                1 => road.lose(),
                _ => road.stall(),
            }
            tokio::time::sleep(STALL).await;
            road.mend();
        };
        let (answered, ()) = tokio::join!(choosing, stalling);
        println!(
            "{} of {VISITORS} yeses were answered",
            answered.iter().filter(|yes| **yes).count()
        );
        // The delayed requests arrive.
        tokio::time::sleep(Duration::from_secs(1)).await;
        sqlx::query("SELECT wait_for_recorders()").execute(&here.pool).await.unwrap();
        for visitor in &visitors {
            let check = here.check(&site.pixel_id, visitor).await;
            assert_eq!(check["reason"], "declined_or_withdrawn", "{visitor}");
        }
        // The lost idle connections are detected one by one.
        let mended = Instant::now();
        while there.get("/healthz").await.status != 200 {
            assert!(mended.elapsed() < Duration::from_secs(60), "the node does not recover");
        }
    }
}
