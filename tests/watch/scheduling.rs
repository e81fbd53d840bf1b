//! When a node watches the sites of pixels. No browser starts here: a node runs its own program, which is this test
//! and refuses the arguments, so every run fails at once.

use assent::infra::Infra;
use assent::silence::daily::{plan, watch_due};
use chrono::{DateTime, Duration, Utc};

use crate::support::server::infra;
use crate::support::setup::{demo_pixel, set_install_status};
use crate::support::{Account, App};

const DAY: Duration = Duration::days(1);
/// Sites beside the first one.
const MANY: usize = 400;

/// The next watch of a site, and the runs that have failed.
type Planned = (DateTime<Utc>, i32);

/// An account with an installed site, and a node with a browser.
struct Scene {
    app: App,
    account: Account,
    pixel: String,
    node: Infra,
}

fn node(app: &App) -> Infra {
    infra(&app.database, app.clock.clone(), &[("WATCH_BROWSER", "/bin/false")])
}

async fn installed(app: &App, account: &Account, domain: &str) -> String {
    let pixel = app.pixel(&account.key, domain).await;
    set_install_status(app, &pixel, "installed").await;
    pixel
}

impl Scene {
    async fn new() -> Self {
        // A check would find that no such site exists.
        let app = App::spawn_with(&[("INSTALL_CHECK", "off")]).await;
        let account = app.unlimited_account("ann@example.com").await;
        let pixel = installed(&app, &account, "shop.example").await;
        let node = node(&app);
        Self { app, account, pixel, node }
    }

    async fn make_due(&self, pixel: &str) {
        let insert = "INSERT INTO watch_sites (pixel_id, host, next_watch_at)
            SELECT pixel_id, domain, $2 FROM pixels WHERE pixel_id = $1";
        let insert = sqlx::query(insert).bind(pixel).bind(self.app.clock.now());
        assert_eq!(insert.execute(&self.app.pool).await.unwrap().rows_affected(), 1);
    }

    async fn planned(&self, pixel: &str) -> Planned {
        let select = "SELECT next_watch_at, failures FROM watch_sites WHERE pixel_id = $1";
        let select = sqlx::query_as::<_, Planned>(select).bind(pixel);
        select.fetch_one(&self.app.pool).await.unwrap()
    }

    async fn all_planned(&self) -> Vec<(String, DateTime<Utc>)> {
        let select = "SELECT pixel_id, next_watch_at FROM watch_sites ORDER BY pixel_id";
        sqlx::query_as(select).fetch_all(&self.app.pool).await.unwrap()
    }

    /// Whether no node watches.
    async fn is_free(&self) -> bool {
        let select = "SELECT taken_until <= $1 FROM watch_turn";
        let select = sqlx::query_scalar::<_, bool>(select).bind(self.app.clock.now());
        select.fetch_one(&self.app.pool).await.unwrap()
    }

    async fn watch(&self) {
        watch_due(&self.node).await.unwrap();
    }
}

#[tokio::test]
async fn first_watches_are_spread_over_a_day_and_stay_planned() {
    let scene = Scene::new().await;
    let app = &scene.app;
    let insert = "INSERT INTO pixels (pixel_id, account_id, domain, install_status, created_at)
        SELECT 'spread-' || n, account_id, 'site-' || n || '.example', 'installed', created_at
        FROM pixels, generate_series(1, $2) AS n WHERE pixel_id = $1";
    let insert = sqlx::query(insert).bind(&scene.pixel).bind(i32::try_from(MANY).unwrap());
    insert.execute(&app.pool).await.unwrap();
    let demo = demo_pixel(app, "demo.example").await;
    set_install_status(app, &demo, "installed").await;
    for status in ["not_checked", "not_installed", "unreachable"] {
        let domain = format!("{}.example", status.replace('_', "-"));
        let pixel = app.pixel(&scene.account.key, &domain).await;
        set_install_status(app, &pixel, status).await;
    }
    plan(&infra(&app.database, app.clock.clone(), &[])).await.unwrap();
    assert!(scene.all_planned().await.is_empty(), "a node without a browser plans nothing");

    plan(&scene.node).await.unwrap();
    let planned = scene.all_planned().await;
    assert_eq!(planned.len(), MANY + 1, "only installed sites of customers");
    let now = app.clock.now();
    let mut of_quarters = [0; 4];
    for (pixel, at) in &planned {
        assert!(now <= *at && *at < now + DAY, "{pixel} at {at}");
        let hours = usize::try_from((*at - now).num_hours()).unwrap();
        of_quarters[hours / 6] += 1;
    }
    assert!(of_quarters.iter().all(|count| *count > MANY / 8), "{of_quarters:?}");

    app.clock.advance(Duration::hours(1));
    plan(&scene.node).await.unwrap();
    assert_eq!(scene.all_planned().await, planned, "a plan is made once");
}

