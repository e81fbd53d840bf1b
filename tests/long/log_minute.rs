//! Visitors choose on three nodes for a minute, and every choice that was acknowledged has one position in
//! the public log.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::stream::{self, StreamExt};

use crate::support::App;
use crate::support::story::Site;
use crate::support::transparency_log::log::LOG_KEY;

const SECONDS: u64 = 60;
/// Of each node.
const WRITERS: usize = 4;
const PAUSE: Duration = Duration::from_millis(100);

/// The visitors of one writer whose choices were acknowledged.
async fn record(node: &App, site: &Site, name: String, is_over: &AtomicBool) -> Vec<String> {
    let mut visitors = Vec::new();
    for number in 0.. {
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        let visitor = format!("{name}-{number}");
        if node.record(&site.acceptance(&visitor)).await.status == 202 {
            visitors.push(visitor);
        }
        tokio::time::sleep(PAUSE).await;
    }
    visitors
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_choice_that_three_nodes_acknowledge_has_exactly_one_position_in_the_log() {
    let first = App::spawn_with(&[LOG_KEY]).await;
    let nodes = [first.another_node(&[LOG_KEY]).await, first.another_node(&[LOG_KEY]).await, first];
    let key = nodes[2].account("shop@example.com").await.key;
    let sites = [
        nodes[2].consent_site(&key, "one.example").await,
        nodes[2].consent_site(&key, "two.example").await,
    ];
    let is_over = AtomicBool::new(false);
    // Every site is chosen on by every node.
    let writers = (0..nodes.len() * WRITERS).map(|number| {
        let (node, site) = (&nodes[number % nodes.len()], &sites[number / 2 % sites.len()]);
        let is_over = &is_over;
        async move { (site, record(node, site, format!("w{number}"), is_over).await) }
    });
    let passing = async {
        for _ in 0..SECONDS {
            tokio::time::sleep(Duration::from_secs(1)).await;
            nodes[0].clock.advance(chrono::TimeDelta::seconds(1));
        }
        is_over.store(true, Ordering::Relaxed);
    };
    let (written, ()) = tokio::join!(join_all(writers), passing);
    let all = written.iter().flat_map(|(site, visitors)| visitors.iter().map(|one| (*site, one)));
    let all = all.collect::<Vec<_>>();
    assert!(all.len() > 2_000, "{} choices", all.len());
    for (site, visitors) in &written {
        nodes[1].proof(site, visitors.last().unwrap()).await;
    }
    nodes[1].some_rounds().await;
    let proofs = stream::iter(&all).map(|(site, visitor)| nodes[1].proof(site, visitor));
    let proofs = proofs.buffer_unordered(8).collect::<Vec<_>>().await;
    let log = proofs[proofs.len() - 1].log(&nodes[1].client, &nodes[1].base).await;
    let positions = proofs.iter().map(|proof| proof.position(&log)).collect::<BTreeSet<_>>();
    assert_eq!(positions.len(), all.len());
    let entries = positions.iter().map(|(number, _)| number).collect::<BTreeSet<_>>();
    assert!(entries.len() > 4, "they came into the log at several times: {entries:?}");
    println!("{} choices in {} entries", all.len(), entries.len());
}
