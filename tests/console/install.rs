//! Snippet, install check and removal of a site in the console.

use reqwest::Method;
use serde_json::json;

use crate::support::console::{Browser, leads_to};
use crate::support::setup::set_install_status;
use crate::support::sites::https_site::Reply;
use crate::support::sites::install::Scene;
use crate::support::{App, MailServer, fresh_address};

#[tokio::test]
async fn an_install_check_shows_its_result_and_a_remedy() {
    let scene = Scene::new().await;
    let mut browser = scene.app.browser_of(&scene.ann.key).await;
    let address = format!("/console/sites/{}/install", scene.pixel);
    let check = format!("/console/sites/{}/check", scene.pixel);
    let line = format!("<script src={}/pixel.js data-pixel={}>", scene.app.base, scene.pixel);
    let first = browser.page(&address).await;
    assert!(first.contains("Not verified") && first.contains("The popup is off"), "{first}");
    for (reply, state, cure) in [
        (Reply::page("nothing"), "Snippet not found on 10 March 2026", "save and publish"),
        (Reply::status(503), "could not be read on 10 March 2026", "opens in a browser"),
        (Reply::page(&*line), "Installed since 10 March 2026", "No problems found."),
    ] {
        scene.site.answer("shop.example/", reply);
        let checked = browser.submit(&address, &check, &[]).await;
        leads_to(&checked, &format!("{address}#state"));
        let page = browser.page(&address).await;
        assert!(page.contains(state) && page.contains(cure), "{page}");
    }
}

#[tokio::test]
async fn the_package_of_an_ecosystem_comes_before_the_snippet() {
    let scene = Scene::new().await;
    let mut browser = scene.app.browser_of(&scene.ann.key).await;
    let (pixel, base) = (&scene.pixel, &scene.app.base);
    let address = format!("/console/sites/{pixel}/install");
    let off = browser.page(&format!("{address}?with=next")).await;
    assert!(off.contains("The popup is off") && off.contains("another consent tool"), "{off}");
    assert!(!off.contains("Snippet to paste instead"), "{off}");
    let policy = json!({"controller_name": "Shop", "purposes": ["analytics"]});
    let consent = format!("/v1/pixels/{pixel}/consent");
    scene.app.call(Method::POST, &consent, &scene.ann.key, policy).await.expect(200);
    let tag = format!("{base}/px/{pixel}.js");
    for (name, file) in [
        ("wordpress", "assent-consent-wordpress-1.0.0.zip"),
        ("react", "./assent-web-1.0.0.tgz"),
        ("next", "@assent/web/next"),
        ("vue", "@assent/web/vue"),
        ("nuxt", "@assent/web/nuxt"),
        ("svelte", "@assent/web/svelte"),
        ("astro", "@assent/web/astro"),
        ("python", "./assent_consent-1.0.0-py3-none-any.whl"),
        ("php", "assent-1.0.0.php"),
    ] {
        let page = browser.page(&format!("{address}?with={name}#line")).await;
        let offset_of = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text} in {page}"));
        assert!(offset_of(file) < offset_of(&tag.replace('/', "&#x2F;")), "{name}: {page}");
        let current = format!("<a href=\"?with={name}#line\" aria-current=\"true\">");
        assert!(page.contains(&current), "{name}: {page}");
        assert!(!page.contains("PIXEL_ID"), "{name}: {page}");
        let steps = page.split("class=\"package\"").nth(1).expect("steps");
        let (steps, _) = steps.split_once("only if they say that it is theirs").expect("a caution");
        assert!(name == "wordpress" || steps.contains(&**pixel), "{name}: {steps}");
        let pastes = ["python", "php"].contains(&name);
        assert_eq!(page.contains("Snippet to paste instead"), !pastes, "{name}: {page}");
    }
    for none in ["", "?with=", "?with=nothing", "?with=<b>"] {
        let page = browser.page(&format!("{address}{none}")).await;
        assert!(!page.contains("class=\"package\"") && !page.contains("<b>"), "{none}: {page}");
        assert!(page.contains("<a href=\"?#line\" aria-current=\"true\">"), "{none}: {page}");
    }
}

