//! Disputes between two accounts over a host: what counts as evidence, and what does not.

use chrono::Duration;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::setup::create_host;
use crate::support::sites::claims::{HOST, Opened, Scene, claim, tag, verify};
use crate::support::sites::install::{check, installed};
use crate::support::{Account, App, MailServer, fresh_address};

/// Sends everything that can be sent for a pixel without access to the site.
async fn forge_use(app: &App, key: &str, pixel: &str, number: usize) {
    let visitor = format!("visitor-{number}");
    let url = format!("https://{HOST}/");
    let configuration = format!("/v1/pixels/{pixel}/consent/configuration");
    let settings = app.call(Method::GET, &configuration, key, Value::Null).await;
    let hash = settings.json()["versions"][0]["policy_hash"].clone();
    for state in ["accepted", "declined", "withdrawn"] {
        let body = json!({"pixel_id": pixel, "visitor_id": visitor, "consent": state, "url": url,
                          "affirmative": true, "policy_version_hash": hash,
                          "purposes": ["resolution"]});
        app.record(&body).await;
    }
    let body = json!({"pixel_id": pixel, "visitor_id": visitor, "url": url});
    app.post("/v1/consent/shown", body).await;
    app.get(&format!("/px/{pixel}.js")).await;
    app.get(&format!("/pixels/{pixel}/p.js")).await;
    app.get(&format!("/external_api/install-pixel/tag-pixel?pid={pixel}&host={HOST}")).await;
    app.store(key, pixel, json!([{"hem": "a".repeat(64), "contact": {"n": number}}])).await;
}

/// An account without a right to the host that tries to keep it by all means.
struct Squatter<'a> {
    app: &'a App,
    account: &'a Account,
    /// A second account of the same person.
    helper: &'a Account,
    pixel: String,
}

