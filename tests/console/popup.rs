//! The consent configuration as a form: preview, publication, restoration.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::console::{Browser, leads_to};
use crate::support::{Account, App};

/// A site whose popup is off, and its owner's browser.
struct Scene<'a> {
    app: &'a App,
    ann: Account,
    pixel: String,
    browser: Browser<'a>,
}

impl<'a> Scene<'a> {
    async fn new(app: &'a App) -> Self {
        let ann = app.account("ann@example.com").await;
        let pixel = app.pixel(&ann.key, "shop.example").await;
        let browser = app.browser_of(&ann.key).await;
        Self { app, ann, pixel, browser }
    }

    fn address(&self) -> String {
        format!("/console/sites/{}/popup", self.pixel)
    }

    async fn send(&mut self, step: &str, fields: &[(&str, &str)]) -> crate::support::Answer {
        let address = self.address();
        let fields = [fields, &[("step", step), ("incomplete", "on")]].concat();
        self.browser.submit(&address, &address, &fields).await
    }

    async fn configuration(&self) -> Value {
        let path = format!("/v1/pixels/{}/consent/configuration", self.pixel);
        self.app.call(Method::GET, &path, &self.ann.key, Value::Null).await.expect(200)
    }
}

/// Everything that the form can say.
const ALL: &[(&str, &str)] = &[
    ("controller_name", "Shop Ltd"),
    ("controller_type", "organization"),
    ("controller_contact", "privacy@shop.example"),
    ("controller_jurisdiction", "Ireland"),
    ("controller_address", "1 Main Street"),
    ("purpose_analytics", "on"),
    ("purpose_newsletter", "on"),
    ("channel_email", "on"),
    ("data_sharing", "on"),
    ("disclosed_parties", "One Ltd\r\n\r\nTwo <Ltd>\r\n"),
    ("site_policy_url", "https://shop.example/privacy"),
    ("consent_days", "90"),
    ("personal_data", "Email address\r\n\r\nPages <visited>\r\n"),
    ("storage_places", "Ireland"),
    ("retention", "13 months"),
    ("contacts_need_consent", "on"),
    ("contacts_need_act", "on"),
    ("share_subdomains", "on"),
    ("position", "bottom-left"),
    ("radius", "7"),
    ("font", "Georgia, serif"),
    ("hide_button", "on"),
    ("corner", "top-left"),
    ("own_dark", "on"),
    ("light_text", "#ffffff"),
    ("dark_background", "#000000"),
    ("dark_text", "#ffffff"),
    ("dark_button", "#dddddd"),
    ("dark_button_text", "#000000"),
    ("dark_link", "#ccccff"),
];

#[tokio::test]
async fn the_published_policy_has_the_submitted_values_and_the_form_shows_them_again() {
    let app = App::spawn().await;
    let mut scene = Scene::new(&app).await;
    let looked = scene.send("look", ALL).await;
    assert_eq!(looked.status, 200, "{}", looked.text);
    assert!(looked.text.contains("This is the first version"), "{}", looked.text);
    assert!(looked.text.contains("Two &lt;Ltd&gt;") && looked.text.contains("Shop Ltd"));
    assert_eq!(scene.configuration().await["versions"], json!([]), "nothing is stored yet");
    let published = scene.send("publish", ALL).await;
    leads_to(&published, &format!("/console/sites/{}/install?done=published", scene.pixel));
    let again = scene.send("publish", ALL).await;
    leads_to(&again, &format!("{}?done=published", scene.address()));
    let now = scene.configuration().await;
    let version = &now["versions"][0];
    for (name, value) in [
        ("policy_version", json!(1)),
        ("controller_name", json!("Shop Ltd")),
        ("controller_type", json!("organization")),
        ("controller_contact", json!("privacy@shop.example")),
        ("controller_jurisdiction", json!("Ireland")),
        ("controller_address", json!("1 Main Street")),
        ("purposes", json!(["analytics", "newsletter"])),
        ("data_sharing", json!(true)),
        ("contact_channels", json!(["email"])),
        ("disclosed_parties", json!(["One Ltd", "Two <Ltd>"])),
        ("site_policy_url", json!("https://shop.example/privacy")),
        ("consent_days", json!(90)),
        ("personal_data", json!(["Email address", "Pages <visited>"])),
        ("storage_places", json!(["Ireland"])),
        ("retention", json!("13 months")),
    ] {
        assert_eq!(version[name], value, "{name}");
    }
    assert_eq!(now["contacts_need_consent"], true);
    assert_eq!(now["contacts_need_act"], true);
    assert_eq!(now["share_subdomains"], true);
    let dark = json!({"background": "#000000", "text": "#ffffff", "button": "#dddddd",
        "button_text": "#000000", "link": "#ccccff"});
    let looks = json!({"position": "bottom-left", "radius": 7, "font": "Georgia, serif",
        "button": {"show": false, "position": "top-left"}, "colors": {"dark": dark}});
    assert_eq!(now["appearance"], looks);
    let address = scene.address();
    let page = scene.browser.page(&address).await;
    for part in [
        "value=\"Shop Ltd\"",
        "<option value=\"organization\" selected>",
        "name=\"purpose_newsletter\" checked",
        "name=\"own_dark\" checked",
        "value=\"#ccccff\"",
        "<option value=\"bottom-left\" selected>",
        "One Ltd\nTwo &lt;Ltd&gt;",
        "Email address\nPages &lt;visited&gt;",
        "value=\"13 months\"",
        "The popup is live.",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("name=\"purpose_resolution\" checked"), "{page}");
    assert!(!page.contains("name=\"own_light\" checked"), "{page}");
}