#[tokio::test]
async fn a_policy_that_blocks_an_installed_tag_is_red_wherever_the_state_is_shown() {
    let scene = Scene::new().await;
    let mut browser = scene.app.browser_of(&scene.ann.key).await;
    let address = format!("/console/sites/{}/install", scene.pixel);
    let check = format!("/console/sites/{}/check", scene.pixel);
    let line = format!("<script src={}/pixel.js data-pixel={}>", scene.app.base, scene.pixel);
    let policy = "Content-Security-Policy: script-src 'self'\r\n".to_owned();
    for (headers, tone, state) in [
        (
            policy,
            "bad",
            "Installed, but with a problem. The site&#x27;s Content-Security-Policy blocks the tag",
        ),
        (String::new(), "good", "Installed since 10 March 2026"),
    ] {
        scene.site.answer("shop.example/", Reply::Whole(200, headers, line.clone().into()));
        browser.submit(&address, &check, &[]).await;
        for screen in [&*address, "/console"] {
            let page = browser.page(screen).await;
            assert!(page.contains(&format!("<span class=\"dot {tone}\"")), "{screen}: {page}");
            assert!(page.contains(state), "{screen}: {page}");
        }
    }
}

#[tokio::test]
async fn findings_are_listed_with_remedies_errors_first() {
    let scene = Scene::new().await;
    let mut browser = scene.app.browser_of(&scene.ann.key).await;
    let address = format!("/console/sites/{}/install", scene.pixel);
    let check = format!("/console/sites/{}/check", scene.pixel);
    let head = "<script src=https://www.googletagmanager.com/gtm.js?id=1></script>";
    let lines = "Content-Security-Policy: connect-src 'self'\r\n".to_owned();
    scene.site.answer("shop.example/", Reply::Whole(200, lines, head.into()));
    browser.submit(&address, &check, &[]).await;
    let page = browser.page(&address).await;
    let offset_of = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text} in {page}"));
    let offsets = [
        "Results of 10 March 2026, 12:00 UTC",
        "The snippet was not found on the page.",
        "Paste the snippet before &lt;&#x2F;head&gt;",
        "blocks the requests with which the tag sends choices",
        "to connect-src of the policy",
        "Google Tag Manager is on the page and may load the tag",
    ]
    .map(offset_of);
    assert!(offsets.is_sorted(), "{offsets:?}");
    assert!(!page.contains("Nothing is in its way"), "{page}");
    // Later it still stands there, until somebody looks again.
    scene.app.clock.advance(chrono::Duration::days(2));
    assert!(browser.page(&address).await.contains("Results of 10 March 2026, 12:00 UTC"));
    scene.site.answer("shop.example/", Reply::status(500));
    browser.submit(&address, &check, &[]).await;
    let page = browser.page(&address).await;
    assert!(page.contains("12 March 2026") && !page.contains("Google Tag Manager"), "{page}");
}

#[tokio::test]
async fn without_install_checks_the_screen_says_so() {
    let app = App::spawn_with(&[("INSTALL_CHECK", "off")]).await;
    let ann = app.account("ann@example.com").await;
    let pixel = app.pixel(&ann.key, "shop.example").await;
    let mut browser = app.browser_of(&ann.key).await;
    let address = format!("/console/sites/{pixel}/install");
    let refused = browser.submit(&address, &format!("/console/sites/{pixel}/check"), &[]).await;
    assert_eq!(refused.status, 500);
    assert!(
        refused.text.contains("Verification is turned off by the operator"),
        "{}",
        refused.text
    );
}

#[tokio::test]
async fn the_line_is_that_of_the_popup_once_it_asks_and_fits_into_a_mail() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let site = app.consent_site(&ann.key, "shop.example").await;
    let mut browser = app.browser_of(&ann.key).await;
    let page = browser.page(&format!("/console/sites/{}/install", site.pixel_id)).await;
    assert!(page.contains(&format!("px&#x2F;{}.js", site.pixel_id)), "{page}");
    assert!(!page.contains("The popup is off"), "{page}");
    let mail = page.split_once("href=\"mailto:").unwrap().1.split('"').next().unwrap();
    assert!(mail.contains("subject=Snippet%20for%20shop.example"), "{mail}");
    assert!(mail.contains("%3Cscript%20async") && !mail.contains('+'), "{mail}");
}

