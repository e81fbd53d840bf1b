//! Findings of an install check besides the tag, and their sentences.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::setup::aliases;
use crate::support::sites::https_site::Reply;
use crate::support::sites::install::{Scene, check, installed, not_installed};

/// A site whose visitors are to be asked.
pub struct Asking {
    pub scene: Scene,
    /// The tag that asks.
    pub tag: String,
    /// The tag that does not.
    pub immediate: String,
}

impl Asking {
    pub async fn new() -> Self {
        let scene = Scene::new().await;
        let body = json!({"controller_name": "Shop Ltd", "purposes": ["resolution"]});
        scene.app.configure(&scene.ann.key, &scene.pixel, body).await.expect(200);
        let (base, id) = (&scene.app.base, &scene.pixel);
        Self {
            tag: format!("<script async src=\"{base}/px/{id}.js\"></script>"),
            immediate: format!(
                "<script async src=\"{base}/pixel.js\" data-pixel=\"{id}\"></script>"
            ),
            scene,
        }
    }

    /// The answer to a check of this page.
    pub async fn check(&self, head: &str) -> Value {
        self.scene.check_home(Reply::page(page(head))).await
    }

    /// The kinds of what is found on this page.
    pub async fn kinds(&self, head: &str) -> Vec<String> {
        kinds(&self.check(head).await)
    }

    /// The kinds of what is found on this page that comes with a policy.
    pub async fn kinds_under(&self, policy: &str, head: &str) -> Vec<String> {
        let lines = format!("Content-Security-Policy: {policy}\r\n");
        let reply = Reply::Whole(200, lines, page(head).into_bytes());
        kinds(&self.scene.check_home(reply).await)
    }
}

fn page(head: &str) -> String {
    format!(
        "<!doctype html><html><head><title>Shop</title>{head}</head><body><p>Hello</body></html>"
    )
}

pub fn findings(checked: &Value) -> &Vec<Value> {
    checked["findings"].as_array().expect("findings")
}

pub fn kinds(checked: &Value) -> Vec<String> {
    let kinds = findings(checked).iter().map(|finding| finding["kind"].as_str().unwrap());
    kinds.map(str::to_owned).collect()
}

/// The sentences of the finding of a kind.
fn said(checked: &Value, kind: &str) -> String {
    let finding = findings(checked).iter().find(|finding| finding["kind"] == kind);
    let finding = finding.unwrap_or_else(|| panic!("no {kind} in {checked}"));
    format!("{} {}", finding["found"].as_str().unwrap(), finding["cure"].as_str().unwrap())
}

#[tokio::test]
async fn a_clean_page_has_no_findings() {
    let asking = Asking::new().await;
    let alias = aliases(&asking.scene.app, &asking.scene.pixel).await.remove(0);
    let by_alias = format!("<script async src='{}/px/{alias}.js'></script>", asking.scene.app.base);
    let quiet = "<script src=/shop.js></script><script>shop()</script><link rel=icon href=/i.png>\
                 <script type=application/ld+json>{\"a\":\"https://connect.facebook.net/x\"}</script>";
    for head in [asking.tag.clone(), by_alias, format!("{quiet}{}", asking.tag)] {
        let checked = asking.check(&head).await;
        installed(&checked);
        assert_eq!(checked["findings"], json!([]), "{head}");
        assert_eq!(checked["installed_since"], "2026-03-10T12:00:00.000Z");
    }
}

#[tokio::test]
async fn a_finding_says_what_was_found_and_what_helps() {
    let asking = Asking::new().await;
    let checked = asking.check("").await;
    not_installed(&checked);
    assert_eq!(
        checked["findings"],
        json!([{
            "kind": "no_tag",
            "severity": "error",
            "found": "The snippet was not found on the page.",
            "cure": "Paste the snippet before </head>, save and publish. Caches may serve the old page for some minutes.",
        }])
    );
    assert_eq!(checked["installed_since"], Value::Null);
}