#[tokio::test]
async fn a_visitor_who_answered_a_text_is_not_asked_again_when_it_is_restored() {
    let app = App::spawn().await;
    let mut scene = Scene::new(&app).await;
    scene.send("publish", ALL).await;
    scene.send("publish", &[("controller_name", "Shop"), ("purpose_analytics", "on")]).await;
    let back = scene.send("look", ALL).await.text;
    assert!(back.contains("Some visitors will be asked again"), "{back}");
}

#[tokio::test]
async fn colours_that_are_chosen_without_their_tick_are_reported_before_they_are_lost() {
    let app = App::spawn().await;
    let mut scene = Scene::new(&app).await;
    let page = scene.browser.page(&scene.address()).await;
    // The fields begin with what the popup has.
    for color in ["#2f4bc0", "#a9bdff", "#e6eaf5", "#363c4e"] {
        assert!(page.contains(&format!("value=\"{color}\"")), "{color}: {page}");
    }
    let base = [("controller_name", "Shop"), ("purpose_analytics", "on")];
    let warning = "the popup will have its default dark colours";
    for (color, tick, is_shown) in
        [("#ff0000", "", true), ("#A9BDFF", "", false), ("#a9bdfe", "on", false)]
    {
        let rest = [
            ("dark_background", "#1b1e27"),
            ("dark_text", "#eef0f6"),
            ("dark_button", "#363c4e"),
            ("dark_button_text", "#eef0f6"),
            ("dark_link", color),
            ("own_dark", tick),
        ];
        let looked = scene.send("look", &[&base[..], &rest].concat()).await.text;
        assert_eq!(looked.contains(warning), is_shown, "{color}: {looked}");
        assert!(!looked.contains("default light colours"), "{looked}");
    }
}

#[tokio::test]
async fn an_incomplete_notice_is_published_only_after_one_more_confirmation() {
    let app = App::spawn().await;
    let scene = Scene::new(&app).await;
    let (address, mut browser) = (scene.address(), app.browser_of(&scene.ann.key).await);
    let bare = [("controller_name", "Shop"), ("purpose_analytics", "on"), ("step", "publish")];
    let refused = browser.submit(&address, &address, &bare).await;
    assert_eq!(refused.status, 400);
    for gap in ["Privacy contact: ", "Retention period: ", "Your privacy policy: "] {
        assert!(refused.text.contains(gap), "{gap}: {}", refused.text);
    }
    assert!(refused.text.contains("Tick the box to publish an incomplete notice"));
    assert_eq!(scene.configuration().await["versions"], json!([]), "nothing is published");
    let complete = [
        &bare[..],
        &[
            ("controller_contact", "privacy@shop.example"),
            ("retention", "13 months"),
            ("site_policy_url", "https://shop.example/privacy"),
        ],
    ];
    let published = browser.submit(&address, &address, &complete.concat()).await;
    leads_to(&published, &format!("/console/sites/{}/install?done=published", scene.pixel));
}

