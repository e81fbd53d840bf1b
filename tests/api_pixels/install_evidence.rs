//! Every finding is based on the page: ids in a comment, in text or in another kind of script are
//! reported as such.

use serde_json::{Value, json};

use crate::support::sites::https_site::Reply;
use crate::support::sites::install::{Scene, installed, not_installed};

/// A site with consent enabled, and its tag.
async fn asking() -> (Scene, String) {
    let scene = Scene::new().await;
    let body = json!({"controller_name": "Shop Ltd", "purposes": ["resolution"]});
    scene.app.configure(&scene.ann.key, &scene.pixel, body).await.expect(200);
    let tag = format!("<script async src={}/px/{}.js></script>", scene.app.base, scene.pixel);
    (scene, tag)
}

async fn checked(scene: &Scene, page: &str) -> Value {
    scene.check_home(Reply::page(page)).await
}

fn kinds(checked: &Value) -> Vec<&str> {
    let findings = checked["findings"].as_array().unwrap().iter();
    findings.map(|finding| finding["kind"].as_str().unwrap()).collect()
}

/// Locations other than comments in which no browser runs a script.
const INERT_CONTEXTS: [&str; 8] = [
    "<textarea>{}</textarea>",
    "<title>{}</title>",
    "<style>/* {} */</style>",
    "<p title='{}'>a</p>",
    "<iframe srcdoc='{}'></iframe>",
    "<script type=application/json>{\"a\": \"{}",
    "<xmp>{}</xmp>",
    "<svg><style><p title='</style>{}'></p></style></svg>",
];

#[tokio::test]
async fn a_script_that_loads_the_tag_is_found_however_it_is_escaped() {
    let (scene, _) = asking().await;
    let address = format!("{}/px/{}.js", scene.app.base, scene.pixel);
    for slash in [
        "/", "\\/", "\\u002F", "\\u002f", "\\u{2f}", "\\x2F", "\\x2f", "%2F", "%2f", "%252F",
        "&#x2F;", "&#47;", "\\\\/",
    ] {
        let escaped = address.replace('/', slash);
        for page in [
            format!("<script>s.src=\"{escaped}\"</script>"),
            format!("<script>var d={{\"src\":\"{escaped}\"}};load(d)</script>"),
            format!("<script src=\"/loader.js?u={escaped}\"></script>"),
        ] {
            let checked = checked(&scene, &page).await;
            installed(&checked);
            assert_eq!(kinds(&checked), [""; 0], "{page}");
        }
    }
}

#[tokio::test]
async fn a_tag_in_a_comment_is_reported_only_if_a_comment_contains_it() {
    let (scene, tag) = asking().await;
    let id = &scene.pixel;
    for page in [
        format!("<!-- {tag} -->"),
        format!("<!--[if IE]>{tag}<![endif]-->"),
        format!("<p><!-- a --><!-- {id} --!>"),
        format!("<noscript><!-- {tag} --></noscript>"),
        format!("<! {id} >"),
        format!("<!-- {}", tag.replace('/', "\\/")),
    ] {
        let checked = checked(&scene, &page).await;
        not_installed(&checked);
        assert_eq!(kinds(&checked), ["tag_in_comment"], "{page}");
    }
    for page in [
        format!("<script>s='F{id}'</script>"),
        format!("<script>s='{id}2'</script><!-- the tag -->"),
        format!("<!-- {id}x --><p>f{id}"),
        format!("<!-- {} -->", id.to_lowercase()),
        "<!-- <script src=/px/other.js></script> -->".to_owned(),
    ] {
        let checked = checked(&scene, &page).await;
        not_installed(&checked);
        assert_eq!(kinds(&checked), ["no_tag"], "{page}");
    }
}

#[tokio::test]
async fn a_tag_where_no_script_runs_is_text() {
    let (scene, tag) = asking().await;
    for context in INERT_CONTEXTS {
        let checked = checked(&scene, &context.replace("{}", &tag)).await;
        installed(&checked);
        assert_eq!(kinds(&checked), ["tag_as_text"], "{context}");
    }
}

#[tokio::test]
async fn the_finding_about_a_disabled_tag_names_the_cause() {
    let (scene, tag) = asking().await;
    for (page, said) in [
        (format!("<noscript>{tag}</noscript>"), "inside <noscript>"),
        (format!("<head><noscript>{tag}</noscript></head>"), "inside <noscript>"),
        (format!("<template>{tag}</template>"), "inside <template>"),
        (format!("<div><template><b>{tag}</b></template>"), "inside <template>"),
        (tag.replace("async", "type=text/plain"), "a script type that browsers do not run"),
        (tag.replace("async", "type=text/x-template"), "a script type that browsers do not run"),
        (tag.replace("async", "nomodule"), "nomodule"),
    ] {
        let checked = checked(&scene, &page).await;
        assert_eq!(kinds(&checked), ["tag_disabled"], "{page}");
        let found = checked["findings"][0]["found"].as_str().unwrap();
        assert!(found.contains(said), "{found}");
    }
}