#[tokio::test]
async fn nodes_watch_in_turn_and_no_site_twice() {
    let scene = Scene::new().await;
    let mut pixels = vec![scene.pixel.clone()];
    for number in 0..3 {
        let domain = format!("site-{number}.example");
        pixels.push(installed(&scene.app, &scene.account, &domain).await);
    }
    for pixel in &pixels {
        scene.make_due(pixel).await;
    }
    let turn = Duration::minutes(8);
    let taken = sqlx::query("UPDATE watch_turn SET taken_until = $1");
    let taken = taken.bind(scene.app.clock.now() + turn).execute(&scene.app.pool).await.unwrap();
    assert_eq!(taken.rows_affected(), 1);
    scene.watch().await;
    for pixel in &pixels {
        assert_eq!(scene.planned(pixel).await.1, 0, "another node has the turn");
    }
    assert!(!scene.is_free().await);

    // A node that dies has the turn no longer than this.
    scene.app.clock.advance(turn);
    let other = node(&scene.app);
    let (first, second) = tokio::join!(watch_due(&scene.node), watch_due(&other));
    assert!(first.is_ok() && second.is_ok(), "{first:?} {second:?}");
    for pixel in &pixels {
        assert_eq!(scene.planned(pixel).await.1, 1, "each site was watched once");
    }
    assert!(scene.is_free().await);
}

#[tokio::test]
async fn a_site_whose_runs_fail_is_watched_again_after_twice_as_long_each_time() {
    let scene = Scene::new().await;
    scene.make_due(&scene.pixel).await;
    let pauses = [30, 60, 120, 240, 480, 960, 1440, 1440].map(Duration::minutes);
    for (pause, failures) in pauses.into_iter().zip(1..) {
        scene.watch().await;
        let planned = (scene.app.clock.now() + pause, failures);
        assert_eq!(scene.planned(&scene.pixel).await, planned);
        scene.app.clock.advance(pause - Duration::seconds(1));
        scene.watch().await;
        assert_eq!(scene.planned(&scene.pixel).await, planned, "it is not due yet");
        scene.app.clock.advance(Duration::seconds(1));
    }
    // The failures were those of the earlier host.
    let moved = "UPDATE pixels SET domain = 'moved.example' WHERE pixel_id = $1";
    sqlx::query(moved).bind(&scene.pixel).execute(&scene.app.pool).await.unwrap();
    plan(&scene.node).await.unwrap();
    assert_eq!(scene.planned(&scene.pixel).await.1, 0);
}

#[tokio::test]
async fn a_site_whose_node_dies_is_watched_again_after_half_an_hour() {
    let scene = Scene::new().await;
    scene.make_due(&scene.pixel).await;
    let (now, node) = (scene.app.clock.now(), scene.node.clone());
    let run = tokio::spawn(async move { watch_due(&node).await });
    while scene.planned(&scene.pixel).await.0 == now {
        tokio::task::yield_now().await;
    }
    run.abort();
    assert_eq!(scene.planned(&scene.pixel).await, (now + Duration::minutes(30), 1));
}

#[tokio::test]
async fn sites_of_lapsed_accounts_are_watched_and_those_of_suspended_ones_are_not() {
    let scene = Scene::new().await;
    let app = &scene.app;
    let (lapsed, suspended) =
        (app.account("eve@example.com").await, app.account("bob@example.com").await);
    let of_lapsed = installed(app, &lapsed, "eve.example").await;
    let of_suspended = installed(app, &suspended, "bob.example").await;
    let demo = demo_pixel(app, "demo.example").await;
    set_install_status(app, &demo, "installed").await;
    let removed = app.pixel(&scene.account.key, "removed.example").await;
    set_install_status(app, &removed, "not_installed").await;
    for pixel in [&of_lapsed, &of_suspended, &demo, &removed] {
        scene.make_due(pixel).await;
    }
    let ended = "UPDATE accounts SET trial_ends_at = $2 WHERE account_id = $1";
    let ended = sqlx::query(ended).bind(&lapsed.account_id).bind(app.clock.now() - DAY);
    ended.execute(&app.pool).await.unwrap();
    app.set_status(&suspended.account_id, "suspended").await;
    scene.watch().await;
    assert_eq!(scene.planned(&of_lapsed).await.1, 1, "visitors are asked on it as before");
    for pixel in [&of_suspended, &demo, &removed] {
        assert_eq!(scene.planned(pixel).await, (app.clock.now(), 0), "{pixel}");
    }
    app.set_status(&suspended.account_id, "active").await;
    scene.watch().await;
    assert_eq!(scene.planned(&of_suspended).await.1, 1);
}