#[tokio::test]
async fn partners_who_are_not_named_are_pointed_out() {
    let app = App::spawn().await;
    let mut scene = Scene::new(&app).await;
    let shares = [("controller_name", "Shop"), ("purpose_partner_email", "on")];
    for (parties, is_said) in [(" \r\n", true), ("One Ltd", false)] {
        let named = [&shares[..], &[("disclosed_parties", parties)]].concat();
        let looked = scene.send("look", &named).await.text;
        assert_eq!(looked.contains("Recipients: who receives"), is_said, "{looked}");
    }
    let alone = [("controller_name", "Shop"), ("purpose_analytics", "on")];
    assert!(!scene.send("look", &alone).await.text.contains("Recipients: who receives"));
}

#[tokio::test]
async fn before_anything_changes_it_is_said_whether_visitors_are_asked_again() {
    let app = App::spawn().await;
    let mut scene = Scene::new(&app).await;
    scene.send("publish", ALL).await;
    let same = scene.send("look", ALL).await.text;
    assert!(same.contains("Visitors will not be asked again"), "{same}");
    let mut more = ALL.to_vec();
    more.push(("purpose_resolution", "on"));
    let other = scene.send("look", &more).await.text;
    assert!(other.contains("Visitors will be asked again"), "{other}");
    assert_eq!(scene.configuration().await["versions"].as_array().unwrap().len(), 1);
    let change = scene.send("change", &more).await.text;
    assert!(change.contains("name=\"purpose_resolution\" checked"), "{change}");
}

#[tokio::test]
async fn an_earlier_version_comes_back_by_its_number() {
    let app = App::spawn().await;
    let mut scene = Scene::new(&app).await;
    scene.send("publish", ALL).await;
    let second = [("controller_name", "Other Ltd"), ("purpose_analytics", "on")];
    scene.send("publish", &second).await;
    let address = scene.address();
    let list = scene.browser.page(&format!("{address}/versions")).await;
    assert!(list.contains("Other Ltd") && list.contains("Shop Ltd"), "{list}");
    assert!(list.contains(&format!("{address}?version=1")), "{list}");
    let earlier = scene.browser.page(&format!("{address}?version=1")).await;
    assert!(earlier.contains("the text of version 1") && earlier.contains("value=\"Shop Ltd\""));
    assert!(earlier.contains("versions contain texts, not colours"), "{earlier}");
    for odd in ["9", "x", "-1", "99999999999"] {
        scene.browser.page(&format!("{address}?version={odd}")).await;
    }
}

#[tokio::test]
async fn what_is_wrong_is_said_and_what_was_typed_stays() {
    let app = App::spawn().await;
    let mut scene = Scene::new(&app).await;
    let base = [("controller_name", "Shop Ltd"), ("purpose_analytics", "on")];
    let long = "x".repeat(501);
    for (change, field, sentence) in [
        (vec![("controller_name", " ")], "controller_name", "Controller name is required"),
        (vec![("purpose_analytics", "")], "purposes", "Choose at least one purpose"),
        (vec![("site_policy_url", "http://shop.example")], "site_policy_url", "https link"),
        (vec![("consent_days", "400")], "consent_days", "from 1 to 365"),
        (vec![("consent_days", "many")], "consent_days", "from 1 to 365"),
        (vec![("radius", "25")], "radius", "at most 24"),
        (vec![("font", "x;}")], "font", "list of font names"),
        (vec![("controller_contact", &long)], "controller_contact", "500 characters"),
        (vec![("personal_data", &long)], "personal_data", "500 characters"),
        (vec![("retention", &long)], "retention", "500 characters"),
        (
            vec![
                ("own_light", "on"),
                ("light_background", "#ffffff"),
                ("light_text", "#eeeeee"),
                ("light_button", "#000000"),
                ("light_button_text", "#ffffff"),
                ("light_link", "#000000"),
            ],
            "light_text",
            "In the light theme, the text on its background has a contrast of 1.1:1; the minimum is 4.5:1.",
        ),
        (
            vec![
                ("own_dark", "on"),
                ("dark_background", "#000000"),
                ("dark_text", "#ffffff"),
                ("dark_button", "#777777"),
                ("dark_button_text", "#777777"),
                ("dark_link", "#ffffff"),
            ],
            "dark_button_text",
            "In the dark theme, the text on a button has a contrast of 1.0:1",
        ),
    ] {
        let mut fields =
            base.iter().filter(|(name, _)| change.iter().all(|(other, _)| name != other));
        let fields = fields.by_ref().chain(&change).copied().collect::<Vec<_>>();
        let refused = scene.send("look", &fields).await;
        assert_eq!(refused.status, 400, "{field}: {}", refused.text);
        assert!(refused.text.contains(sentence), "{sentence}: {}", refused.text);
        assert!(refused.text.contains(&format!("href=\"#{field}\"")), "{field}: {}", refused.text);
        assert!(refused.text.contains(&format!("id=\"{field}\"")), "{field}");
    }
    let refused = scene.send("publish", &[("own_light", "on"), ("light_text", "red;}")]).await;
    assert_eq!(refused.status, 400);
    assert_eq!(scene.configuration().await["versions"], json!([]));
}