#[tokio::test]
async fn other_tags_count_only_where_they_run() {
    let (scene, tag) = asking().await;
    let other = format!("<script src={}/px/other.js></script>", scene.app.base);
    let held = other.replace("<script", "<script type=text/plain");
    let more = ["<!-- {} -->", "<noscript>{}</noscript>", "<template>{}</template>"];
    for context in INERT_CONTEXTS.iter().chain(&more) {
        let alone = checked(&scene, &context.replace("{}", &other)).await;
        assert_eq!(kinds(&alone), ["no_tag"], "{context}");
        for second in [&other, &tag] {
            let page = format!("{tag}{}", context.replace("{}", second));
            assert_eq!(kinds(&checked(&scene, &page).await), [""; 0], "{page}");
        }
    }
    assert_eq!(kinds(&checked(&scene, &held).await), ["no_tag"]);
    let twice = format!("{tag}{held}{}", tag.replace("async", "type=text/plain"));
    assert_eq!(kinds(&checked(&scene, &twice).await), [""; 0]);
    assert_eq!(kinds(&checked(&scene, &other).await), ["wrong_pixel"]);
    assert_eq!(kinds(&checked(&scene, &format!("{other}{tag}")).await), ["two_pixels"]);
}

#[tokio::test]
async fn scripts_of_others_are_found_only_where_they_run() {
    let (scene, tag) = asking().await;
    let addresses = [
        "https://consent.cookiebot.com/uc.js",
        "https://static.hotjar.com/c/hotjar-1.js",
        "https://www.googletagmanager.com/gtm.js?id=1",
        "https://www.googletagmanager.com/gtag/js?id=G-1",
        "/wp-content/cache/autoptimize/js/a.js",
    ];
    let scripts = addresses.map(|address| format!("<script src={address}></script>")).concat();
    let more = ["<!-- {} -->", "<noscript>{}</noscript>", "<template>{}</template>"];
    for context in INERT_CONTEXTS.iter().chain(&more) {
        // Inside a script the first end tag would close it, and the other scripts would run.
        let held = if context.contains("<script") {
            scripts.replace("</", "<\\/")
        } else {
            scripts.clone()
        };
        let page = format!("{tag}{}", context.replace("{}", &held));
        assert_eq!(kinds(&checked(&scene, &page).await), [""; 0], "{page}");
    }
    let linked = addresses.map(|address| format!("<a href={address}>{address}</a>")).concat();
    assert_eq!(kinds(&checked(&scene, &format!("{tag}{linked}")).await), [""; 0]);
    let data = "<script type=application/ld+json>{\"url\": \"https://www.iubenda.com/a\"}</script>";
    assert_eq!(kinds(&checked(&scene, &format!("{tag}{data}")).await), [""; 0]);
    let found = checked(&scene, &format!("{tag}{scripts}")).await;
    assert_eq!(kinds(&found), ["consent_tool", "tag_manager", "ungated_scripts"]);
    let escaped = "<script>s.src='https:\\/\\/static.hotjar.com\\/c.js'</script>";
    assert_eq!(kinds(&checked(&scene, &format!("{tag}{escaped}")).await), ["ungated_scripts"]);
}

#[tokio::test]
async fn a_policy_counts_only_where_browsers_apply_it() {
    let (scene, tag) = asking().await;
    let meta = "<meta http-equiv=Content-Security-Policy content=\"default-src none\">";
    for context in ["<!-- {} -->", "<template>{}</template>", "<noscript>{}</noscript>"] {
        let page = format!("<head>{}{tag}</head>", context.replace("{}", meta));
        assert_eq!(kinds(&checked(&scene, &page).await), [""; 0], "{page}");
    }
    let page = format!("<head><title>{meta}</title><style>{meta}</style>{tag}</head>");
    assert_eq!(kinds(&checked(&scene, &page).await), [""; 0]);
    let page = format!("<head>{meta}{tag}</head>");
    let found = ["policy_forbids_script", "policy_forbids_connection"];
    assert_eq!(kinds(&checked(&scene, &page).await), found);
}

#[tokio::test]
async fn the_snippet_of_the_wrong_kind_is_found_only_where_it_runs() {
    let (scene, tag) = asking().await;
    let Scene { app, pixel, .. } = &scene;
    let immediate = format!("<script src={}/pixel.js data-pixel={pixel}></script>", app.base);
    for context in INERT_CONTEXTS {
        let page = format!("{tag}{}", context.replace("{}", &immediate));
        assert_eq!(kinds(&checked(&scene, &page).await), [""; 0], "{page}");
    }
    let page = format!("{tag}{immediate}");
    assert_eq!(kinds(&checked(&scene, &page).await), ["immediate_snippet"]);
    app.turn_consent_off(pixel).await;
    for context in INERT_CONTEXTS {
        let page = format!("{immediate}{}", context.replace("{}", &tag));
        assert_eq!(kinds(&checked(&scene, &page).await), [""; 0], "{page}");
    }
    assert_eq!(kinds(&checked(&scene, &tag).await), ["popup_off"]);
}
