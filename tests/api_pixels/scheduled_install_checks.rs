//! Scheduled install checks: once a day for every installed pixel, until its tag has vanished.

use std::time::Duration as RealTime;

use chrono::Duration;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::mail::Mail;
use crate::support::setup::{demo_pixel, set_install_status, set_plan};
use crate::support::sites::https_site::{HttpsSite, Reply, ca_file};
use crate::support::sites::install::{check, installed};
use crate::support::waiting::wait_until;
use crate::support::{Account, App, MailServer, fresh_address};

/// A service that finds these hosts on a site of the test.
pub struct Looks {
    pub app: App,
    pub site: HttpsSite,
    pub ann: Account,
    pub settings: Vec<(&'static str, String)>,
}

impl Looks {
    pub async fn of(hosts: &[&str], more: &[(&'static str, &str)]) -> Self {
        let site = HttpsSite::start(hosts).await;
        let mut settings = vec![
            ("INSTALL_CHECK_RESOLVE", site.resolve(hosts)),
            ("INSTALL_CHECK_CA_FILE", ca_file().to_owned()),
            ("SMTP_URL", MailServer::shared().url.clone()),
        ];
        settings.extend(more.iter().map(|(name, value)| (*name, (*value).to_owned())));
        let app = App::spawn_with(&borrowed(&settings)).await;
        let ann = app.mailed_account(&fresh_address("ann")).await;
        Self { app, site, ann, settings }
    }

    pub async fn new() -> Self {
        Self::of(&["shop.example"], &[]).await
    }

    pub async fn another_node(&self) -> App {
        self.app.another_node(&borrowed(&self.settings)).await
    }

    /// Ann's pixel, which a check has found on its site.
    pub async fn installed(&self, host: &str) -> String {
        let pixel = self.app.pixel(&self.ann.key, host).await;
        self.shows(host, &tag(&self.app, &pixel));
        installed(&check(&self.app, &self.ann.key, &pixel).await.expect(200));
        pixel
    }

    pub fn shows(&self, host: &str, page: &str) {
        self.site.answer(&format!("{host}/"), Reply::page(page));
    }

    pub async fn state(&self, pixel: &str) -> Value {
        self.state_of(&self.ann.key, pixel).await
    }

    pub async fn state_of(&self, key: &str, pixel: &str) -> Value {
        let path = format!("/v1/pixels/{pixel}/check");
        self.app.call(Method::GET, &path, key, Value::Null).await.expect(200)
    }

    /// A node of the same service that looks at nothing, and where a key signs in to the console.
    pub async fn console(&self) -> App {
        self.app.another_node(&[("INSTALL_CHECK", "off")]).await
    }

    /// A day goes by, and the pixel is looked at.
    pub async fn day(&self, pixel: &str) -> Value {
        self.app.clock.advance(Duration::days(1));
        self.looked_at(&self.ann.key, pixel).await;
        self.state(pixel).await
    }

    /// Waits for the look of this moment.
    pub async fn looked_at(&self, key: &str, pixel: &str) {
        let now = assent::clock::rfc3339(self.app.clock.now());
        let is_done = async || self.state_of(key, pixel).await["checked_at"] == now;
        wait_until("the daily look", is_done).await;
    }

    /// Mails of vanished tags.
    pub fn mails(&self) -> Vec<Mail> {
        mails_to(&self.ann.email)
    }

    pub fn looks_at(&self, host: &str) -> usize {
        let page = format!("{host}/");
        self.site.seen().iter().filter(|seen| seen.page == page).count()
    }
}

pub fn mails_to(address: &str) -> Vec<Mail> {
    let inbox = MailServer::shared().inbox(address).into_iter();
    inbox.filter(|mail| mail.subject().contains("missing")).collect()
}

fn borrowed<'a>(settings: &'a [(&'static str, String)]) -> Vec<(&'a str, &'a str)> {
    settings.iter().map(|(name, value)| (*name, value.as_str())).collect()
}

pub fn tag(app: &App, pixel: &str) -> String {
    format!("<script async src=\"{}/pixel.js\" data-pixel=\"{pixel}\"></script>", app.base)
}

/// Waits for rounds in which nothing must happen: the service looks at its clock once a second.
pub async fn rounds() {
    tokio::time::sleep(RealTime::from_millis(2500)).await;
}

#[tokio::test]
async fn a_tag_that_is_missed_three_days_in_a_row_has_vanished_and_its_owner_gets_one_mail() {
    let looks = Looks::new().await;
    let pixel = looks.installed("shop.example").await;
    looks.shows("shop.example", "<html>new theme</html>");
    for _ in 0..2 {
        let state = looks.day(&pixel).await;
        assert_eq!(state["install_status"], "installed");
        assert_eq!(state["installed_since"], "2026-03-10T12:00:00.000Z");
        assert_eq!(state["missing_since"], "2026-03-11T12:00:00.000Z");
        assert_eq!(state["findings"][0]["kind"], "no_tag");
    }
    assert!(looks.mails().is_empty());
    let state = looks.day(&pixel).await;
    assert_eq!(state["install_status"], "not_installed");
    assert_eq!([&state["installed_since"], &state["check_error"]], [&Value::Null; 2]);
    assert_eq!(state["missing_since"], "2026-03-11T12:00:00.000Z");
    wait_until("the mail", async || looks.mails().len() == 1).await;
    let mail = looks.mails().remove(0);
    assert_eq!(mail.subject(), "The snippet is missing from shop.example");
    for part in [mail.text(), mail.html()] {
        for said in [
            "Since 11 March 2026",
            "The snippet was not found on the page",
            "Paste the snippet before",
        ] {
            assert!(part.contains(said), "{said} in {part}");
        }
    }
    let screen = format!("{}/console/sites/{pixel}/install", looks.app.base);
    assert!(mail.text().replace("=\n", "").contains(&screen), "{}", mail.text());
    for _ in 0..3 {
        assert_eq!(looks.day(&pixel).await["install_status"], "not_installed");
    }
    assert_eq!(looks.mails().len(), 1, "one mail, however long it is gone");
}

#[tokio::test]
async fn a_day_on_which_it_is_found_begins_the_count_anew() {
    let looks = Looks::new().await;
    let pixel = looks.installed("shop.example").await;
    let page = tag(&looks.app, &pixel);
    for _ in 0..2 {
        looks.site.answer("shop.example/", Reply::status(503));
        for _ in 0..2 {
            let state = looks.day(&pixel).await;
            assert_eq!(state["install_status"], "installed");
            assert_eq!(state["check_error"], "the page answered with status 503");
        }
        looks.shows("shop.example", &page);
        let state = looks.day(&pixel).await;
        assert_eq!(state["missing_since"], Value::Null);
        assert_eq!(state["findings"], json!([]));
    }
    assert_eq!(looks.state(&pixel).await["installed_since"], "2026-03-10T12:00:00.000Z");
    assert!(looks.mails().is_empty());
}

#[tokio::test]
async fn a_vanished_tag_that_is_found_again_is_installed_without_a_mail() {
    let looks = Looks::new().await;
    let pixel = looks.installed("shop.example").await;
    let page = tag(&looks.app, &pixel);
    looks.shows("shop.example", "");
    for _ in 0..4 {
        looks.day(&pixel).await;
    }
    looks.shows("shop.example", &page);
    let state = looks.day(&pixel).await;
    assert_eq!(state["install_status"], "installed");
    assert_eq!(state["installed_since"], "2026-03-15T12:00:00.000Z");
    assert_eq!(state["missing_since"], Value::Null);
    rounds().await;
    assert_eq!(looks.mails().len(), 1);
}

#[tokio::test]
async fn a_site_that_leads_elsewhere_or_is_away_has_lost_its_tag_too() {
    let looks = Looks::of(&["moved.example", "away.example"], &[]).await;
    let (moved, away) =
        (looks.installed("moved.example").await, looks.installed("away.example").await);
    looks.site.answer("moved.example/", Reply::redirect("https://elsewhere.example/"));
    looks.site.answer("away.example/", Reply::status(404));
    for _ in 0..2 {
        looks.day(&moved).await;
        looks.looked_at(&looks.ann.key, &away).await;
    }
    let state = looks.day(&moved).await;
    assert_eq!(state["install_status"], "not_installed");
    assert_eq!(state["check_error"], "the page redirects elsewhere");
    wait_until("both mails", async || looks.mails().len() == 2).await;
    assert_eq!(looks.state(&away).await["install_status"], "not_installed");
    let inbox = looks.mails();
    let of = |host: &str| inbox.iter().find(|mail| mail.subject().ends_with(host)).unwrap().text();
    assert!(
        of("moved.example").contains("redirects to another address"),
        "{}",
        of("moved.example")
    );
    assert!(of("away.example").contains("status 404"), "{}", of("away.example"));
    let console = looks.console().await;
    let page = console.browser_of(&looks.ann.key).await.page("/console").await;
    assert!(page.contains("Snippet missing since 11 March 2026. The site redirects"), "{page}");
}

#[tokio::test]
async fn a_check_on_request_counts_at_once_and_causes_no_mail() {
    let looks = Looks::new().await;
    let pixel = looks.installed("shop.example").await;
    let page = tag(&looks.app, &pixel);
    let console = looks.console().await;
    let mut browser = console.browser_of(&looks.ann.key).await;
    assert!(browser.page("/console").await.contains("Installed since 10 March 2026"));
    looks.app.clock.advance(Duration::hours(1));
    looks.shows("shop.example", "");
    check(&looks.app, &looks.ann.key, &pixel).await.expect(200);
    let sites = browser.page("/console").await;
    assert!(sites.contains("Snippet missing since today<"), "{sites}");
    let state = looks.day(&pixel).await;
    assert_eq!(state["install_status"], "not_installed");
    assert!(browser.page("/console").await.contains("Snippet missing since yesterday"));
    looks.shows("shop.example", &page);
    assert_eq!(looks.day(&pixel).await["install_status"], "installed");
    assert!(looks.mails().is_empty());
}

#[tokio::test]
async fn two_nodes_check_once_a_day() {
    let hosts = ["a.example", "b.example", "c.example"];
    let looks = Looks::of(&hosts, &[]).await;
    let _other = looks.another_node().await;
    let mut pixels = Vec::new();
    for host in hosts {
        pixels.push(looks.installed(host).await);
    }
    looks.shows("a.example", "");
    for days in 1..=3 {
        for pixel in &pixels[..1] {
            looks.day(pixel).await;
        }
        wait_until("all are looked at", async || {
            hosts.iter().all(|host| looks.looks_at(host) > days)
        })
        .await;
        rounds().await;
        assert_eq!(hosts.map(|host| looks.looks_at(host)), [days + 1; 3]);
    }
    wait_until("the mail", async || !looks.mails().is_empty()).await;
    assert_eq!(looks.mails().len(), 1);
}

#[tokio::test]
async fn a_pixel_renamed_or_deleted_during_its_check_gets_no_result() {
    let looks = Looks::of(&["moved.example", "gone.example"], &[]).await;
    let (moved, gone) =
        (looks.installed("moved.example").await, looks.installed("gone.example").await);
    for host in ["moved.example", "gone.example"] {
        let late = Reply::late(RealTime::from_secs(3), Reply::page(""));
        looks.site.answer(&format!("{host}/"), late);
    }
    looks.app.clock.advance(Duration::days(1));
    let both = async || looks.looks_at("moved.example") + looks.looks_at("gone.example") == 4;
    wait_until("both looks have begun", both).await;
    for pixel in [&moved, &gone] {
        set_install_status(&looks.app, pixel, "not_checked").await;
    }
    let path = |pixel: &str| format!("/v1/pixels/{pixel}");
    let key = &looks.ann.key;
    let new = json!({"domain": "new.example"});
    looks.app.call(Method::PATCH, &path(&moved), key, new).await.expect(200);
    looks.app.call(Method::DELETE, &path(&gone), key, Value::Null).await.expect(204);
    // The checks that are under way end within this time.
    tokio::time::sleep(RealTime::from_secs(4)).await;
    let state = looks.state(&moved).await;
    assert_eq!([&state["domain"], &state["install_status"]], ["new.example", "not_checked"]);
    assert_eq!([&state["checked_at"], &state["missing_since"]], [&Value::Null; 2]);
    let left =
        sqlx::query_scalar::<_, i64>("SELECT count(*) FROM install_looks WHERE pixel_id = $1");
    assert_eq!(left.bind(&gone).fetch_one(&looks.app.pool).await.unwrap(), 0);
}

#[tokio::test]
async fn installations_of_an_older_version_are_checked_within_a_day() {
    let looks = Looks::new().await;
    let pixel = looks.installed("shop.example").await;
    sqlx::query("DELETE FROM install_looks").execute(&looks.app.pool).await.unwrap();
    looks.app.clock.advance(Duration::hours(1));
    let planned = async || {
        let query = "SELECT next_look_at - $1 FROM install_looks";
        let wait = sqlx::query_scalar::<_, sqlx::postgres::types::PgInterval>(query)
            .bind(looks.app.clock.now());
        wait.fetch_optional(&looks.app.pool).await.unwrap()
    };
    wait_until("it is planned", async || planned().await.is_some()).await;
    let wait = planned().await.unwrap();
    assert_eq!(wait.days, 0);
    assert!((0..86_400_000_000).contains(&wait.microseconds), "{wait:?}");
    assert_eq!(looks.day(&pixel).await["installed_since"], "2026-03-10T12:00:00.000Z");
    assert_eq!(looks.looks_at("shop.example"), 2);
}

#[tokio::test]
async fn without_the_setting_there_are_no_scheduled_checks() {
    let off = Looks::of(&["off.example"], &[("INSTALL_CHECK", "off")]).await;
    let unseen = off.app.pixel(&off.ann.key, "off.example").await;
    set_install_status(&off.app, &unseen, "installed").await;
    let looks = Looks::of(&["demo.example", "held.example", "shop.example"], &[]).await;
    let demo = demo_pixel(&looks.app, "demo.example").await;
    set_install_status(&looks.app, &demo, "installed").await;
    let pixel = looks.installed("shop.example").await;
    let bob = looks.app.mailed_account(&fresh_address("bob")).await;
    let held = looks.app.pixel(&bob.key, "held.example").await;
    looks.shows("held.example", &held);
    check(&looks.app, &bob.key, &held).await.expect(200);
    sqlx::query("UPDATE accounts SET status = 'suspended' WHERE account_id = $1")
        .bind(&bob.account_id)
        .execute(&looks.app.pool)
        .await
        .unwrap();
    for _ in 0..4 {
        looks.day(&pixel).await;
        off.app.clock.advance(Duration::days(1));
    }
    rounds().await;
    assert_eq!([looks.looks_at("demo.example"), looks.looks_at("held.example")], [0, 1]);
    assert!(off.site.seen().is_empty());
    assert_eq!(off.state(&unseen).await["install_status"], "installed");
}

#[tokio::test]
async fn scheduled_checks_leave_capacity_for_requested_checks() {
    let hosts = (0..12).map(|number| format!("slow-{number}.example")).collect::<Vec<_>>();
    let hosts = hosts.iter().map(String::as_str).chain(["shop.example"]).collect::<Vec<_>>();
    let looks = Looks::of(&hosts, &[]).await;
    let operator = looks.app.mailed_account(&fresh_address("operator")).await;
    set_plan(&looks.app, &operator.account_id, "unlimited").await;
    for host in &hosts[..12] {
        let pixel = looks.app.pixel(&operator.key, host).await;
        looks.shows(host, &pixel);
        installed(&check(&looks.app, &operator.key, &pixel).await.expect(200));
        looks
            .site
            .answer(&format!("{host}/"), Reply::late(RealTime::from_secs(4), Reply::page("")));
    }
    let before = looks.site.seen().len();
    looks.app.clock.advance(Duration::days(1));
    wait_until("looks have begun", async || looks.site.seen().len() >= before + 4).await;
    let pixel = looks.app.pixel(&looks.ann.key, "shop.example").await;
    looks.shows("shop.example", &pixel);
    for _ in 0..4 {
        installed(&check(&looks.app, &looks.ann.key, &pixel).await.expect(200));
    }
    wait_until("all are looked at", async || looks.site.seen().len() == before + 12 + 4).await;
}