#[tokio::test]
async fn a_tag_that_is_not_where_it_runs_is_found_there() {
    let asking = Asking::new().await;
    let Asking { tag, scene, .. } = &asking;
    let text = tag.replace('<', "&lt;").replace('>', "&gt;");
    let loader = format!("<script>load('{}/px/{}.js')</script>", scene.app.base, scene.pixel);
    for (head, found) in [
        (format!("<!-- {tag} -->"), vec!["tag_in_comment"]),
        (format!("<p>{text}</p>"), vec!["tag_as_text"]),
        (format!("<p>{}</p>", scene.pixel), vec!["tag_as_text"]),
        (format!("<noscript>{tag}</noscript>"), vec!["tag_disabled"]),
        (format!("<template>{tag}</template>"), vec!["tag_disabled"]),
        (tag.replace("async", "type=text/plain"), vec!["tag_disabled"]),
        (loader, vec![]),
    ] {
        assert_eq!(asking.kinds(&head).await, found, "{head}");
    }
}

#[tokio::test]
async fn the_test_tag_on_the_live_site_is_not_the_sites_tag() {
    let asking = Asking::new().await;
    let test_tag = asking.tag.replace("/px/", "/px/test_");
    let checked = asking.check(&test_tag).await;
    not_installed(&checked);
    assert_eq!(kinds(&checked), ["wrong_pixel"]);
    assert!(said(&checked, "wrong_pixel").contains(&format!("test_{}", asking.scene.pixel)));
}

#[tokio::test]
async fn a_wrong_pixel_is_named_and_a_strangers_words_are_not() {
    let asking = Asking::new().await;
    let base = &asking.scene.app.base;
    let other = format!("<script src=\"{base}/px/OTHER_pixel-1.js\"></script>");
    let checked = asking.check(&other).await;
    not_installed(&checked);
    assert_eq!(kinds(&checked), ["wrong_pixel"]);
    assert!(said(&checked, "wrong_pixel").contains("its id is OTHER_pixel-1."), "{checked}");
    let checked = asking.check(&format!("{other}{}", asking.tag)).await;
    assert_eq!(kinds(&checked), ["two_pixels"]);
    assert!(said(&checked, "two_pixels").contains("OTHER_pixel-1"), "{checked}");
    for odd in ["&lt;b>hello", "call us now", &"x".repeat(500)] {
        let tag = format!("<script src='{base}/pixel.js' data-pixel='{odd}'></script>");
        let checked = asking.check(&tag).await;
        assert!(said(&checked, "wrong_pixel").contains("its id is unknown here"), "{checked}");
    }
    let elsewhere = other.replace(base.as_str(), "https://other.example");
    assert_eq!(asking.kinds(&elsewhere).await, ["no_tag"], "another service's");
}

#[tokio::test]
async fn a_tag_that_is_there_twice_is_found() {
    let asking = Asking::new().await;
    let alias = aliases(&asking.scene.app, &asking.scene.pixel).await.remove(0);
    let base = &asking.scene.app.base;
    let by_alias = format!("{}<script src={base}/px/{alias}.js></script>", asking.tag);
    for head in [asking.tag.repeat(2), asking.tag.repeat(40), by_alias] {
        assert_eq!(asking.kinds(&head).await, ["tag_twice"]);
    }
    let hidden = format!("{0}<noscript>{0}</noscript><!-- {0} -->", asking.tag);
    assert_eq!(asking.kinds(&hidden).await, [""; 0]);
}

#[tokio::test]
async fn the_snippet_must_be_the_one_that_fits() {
    let asking = Asking::new().await;
    let Asking { tag, immediate, scene } = &asking;
    let beside = asking.check(&format!("{tag}{immediate}")).await;
    assert_eq!(kinds(&beside), ["immediate_snippet"]);
    assert!(
        said(&beside, "immediate_snippet").contains("The page has the snippet of the popup"),
        "{beside}"
    );
    let alone = asking.check(immediate).await;
    assert_eq!(kinds(&alone), ["immediate_snippet"]);
    assert!(said(&alone, "immediate_snippet").contains("without asking them"), "{alone}");
    let off = format!("/v1/pixels/{}/consent", scene.pixel);
    scene.app.call(Method::DELETE, &off, &scene.ann.key, Value::Null).await.expect(204);
    assert_eq!(asking.kinds(tag).await, ["popup_off"]);
    assert_eq!(asking.kinds(immediate).await, [""; 0]);
}