#[tokio::test]
async fn the_popup_is_turned_off_and_published_again() {
    let app = App::spawn().await;
    let mut scene = Scene::new(&app).await;
    scene.send("publish", ALL).await;
    let (address, off) = (scene.address(), format!("{}/off", scene.address()));
    let done = scene.browser.submit(&address, &off, &[]).await;
    leads_to(&done, &format!("{address}?done=off"));
    assert_eq!(scene.configuration().await["consent_enabled"], false);
    leads_to(&scene.browser.get(&format!("{address}/preview")).await, &address);
    scene.send("publish", ALL).await;
    assert_eq!(scene.configuration().await["consent_enabled"], true);
}

/// The script that a form's fields give, in a query.
async fn sample(
    browser: &mut Browser<'_>,
    address: &str,
    fields: &[(&str, &str)],
) -> crate::support::Answer {
    let request = browser.request(Method::GET, &format!("{address}/sample.js")).query(fields);
    browser.send(request).await
}

#[tokio::test]
async fn the_popup_is_seen_while_it_is_filled_in_and_nothing_is_published() {
    let app = App::spawn().await;
    let mut scene = Scene::new(&app).await;
    let address = scene.address();
    let look = [("sample_lang", "de"), ("sample_scheme", "dark")];
    let shown = sample(&mut scene.browser, &address, &[ALL, &look].concat()).await;
    assert_eq!(shown.status, 200, "{}", shown.text);
    assert_eq!(shown.header("content-type"), Some("text/javascript; charset=utf-8"));
    assert_eq!(shown.header("cache-control"), Some("no-store"));
    for part in ["Shop Ltd", "Two \\u003cLtd\\u003e", "\"de\"", "bottom-left", "Georgia, serif"] {
        assert!(shown.text.contains(part), "{part}");
    }
    let wrong = sample(&mut scene.browser, &address, &[("controller_name", "Shop")]).await;
    assert!(wrong.text.contains("dataset.problem="), "{}", wrong.text);
    let faint = [("controller_name", "Shop"), ("purpose_analytics", "on"), ("own_light", "on")];
    let colors = ["background", "text", "button", "button_text", "link"];
    let colors = colors.map(|name| (format!("light_{name}"), "#777777"));
    let colors = colors.iter().map(|(name, color)| (&**name, *color)).collect::<Vec<_>>();
    let faint = sample(&mut scene.browser, &address, &[&faint[..], &colors].concat()).await;
    assert!(faint.text.contains("dataset.problem="), "{}", faint.text);
    assert_eq!(scene.configuration().await["versions"], json!([]));

    let eve = app.account("eve@example.com").await;
    let mut stranger = app.browser_of(&eve.key).await;
    assert_eq!(sample(&mut stranger, &address, ALL).await.status, 404);
    assert_eq!(sample(&mut Browser::new(&app), &address, ALL).await.status, 303);
}
