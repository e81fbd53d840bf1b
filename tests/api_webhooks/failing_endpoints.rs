//! Servers of customers that answer badly lose nothing, get nothing twice once they have taken it, and delay
//! nobody else; with many more events in `tests/long`.

use std::time::Duration;

use crate::support::sites::bad_servers::BadServers;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_for_a_failing_server_arrive_after_its_recovery_and_delay_nobody() {
    let mut servers = BadServers::with(300).await;
    servers.meet().await;
    servers.become_good(Duration::from_secs(120)).await;
}