#[tokio::test]
async fn a_second_consent_tool_is_named() {
    let asking = Asking::new().await;
    for (address, name) in [
        ("https://cdn.cookielaw.org/scripttemplates/otSDKStub.js", "OneTrust"),
        ("https://consent.cookiebot.com/uc.js", "Cookiebot"),
        ("https://app.usercentrics.eu/browser-ui/latest/loader.js", "Usercentrics"),
        ("https://sdk.privacy-center.org/abc/loader.js", "Didomi"),
        ("https://cmp.quantcast.com/choice/abc/choice.js", "Quantcast Choice"),
        ("//consent.trustarc.com/notice?domain=x", "TrustArc"),
        ("https://cdn.iubenda.com/cs/iubenda_cs.js", "iubenda"),
        ("https://cdn.kiprotect.com/klaro/v0.7/klaro.js", "Klaro"),
        ("https://cmp.osano.com/a/b/osano.js", "Osano"),
        ("https://app.termly.io/embed.min.js", "Termly"),
        ("https://cdn-cookieyes.com/client_data/x/script.js", "CookieYes"),
        ("/wp-content/plugins/complianz-gdpr/cookiebanner/js/complianz.min.js", "Complianz"),
        ("/wp-content/plugins/borlabs-cookie/assets/javascript/borlabs.js", "Borlabs Cookie"),
        ("https://static.axept.io/sdk.js", "Axeptio"),
        ("https://cdn.privacy-mgmt.com/unified/wrapper.js", "Sourcepoint"),
    ] {
        let head = format!("{}<script src='{address}'></script>", asking.tag);
        let checked = asking.check(&head).await;
        assert_eq!(kinds(&checked), ["consent_tool"], "{address}");
        assert!(said(&checked, "consent_tool").contains(&format!(": {name}.")), "{checked}");
    }
}

#[tokio::test]
async fn a_policy_that_forbids_the_tag_is_found() {
    let asking = Asking::new().await;
    let (base, tag) = (&asking.scene.app.base, &asking.tag);
    let meta =
        |policy: &str| format!("<meta http-equiv=content-security-policy content=\"{policy}\">");
    let all = format!("script-src {base} https://tags.example; connect-src {base}");
    let (script, connection) = ("policy_forbids_script", "policy_forbids_connection");
    for (policy, found) in [
        (all.clone(), vec![]),
        ("default-src 'self'".to_owned(), vec![script, connection]),
        (format!("default-src 'self'; script-src {base} https://tags.example"), vec![connection]),
        (format!("script-src {base}"), vec![script]),
        ("connect-src 'self' https:".to_owned(), vec![connection]),
        ("img-src 'self'; frame-ancestors 'none'".to_owned(), vec![]),
        ("script-src 'nonce-abc' 'strict-dynamic'".to_owned(), vec![script]),
        (format!("{all}, script-src-elem 'self'"), vec![script]),
    ] {
        assert_eq!(asking.kinds_under(&policy, tag).await, found, "{policy}");
        let head = format!("{}{tag}", meta(&policy.replace('\'', "&#39;")));
        assert_eq!(asking.kinds(&head).await, found, "{policy}");
    }
    let strict = "script-src 'nonce-abc' 'strict-dynamic'";
    let with_nonce = tag.replace("async", "async nonce=abc");
    assert_eq!(asking.kinds_under(strict, &with_nonce).await, [""; 0]);
    // A policy behind the tag comes too late for it, and in the body it is none.
    assert_eq!(asking.kinds(&format!("{tag}{}", meta("script-src https:"))).await, [""; 0]);
    let in_body = format!("{tag}</head><body>{}", meta("default-src 'none'"));
    assert_eq!(asking.kinds(&in_body).await, [""; 0]);
    let lines = "Content-Security-Policy-Report-Only: default-src 'none'\r\n".to_owned();
    let reply = Reply::Whole(200, lines, page(tag).into_bytes());
    assert_eq!(kinds(&asking.scene.check_home(reply).await), [""; 0]);
    let before = asking.kinds_under("default-src 'self'", "").await;
    assert_eq!(before, ["no_tag", script, connection], "also before the tag is there");
}