#[tokio::test]
async fn the_line_is_mailed_to_a_developer() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let site = app.consent_site(&ann.key, "shop.example").await;
    let mut browser = Browser::new(&app);
    browser.sign_in(&ann.email).await;
    let address = format!("/console/sites/{}/install", site.pixel_id);
    let form = format!("/console/sites/{}/mail", site.pixel_id);
    let wrong = browser.submit(&address, &form, &[("email", "nobody")]).await;
    assert_eq!(wrong.status, 400);
    assert!(wrong.text.contains("This is not an email address"), "{}", wrong.text);
    let developer = fresh_address("developer");
    let sent = browser.submit(&address, &form, &[("email", &developer)]).await;
    leads_to(&sent, &format!("{address}?done=mailed"));
    assert!(browser.page(&format!("{address}?done=mailed")).await.contains("has been sent to the"));
    let mail = MailServer::shared().newest(&developer).await;
    assert!(mail.text().contains(&format!("/px/{}.js", site.pixel_id)), "{}", mail.text());
    let again = browser.submit(&address, &form, &[("email", &developer)]).await;
    assert_eq!(again.status, 429);
    assert!(again.text.contains("Try again ten minutes after that"), "{}", again.text);
    assert_eq!(MailServer::shared().inbox(&developer).len(), 1);
}

#[tokio::test]
async fn a_site_is_removed_by_its_name_and_not_while_it_is_installed() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let pixel = app.pixel(&ann.key, "shop.example").await;
    let mut browser = app.browser_of(&ann.key).await;
    let address = format!("/console/sites/{pixel}/remove");
    for name in ["", "shop", "other.example"] {
        let again = browser.submit(&address, &address, &[("host", name)]).await;
        assert_eq!(again.status, 400);
        assert!(again.text.contains("Type shop.example to remove it."), "{}", again.text);
    }
    set_install_status(&app, &pixel, "installed").await;
    let page = browser.page(&address).await;
    assert!(page.contains("still on the site") && !page.contains("name=\"host\""), "{page}");
    set_install_status(&app, &pixel, "not_installed").await;
    let removed = browser.submit(&address, &address, &[("host", "Shop.Example")]).await;
    leads_to(&removed, "/console?done=removed");
    let page = browser.page("/console?done=removed").await;
    assert!(page.contains("The site was removed") && !page.contains("/install\""), "{page}");
}

#[tokio::test]
async fn the_screens_of_anothers_site_are_not_there() {
    let app = App::spawn().await;
    let [ann, eve] = [app.account("ann@example.com").await, app.account("eve@example.com").await];
    let site = app.consent_site(&ann.key, "shop.example").await;
    let own = app.consent_site(&eve.key, "eve.example").await;
    let mut browser = app.browser_of(&eve.key).await;
    let own_page = format!("/console/sites/{}/install", own.pixel_id);
    let base = format!("/console/sites/{}", site.pixel_id);
    let popup = ["popup", "popup/versions", "popup/preview", "popup/screenshots"];
    for screen in ["install", "test", "remove", "watch"].into_iter().chain(popup) {
        let refused = browser.get(&format!("{base}/{screen}")).await;
        assert_eq!(refused.status, 404, "{screen}");
        assert!(!refused.text.contains("shop.example"), "{}", refused.text);
    }
    for form in ["check", "mail", "remove", "popup", "popup/off", "test", "watch"] {
        let fields = [
            ("test_hosts", "x.example"),
            ("host", "shop.example"),
            ("email", "eve@example.com"),
            ("controller_name", "Eve"),
            ("purpose_analytics", "on"),
            ("incomplete", "on"),
            ("step", "publish"),
        ];
        let refused = browser.submit(&own_page, &format!("{base}/{form}"), &fields).await;
        assert_eq!(refused.status, 404, "{form}");
    }
    let path = format!("/v1/pixels/{}", site.pixel_id);
    let still = app.call(Method::GET, &path, &ann.key, serde_json::Value::Null).await.expect(200);
    assert_eq!(still["consent_enabled"], true);
    assert_eq!(browser.get("/console/sites/%00/install").await.status, 404);
}
