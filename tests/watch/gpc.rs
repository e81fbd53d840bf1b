//! Global Privacy Control, as servers receive it.

use crate::runs::watch;
use crate::sites::Sites;

#[tokio::test]
async fn the_servers_of_a_page_and_of_its_frames_receive_the_signal_in_the_visit_with_it() {
    let page = r#"<!doctype html><title>Page</title><iframe src="http://framed.localhost:PORT/f"></iframe>
        <iframe src="http://sub.signalled.localhost:PORT/f"></iframe><script src="/own.js"></script>"#;
    let sites = Sites::start(&[("signalled.localhost/", page.to_owned())]).await;
    let run = watch(&[&sites.url("signalled.localhost/")]).await;
    run.ends_with(1);
    let addresses = [
        "signalled.localhost/",
        "signalled.localhost/own.js",
        "sub.signalled.localhost/f",
        "framed.localhost/f",
    ];
    for address in addresses {
        let (with, without) = sites.counts_by_gpc(address);
        // The other five visits open the page six times; a visit may be repeated.
        assert!(with >= 1 && without >= 6, "{address}: {with} with, {without} without");
        assert!(with < without, "{address}: {with} with, {without} without");
    }
}