#[tokio::test]
async fn the_remedy_for_a_content_security_policy_names_the_missing_sources() {
    let asking = Asking::new().await;
    let base = &asking.scene.app.base;
    let of = async |policy: &str| {
        let lines = format!("Content-Security-Policy: {policy}\r\n");
        let reply = Reply::Whole(200, lines, page(&asking.tag).into_bytes());
        asking.scene.check_home(reply).await
    };
    let closed = of("default-src 'self'").await;
    let script = said(&closed, "policy_forbids_script");
    assert!(script.contains(&format!("Add {base} to script-src")), "{script}");
    let connection = said(&closed, "policy_forbids_connection");
    assert!(connection.contains(&format!("Add {base} to connect-src")), "{connection}");
    let script = said(&of(&format!("script-src {base}")).await, "policy_forbids_script");
    assert!(script.contains("Add https://tags.example to script-src"), "{script}");
    let strict = of("script-src 'nonce-abc' 'strict-dynamic'").await;
    assert!(said(&strict, "policy_forbids_script").contains("nonce attribute"), "{strict}");
}

#[tokio::test]
async fn each_cause_of_delay_is_named_with_its_own_remedy() {
    let asking = Asking::new().await;
    for (attributes, name, cure) in [
        ("type=\"a1b2c3-text/javascript\" src", "Rocket Loader", "data-cfasync"),
        ("type=rocketlazyloadscript data-rocket-src", "WP Rocket", "Delay JavaScript"),
        ("type=litespeed/javascript data-src", "LiteSpeed", "data-no-optimize"),
        ("type=nitropack/inlinescript src", "NitroPack", "nitro-exclude"),
        ("data-type=lazy data-src", "Flying Scripts", "keywords"),
        ("type=pmdelayedscript src", "Perfmatters", "not delayed"),
    ] {
        let tag = asking.tag.replace("async src", attributes);
        let checked = asking.check(&tag).await;
        installed(&checked);
        assert_eq!(kinds(&checked), ["tag_delayed"], "{tag}");
        let said = said(&checked, "tag_delayed");
        assert!(said.contains(name) && said.contains(cure), "{said}");
    }
}

#[tokio::test]
async fn where_the_tag_may_hide_is_a_hint_behind_the_error() {
    let asking = Asking::new().await;
    let manager = "<script>(function(w,d,s,l,i){j.src='https://www.googletagmanager.com/gtm.js?id='+i\
                   })(window,document,'script','dataLayer','GTM-1');</script>";
    let joined = "<script src=/wp-content/cache/autoptimize/js/autoptimize_1.js></script>";
    let checked = asking.check(&format!("{manager}{joined}")).await;
    assert_eq!(kinds(&checked), ["no_tag", "tag_manager", "scripts_joined"]);
    let severities = findings(&checked).iter().map(|finding| finding["severity"].clone());
    assert_eq!(severities.collect::<Vec<_>>(), ["error", "hint", "hint"]);
    assert!(said(&checked, "tag_manager").contains("may load the tag"), "{checked}");
    assert!(said(&checked, "scripts_joined").contains("Autoptimize"), "{checked}");
    let beside = asking.check(&format!("{manager}{joined}{}", asking.tag)).await;
    assert_eq!(kinds(&beside), ["tag_manager"]);
}

