//! The time from a choice to its proof, while other choices follow all the time.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::support::App;
use crate::support::consent::shop;
use crate::support::story::Site;
use crate::support::transparency_log::log::LOG_KEY;

/// Seconds from a choice to its proof on one node, and on several whose files must all hold the state first.
const ON_ONE: f64 = 4.0;
const ON_SEVERAL: f64 = 9.0;
const CHOICES: usize = 4;

/// Lets the clock run, and records a choice on one node after the other.
async fn keep_choosing(nodes: &[&App], site: &Site) {
    for number in 0.. {
        let node = nodes[number % nodes.len()];
        node.recorded(&site.acceptance(&format!("beside-{number}"))).await;
        sleep(Duration::from_millis(250)).await;
        node.clock.advance(chrono::Duration::milliseconds(250));
    }
}

/// The longest time in seconds that one of some choices waits for its proof.
async fn longest_delay(nodes: &[&App], site: &Site) -> f64 {
    let mut longest = 0_f64;
    for number in 0..CHOICES {
        let (node, visitor) = (nodes[number % nodes.len()], format!("waiting-{number}"));
        node.recorded(&site.acceptance(&visitor)).await;
        let begun = Instant::now();
        while node.ask_for_proof(site, &visitor).await.status != 200 {
            assert!(begun.elapsed() < Duration::from_secs(30), "{visitor} has no proof");
            sleep(Duration::from_millis(100)).await;
        }
        longest = longest.max(begun.elapsed().as_secs_f64());
    }
    longest
}

async fn delay_while_others_choose(nodes: &[&App], site: &Site) -> f64 {
    // The first states are signed while the nodes start.
    nodes[0].recorded(&site.acceptance("first")).await;
    nodes[0].proof(site, "first").await;
    tokio::select! {
        () = keep_choosing(nodes, site) => unreachable!(),
        longest = longest_delay(nodes, site) => longest,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_choice_has_a_proof_within_seconds() {
    let app = App::spawn_with(&[LOG_KEY]).await;
    let (_, site) = shop(&app).await;
    let longest = delay_while_others_choose(&[&app], &site).await;
    assert!(longest < ON_ONE, "{longest} s");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_state_that_several_nodes_have_to_store_is_published_before_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let files = ["one", "two", "three"].map(file);
    let settings = |file| [LOG_KEY, ("LOG_STATE", file)];
    let one = App::spawn_with(&settings(&files[0])).await;
    let two = one.another_node(&settings(&files[1])).await;
    let three = one.another_node(&settings(&files[2])).await;
    let (_, site) = shop(&one).await;
    let longest = delay_while_others_choose(&[&one, &two, &three], &site).await;
    assert!(longest < ON_SEVERAL, "{longest} s");
}
