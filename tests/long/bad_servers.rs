//! 10,000 events for a server that answers badly in every way, while another tenant's arrive in time.

use std::time::Duration;

use crate::memory::{forget_peak, peak};
use crate::support::sites::bad_servers::BadServers;

/// KiB by which this process, in which the bad server is too, may grow while it answers badly: it sends
/// 5 MB at a time.
const GROWTH: u64 = 96 << 10;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_events_for_a_bad_server_all_arrive_once_it_is_good_and_delay_nobody() {
    let mut servers = BadServers::with(10_000).await;
    let this = std::process::id();
    forget_peak(this);
    let before = peak(this);
    servers.meet().await;
    let grown = peak(this).saturating_sub(before);
    println!("{before} KiB before, {grown} KiB more while the server answered badly");
    assert!(grown < GROWTH, "{grown} KiB");
    servers.become_good(Duration::from_secs(300)).await;
}