impl Squatter<'_> {
    async fn take(&mut self) {
        let made = create_host(self.app, &self.account.key, HOST).await;
        if made.status == 201 {
            self.pixel = made.json()["pixel_id"].as_str().unwrap().to_owned();
            let body = json!({"controller_name": "Squatter", "purposes": ["resolution"]});
            self.app.configure(&self.account.key, &self.pixel, body).await.expect(200);
        }
    }

    async fn act(&mut self, day: usize) {
        let path = format!("/v1/pixels/{}", self.pixel);
        let key = &self.account.key;
        if day % 5 == 2 {
            let away = json!({"domain": "elsewhere.example"});
            self.app.call(Method::PATCH, &path, key, away).await;
            self.app.call(Method::PATCH, &path, key, json!({"domain": HOST})).await;
        }
        if day % 7 == 3 {
            self.app.call(Method::DELETE, &path, key, Value::Null).await;
        }
        self.take().await;
        forge_use(self.app, key, &self.pixel, day).await;
        check(self.app, key, &self.pixel).await;
        claim(self.app, self.account, HOST).await;
        let opened = claim(self.app, self.helper, HOST).await;
        let token = opened.json()["token"].as_str().unwrap_or("none").to_owned();
        let flood = (0..8).map(|_| verify(self.app, self.helper, &token));
        let answers = futures_util::future::join_all(flood).await;
        assert!(answers.iter().all(|answer| answer.status != 200), "{answers:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_owner_with_the_dns_gets_the_host_at_any_time_whatever_a_squatter_sends() {
    let scene = Scene::with(&[("RATE_LIMITS", "on")]).await;
    let Scene { app, owner, stranger, .. } = &scene;
    let helper = app.mailed_account(&fresh_address("helper")).await;
    scene.shows("<html><body>The owner's page</body></html>");
    let pixel = scene.pixel.clone();
    let mut squatter = Squatter { app, account: stranger, helper: &helper, pixel };
    for day in 0..36 {
        squatter.act(day).await;
        if day % 6 == 5 || day == 0 {
            let begun = app.clock.now();
            let opened = scene.opened(owner).await;
            // Requests between the claim and its proof have no effect either.
            squatter.act(day).await;
            app.clock.advance(Duration::seconds(20));
            scene.publish(&opened.token);
            let taken = scene.verify(owner, &opened.token).await.expect(200);
            assert_eq!(taken["domain"], HOST, "day {day}");
            assert!(app.clock.now() - begun < Duration::minutes(5));
            create_host(app, &stranger.key, HOST).await.refused(409, "domain already registered");
            // The owner deletes its pixel, and the squatter takes the host immediately.
            scene.unpublish();
            let path = format!("/v1/pixels/{}", opened.pixel);
            app.call(Method::DELETE, &path, &owner.key, Value::Null).await.expect(204);
            squatter.take().await;
        }
        app.clock.advance(Duration::days(1));
    }
}

#[tokio::test]
async fn forgeable_requests_of_an_unconfirmed_pixel_count_against_no_proof() {
    for by_dns in [true, false] {
        let scene = Scene::new().await;
        let Scene { app, owner, stranger, pixel, .. } = &scene;
        app.consent_site(&stranger.key, HOST).await;
        let opened = scene.opened(owner).await;
        forge_use(app, &stranger.key, pixel, 1).await;
        assert_eq!(app.log(&stranger.key, pixel).await.len(), 3, "the choices were recorded");
        let again = scene.opened(owner).await;
        assert_eq!(again.pixel, opened.pixel, "a claim is open to whoever asks");
        match by_dns {
            true => scene.publish(&again.token),
            false => scene.shows(&again.snippet),
        }
        scene.verify(owner, &again.token).await.expect(200);
        let mails = MailServer::shared().wait_for(&stranger.email, 2).await;
        assert_eq!(mails[1].subject(), "shop.example was moved to another account");
    }
}

#[tokio::test]
async fn text_on_the_page_confirms_no_pixel() {
    let scene = Scene::new().await;
    let Scene { app, owner, stranger, pixel, .. } = &scene;
    app.consent_site(&stranger.key, HOST).await;
    for words in [
        pixel.clone(),
        format!("<p title='{}'>", tag(app, pixel)),
        format!("<script>var comment = '{}", tag(app, pixel).replace("</", "<\\/")),
        format!("<textarea>{}</textarea>", tag(app, pixel)),
    ] {
        scene.shows(&words);
        installed(&check(app, &stranger.key, pixel).await.expect(200));
    }
    forge_use(app, &stranger.key, pixel, 1).await;
    let opened = scene.opened(owner).await;
    scene.shows(&opened.snippet);
    scene.verify(owner, &opened.token).await.expect(200);
}

#[tokio::test]
async fn visits_of_a_confirmed_pixel_count_against_a_line_on_the_page_and_not_against_the_dns() {
    let scene = Scene::new().await;
    let Scene { app, owner, stranger, pixel, .. } = &scene;
    app.consent_site(&stranger.key, HOST).await;
    scene.shows(&tag(app, pixel));
    installed(&check(app, &stranger.key, pixel).await.expect(200));
    app.clock.advance(Duration::days(40));
    forge_use(app, &stranger.key, pixel, 1).await;
    scene.shows("");
    let opened = scene.opened(owner).await;
    scene.shows(&opened.snippet);
    scene.verify(owner, &opened.token).await.refused(409, "that pixel is working");
    app.clock.advance(Duration::days(1));
    scene.publish(&opened.token);
    scene.verify(owner, &opened.token).await.expect(200);
}

#[tokio::test]
async fn a_confirmed_pixel_without_visits_loses_to_a_page_proof_after_thirty_days() {
    let scene = Scene::new().await;
    let Scene { app, owner, stranger, pixel, .. } = &scene;
    scene.shows(&tag(app, pixel));
    installed(&check(app, &stranger.key, pixel).await.expect(200));
    let opened = async || {
        scene.shows("");
        let opened = scene.opened(owner).await;
        scene.shows(&opened.snippet);
        opened
    };
    app.clock.advance(Duration::days(29));
    let early = opened().await;
    scene.verify(owner, &early.token).await.refused(409, "that pixel is working");
    app.clock.advance(Duration::days(1) + Duration::seconds(1));
    let late = opened().await;
    scene.verify(owner, &late.token).await.expect(200);
}

#[tokio::test]
async fn a_pixel_is_confirmed_at_one_host_alone() {
    let scene = Scene::new().await;
    let Scene { app, owner, stranger, pixel, .. } = &scene;
    app.consent_site(&stranger.key, HOST).await;
    scene.shows(&tag(app, pixel));
    installed(&check(app, &stranger.key, pixel).await.expect(200));
    scene.shows("");
    check(app, &stranger.key, pixel).await.expect(200);
    let path = format!("/v1/pixels/{pixel}");
    for host in ["elsewhere.example", HOST] {
        let new = json!({"domain": host});
        app.call(Method::PATCH, &path, &stranger.key, new).await.expect(200);
    }
    forge_use(app, &stranger.key, pixel, 1).await;
    let opened = scene.opened(owner).await;
    scene.shows(&opened.snippet);
    scene.verify(owner, &opened.token).await.expect(200);
}

#[tokio::test]
async fn a_host_won_by_dns_is_kept_while_the_record_exists() {
    let scene = Scene::new().await;
    let Scene { app, owner, .. } = &scene;
    let rival = app.mailed_account(&fresh_address("rival")).await;
    let opened = scene.opened(owner).await;
    scene.publish(&opened.token);
    scene.verify(owner, &opened.token).await.expect(200);
    // The claim itself was deleted, and nobody has visited the site.
    app.clock.advance(Duration::days(60));
    let theirs = Opened::of(&claim(app, &rival, HOST).await.expect(201));
    scene.verify(&rival, &theirs.token).await.refused(409, "claim not proven");
    scene.shows(&theirs.snippet);
    scene.verify(&rival, &theirs.token).await.refused(409, "that pixel is working");
    scene.publish(&theirs.token);
    scene.verify(&rival, &theirs.token).await.refused(409, "that pixel is working");
    // The site is sold: its new owner removes the old record.
    scene.unpublish();
    scene.publish(&theirs.token);
    scene.verify(&rival, &theirs.token).await.expect(200);
}

#[tokio::test]
async fn a_claim_is_proven_by_a_running_script_and_not_by_text() {
    let scene = Scene::new().await;
    let Scene { app, owner, .. } = &scene;
    let opened = scene.opened(owner).await;
    let line = opened.snippet.replace('"', "");
    for page in [
        "<!-- LINE -->",
        "<!-- <!-- --> --!> <textarea>LINE</textarea>",
        "<title>LINE</title>",
        "<style>/* LINE */</style>",
        "<noscript>LINE</noscript>",
        "<template>LINE</template>",
        "<iframe srcdoc=\"LINE\"></iframe>",
        "<p title=\"LINE\">a</p>",
        "<script>var reviews = [{\"text\": \"LINE",
        "<script type=application/ld+json>{\"review\": \"LINE",
        "<script src=/theme.js data-comment=\"LINE\"></script>",
        "<svg><style><a title=\"</style>LINE\"></a></style></svg>",
        "<xmp>LINE</xmp>",
        "<plaintext>LINE",
    ] {
        scene.shows(&page.replace("LINE", &line));
        let answer = scene.verify(owner, &opened.token).await;
        assert_eq!(answer.status, 409, "{page}");
        answer.refused(409, "claim not proven");
    }
    let address = format!("{}/px/{}.js", app.base, opened.pixel);
    for line in [
        "<script src=SRC.map></script>",
        "<script src=/px/ID.js></script>",
        "<script src=https://other.example/px/ID.js></script>",
        "<script src=https://other.example/a.js data-pixel=ID></script>",
        "<script type=text/plain src=SRC></script>",
        "<script nomodule src=SRC></script>",
        "<script src=SRC>",
        "<script src=SRC x",
    ] {
        scene.shows(&line.replace("SRC", &address).replace("ID", &opened.pixel));
        let answer = scene.verify(owner, &opened.token).await;
        assert_eq!(answer.status, 409, "{line}");
    }
    scene.shows(&format!("<script src={address} async></script>"));
    scene.verify(owner, &opened.token).await.expect(200);
}
