use super::*;

#[test]
fn identification_is_not_exempt() {
    let service = Service::of("https://consent.example/px/abc.js?lang=de").unwrap();
    let identification =
        ["/pixel.js", "/pixels/abc/p.js", "/external_api/install-pixel/tag-pixel?x=1"];
    for path in identification {
        let url = format!("https://consent.example{path}");
        assert!(!service.is_exempt(&url) && Service::is_identification(&url), "{path}");
    }
    assert!(!service.has("https://other.consent.example/px/abc.js"));
}

#[test]
fn only_the_tag_its_modules_and_the_visitor_routes_of_consent_are_exempt() {
    let service = Service::of("https://consent.example/px/abc.js").unwrap();
    let is_exempt = |path: &str| service.is_exempt(&format!("https://consent.example{path}"));
    let requested = [
        "/px/a-B_1.js",
        "/px/test_abc.js?lang=de&now=1764280800000",
        "/px/abc.js?ver=6.4.2",
        "/px/abc.js?lang=pt_BR&ver=6.9-beta1",
        "/px/abc.js?ver=6.9-alpha-60952_src+1",
        "/v1/consent/record",
        "/v1/consent/shown",
        "/v1/consent/check?pixel_id=abc&visitor_id=v&required_purpose=analytics",
        "/v1/consent/receipt?pixel_id=abc&visitor_id=v",
        "/v1/consent/history?before=r",
        "/v1/consent/verify",
        "/v1/consent/proof?pixel_id=abc&visitor_id=v&receipt_id=r&old_size=7",
        "/v1/consent/proof/verify",
        "/v1/consent/erasure-requests",
        "/v1/consent/erasure-requests/history",
        "/v1/policy/abc?lang=de",
    ];
    for path in requested {
        assert!(is_exempt(path), "{path}");
    }
    for module in TAG_MODULES {
        assert!(is_exempt(&format!("{module}?lang=zh-hant&1764280800000")), "{module}");
        let nested = format!("{module}?lang=en&17642808000001764280800001");
        assert!(is_exempt(&nested), "{nested}");
    }
    let others = [
        "/",
        "/px/abc.js?id=f81d4fae",
        "/px/abc.js?lang=f81d4fae%207dec",
        "/px/abc.js?now=f81d4fae",
        "/px/abc.js?ver=6.4%2Fann",
        "/px/abc.js?ver=f81d4fae",
        "/px/abc.js?ver=6.81d4fae7dec11d0a76500a0c91e6bf6",
        "/px/abc/def.js",
        "/extras.js?user=ann",
        "/extras.mjs",
        "/v1/consent/record?user=ann",
        "/v1/consent/check?pixel_id=abc&visitor_id=v&user=ann",
        "/v1/consent/verify?user=ann",
        "/v1/consent/history?visitor_id=v",
        "/v1/consent/erasure-requests?user=ann",
        "/v1/consent/erasure-requests/1",
        "/v1/consent/other",
        "/v1/policy/abc/more",
        "/v1/policy/abc?user=ann",
        "/v1/pixels",
    ];
    for path in others {
        assert!(!is_exempt(path), "{path}");
    }
}

#[test]
fn a_pixel_is_named_by_its_id_its_aliases_and_their_test_tags() {
    let pixels = ["abc", "shop"].map(str::to_owned);
    for name in ["abc", "shop", "test_abc", "test_shop"] {
        assert!(is_wanted(name, &pixels) && is_wanted(name, &[]), "{name}");
    }
    for name in ["abcd", "test_", "test_test_abc", "ABC"] {
        assert!(!is_wanted(name, &pixels), "{name}");
    }
    assert!(is_wanted("test_abc", &["test_abc".to_owned()]));
}

#[test]
fn a_consent_tag_is_recognised_by_the_service_in_its_configuration() {
    let tag = |config: &str| format!("try{{($_=>{{f({{\"a\":1}})}})({config})}}catch{{}}");
    let url = "https://consent.example/px/abc.js";
    let own = tag(r#"{"base":"https://consent.example","pixel":"abc","texts":["({\"x\""]}"#);
    assert!(is_consent_tag(url, &own));
    assert!(!is_consent_tag("https://copy.example/px/abc.js", &own));
    let others = [
        r#"{"base":"https://consent.example"}"#,
        r#"{"base":"consent","pixel":"abc"}"#,
        r#"{"base":"https://consent.example","pixel":"abc""#,
        r#"{"base":"https://consent.example","pixel":""}"#,
    ];
    for other in others.map(tag) {
        assert!(!is_consent_tag(url, &other), "{other}");
    }
    assert!(!is_consent_tag(url, "") && !is_consent_tag(url, "fetch('/v1/consent/record')"));
}

#[test]
fn the_purposes_of_a_tag_are_those_of_its_configuration() {
    let purposes = |list: &str| {
        let config = format!(r#"{{"base":"","pixel":"abc","purposes":{list},"shown":[]}}"#);
        purposes_of(&format!("try{{f({config})}}catch{{}}"))
    };
    let asked = purposes(r#"["newsletter","resolution"]"#);
    assert_eq!(asked, ["newsletter", "resolution"]);
    let long = "x".repeat(MAX_PURPOSE + 1);
    assert_eq!(purposes(&format!(r#"["\"><b>","","{long}","of_tomorrow"]"#)), ["of_tomorrow"]);
    let many = [r#""a""#; MAX_PURPOSES + 1].join(",");
    assert_eq!(purposes(&format!("[{many}]")).len(), MAX_PURPOSES);
    assert!(purposes("7").is_empty() && purposes_of("f()").is_empty());
}

#[test]
fn pages_of_the_service_itself_can_be_loaded_while_its_tag_cannot() {
    let elsewhere = blocked_patterns("consent.example", "https://shop.example/");
    assert_eq!(elsewhere, ["*://consent.example/*", "*://consent.example:*/*"]);
    let own = blocked_patterns("consent.example", "https://consent.example/demo");
    assert!(own.contains(&"*://consent.example/px/*".to_owned()), "{own:?}");
    assert!(own.contains(&"*://consent.example:*/extras.js*".to_owned()), "{own:?}");
    assert!(!own.contains(&elsewhere[0]), "{own:?}");
}