#[tokio::test]
async fn scripts_that_run_before_anybody_was_asked_are_named() {
    let asking = Asking::new().await;
    let tag = &asking.tag;
    let running = "<script>!function(f){t.src='https://connect.facebook.net/en_US/fbevents.js'}()</script>\
                   <script async src=https://static.hotjar.com/c/hotjar-1.js></script>\
                   <script async src=https://www.googletagmanager.com/gtag/js?id=G-1></script>";
    let checked = asking.check(&format!("{tag}{running}")).await;
    assert_eq!(kinds(&checked), ["ungated_scripts"]);
    let said = said(&checked, "ungated_scripts");
    assert!(said.contains("Meta Pixel, Hotjar and Google Analytics before"), "{said}");
    let waiting = running.replace("<script", "<script type=text/plain data-assent=analytics");
    assert_eq!(asking.kinds(&format!("{tag}{waiting}")).await, [""; 0]);
    let google = "<script>gtag('consent','default',{ad_storage:'denied'})</script>\
                  <script async src=https://www.googletagmanager.com/gtag/js?id=G-1></script>";
    assert_eq!(asking.kinds(&format!("{google}{tag}")).await, [""; 0], "Consent Mode waits");
}

#[tokio::test]
async fn a_page_that_cannot_be_read_has_a_remedy_too() {
    let scene = Scene::new().await;
    for (reply, kind, cure) in [
        (
            Reply::redirect("https://blog.shop.example/"),
            "redirects_elsewhere",
            "to which it redirects",
        ),
        (Reply::redirect("http://www.shop.example/"), "redirects_elsewhere", "https is fine"),
        (Reply::redirect("/"), "redirects_elsewhere", "to which it redirects"),
        (
            Reply::page("<meta http-equiv=refresh content='0; url=/en/'>"),
            "redirects_elsewhere",
            "to which it redirects",
        ),
        (Reply::status(403), "page_unreadable", "without a password"),
        (Reply::status(502), "page_unreadable", "opens in a browser"),
        (Reply::Endless("<html>".into()), "page_unreadable", "into the head"),
        (Reply::Raw(b"SSH-2.0-secret\r\n"), "page_unreadable", "in a few minutes"),
    ] {
        let checked = scene.check_home(reply).await;
        assert_eq!(kinds(&checked), [kind], "{checked}");
        assert!(said(&checked, kind).contains(cure), "{checked}");
        assert!(!checked.to_string().contains("blog.") && !checked.to_string().contains("secret"));
    }
}

#[tokio::test]
async fn a_hostile_page_is_read_quickly_and_says_little() {
    const MIB: usize = 1 << 20;
    let asking = Asking::new().await;
    let filled = |part: &str| part.repeat(MIB / part.len());
    let other = format!("<script src={}/px/a.js></script>", asking.scene.app.base);
    let pages = [
        filled("<script>"),
        filled("<script></script>"),
        filled("<script src=a a=b c='"),
        filled("<"),
        filled("<!--"),
        filled("<noscript><template>"),
        filled("<meta http-equiv=content-security-policy content='script-src a b c'>"),
        filled("<script src=https://cdn.cookielaw.org/a></script>"),
        filled("&amp;<a b=&#x;&\u{1f600}"),
        filled("\u{202e}\u{feff}İſ<ſcript SRC=ß>"),
        filled(&other),
        filled("<script src=/px/\u{0}\u{7}%00.js type=\u{202e}></script>"),
    ];
    for page in pages {
        let begun = Instant::now();
        let checked = asking.scene.check_home(Reply::page(page)).await;
        assert!(findings(&checked).len() <= 18, "{checked}");
        assert!(checked.to_string().len() < 10_000);
        assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    }
}

#[tokio::test]
async fn findings_do_not_name_pixels_of_another_account() {
    let asking = Asking::new().await;
    let Scene { app, .. } = &asking.scene;
    let bob = app.account("bob@example.com").await;
    let pixel = app.pixel(&bob.key, "bob.example").await;
    let tag = format!("<script src={}/px/{pixel}.js></script>", app.base);
    let theirs = asking.check(&tag).await;
    let nobodys = asking.check(&tag.replace(&pixel, "A".repeat(pixel.len()).as_str())).await;
    let same = |checked: &Value| checked["findings"].to_string().replace(&pixel, "");
    assert_eq!(same(&theirs), same(&nobodys).replace(&"A".repeat(pixel.len()), ""));
    check(app, &bob.key, &asking.scene.pixel).await.refused(404, "pixel not found");
}
