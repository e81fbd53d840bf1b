//! Values of arguments. Texts in braces stand for what a tenant has.

use serde_json::{Value, json};

/// Values that hardly any field takes.
pub fn odd_values() -> Vec<Value> {
    vec![
        json!(""),
        json!(" \t "),
        json!(null),
        json!(7),
        json!(-1),
        json!(1.5),
        json!(9_223_372_036_854_775_807_i64),
        json!(1e300),
        json!(true),
        json!([]),
        json!(["a", 7]),
        json!({}),
        json!({"a": {"b": [1]}}),
        json!("x".repeat(600)),
        json!("ü".repeat(5_000)),
        json!("a\u{0}b"),
        json!("\u{202e}ab\u{feff} 漢字 \u{1f9d0}"),
        json!("line\nbreak"),
        json!("'; DROP TABLE accounts; --"),
        json!("../..%2f?&#"),
        json!("{foreign_pixel}"),
        json!("{foreign_account}"),
        json!("99999999999999999999"),
        json!("2026-02-30"),
    ]
}

/// Values that do for a field of this name, the first one usually.
pub fn good_values(field: &str, capability: &str) -> Vec<Value> {
    let texts = |texts: &[&str]| texts.iter().map(|text| json!(text)).collect();
    match field {
        "account_id" if capability == "open_checkout" || capability == "issue_api_key" => {
            texts(&["{own_account}", "{open_account}", "{foreign_account}", "{suspended_account}"])
        }
        "account_id" => texts(&["{own_account}", "{foreign_account}", "{expired_account}"]),
        "pixel_id" => texts(&["{own_pixel}", "{own_other_pixel}", "{foreign_pixel}", "unknown"]),
        "domain" if capability == "claim_host" => texts(&[
            "{foreign_other_domain}",
            "{foreign_domain}",
            "{own_domain}",
            "nobodys.example",
        ]),
        "domain" if capability == "move_pixel" => {
            texts(&["moved.example", "{own_domain}", "{foreign_domain}", "shop.example/page"])
        }
        "domain" => texts(&[
            "another.example",
            "https://www.third.example/",
            "{own_domain}",
            "{foreign_domain}",
            "shop.example/page",
            "127.0.0.1",
            "bücher.example",
        ]),
        "snippet" => texts(&["present", "immediate", "every"]),
        "method" => texts(&["snippet", "gtm", " CMS "]),
        "email" if capability == "create_account" => {
            texts(&["new@example.com", "{own_email}", "New.2@example.com", "no address"])
        }
        "email" => texts(&["{own_email}", "nobody@example.com", "{foreign_email}", "no address"]),
        "display_name" => texts(&["Ann", "  Ann Lee  "]),
        "external_user_id" => texts(&["customer-7", "customer-8"]),
        "code" if ["change_member", "delete_account", "invite_member"].contains(&capability) => {
            texts(&["{own_key}", "123456", "{foreign_key}"])
        }
        "code" | "current_code" => texts(&["123456", "000000", "12345"]),
        "signup_token" => texts(&["{own_token}", "{foreign_token}"]),
        "name" => texts(&["shop server", "x"]),
        "purpose" => texts(&["keys", "sign_in", "change_email", "delete_account", "x"]),
        "scope" => texts(&["read", "operate", "admin"]),
        "role" => texts(&["read", "full", "x"]),
        "member_id" => texts(&["{own_member}", "{foreign_member}", "unknown"]),
        "prefix" if capability == "revoke_shared_link" => {
            texts(&["{own_shared_prefix}", "{foreign_shared_prefix}", "sh_unknown00"])
        }
        "prefix" => texts(&["{own_spare_prefix}", "{foreign_spare_prefix}", "px_unknown00"]),
        "token" => texts(&["{own_claim}", "{foreign_claim}", "unknown"]),
        "verification_url" => texts(&["{link_token}", "unknown"]),
        "action" => texts(&["purchase", "add_to_cart", "view_item", "steal"]),
        "state" => texts(&["accepted", "declined", "unknown"]),
        "visitor_id" => texts(&["visitor-1", "visitor-2", "visitor-9"]),
        "receipt_id" => texts(&["{own_receipt_id}", "{foreign_receipt_id}"]),
        "policy_hash" => texts(&["{own_policy_hash}", "{foreign_policy_hash}"]),
        "from" => texts(&["2026-03-01", "2026-03-10", "2026-03-11"]),
        "to" => texts(&["2026-03-10", "2026-02-01"]),
        "on" => texts(&["2026-03-10", "2026-03-09"]),
        "before" if ["list_watch_reports", "list_screenshots"].contains(&capability) => {
            texts(&["ffffffff-ffff-7fff-bfff-ffffffffffff", "x"])
        }
        "language" => texts(&["en", "de", "tlh"]),
        "report_id" => texts(&["{own_report}", "{foreign_report}", "unknown"]),
        "watch_allow" => vec![json!(["cdn.example"]), json!([]), json!(["a b"])],
        "public_page" => vec![json!(true), json!(false)],
        "before" | "cursor" => texts(&["00000000000000ff", "2"]),
        "request_id" => texts(&["{own_request}", "{foreign_request}", "unknown"]),
        "received_on" => texts(&["2026-03-01", "2026-03-11", "today"]),
        "status" => texts(&["open", "completed", "lost"]),
        "reason" => texts(&["The law says so.", "Another one."]),
        "after" if capability == "list_erasure_requests" => {
            texts(&["00000000-0000-7000-8000-000000000000", "x"])
        }
        "after" if capability == "list_suppressions" => texts(&[&"0".repeat(64), "x"]),
        "after" | "changed_after" => vec![json!(0), json!(2)],
        "endpoint_id" => texts(&["{own_webhook}", "{foreign_webhook}", "unknown"]),
        "event_id" => texts(&["{own_event}", "{foreign_event}", "unknown"]),
        "url" => texts(&["https://hooks.example/b", "http://hooks.example/", "https://localhost/"]),
        "events" => vec![json!(["choice.recorded"]), json!([]), json!(["choice.lost"])],
        "pixels" => vec![json!(["{own_pixel}"]), json!([]), json!(["{foreign_pixel}"])],
        "format" => texts(&["standard", "telegram"]),
        "paused" => vec![json!(true), json!(false)],
        "since" => texts(&["2026-03-01T00:00:00Z", "2026-03-10T12:00:00+01:00", "today"]),
        "import_id" => texts(&["{own_import}", "{foreign_import}", "unknown"]),
        "limit" => vec![json!(1), json!(200), json!(0), json!(201), json!(1_001)],
        "hem" => texts(&[&"1".repeat(64), &format!("{:064x}", 1), &"ab".repeat(31)]),
        "required_purpose" => texts(&["resolution", "analytics", "newsletter"]),
        "contacts" => contacts(),
        "old_size" => texts(&["0", "99999"]),
        "proof" => vec![json!("{own_proof}"), json!({"format": "x"}), json!({})],
        "key" => texts(&["{log_key}", "nonsense"]),
        "against" => texts(&["no checkpoint"]),
        "receipt" => texts(&["{own_receipt}", "{foreign_receipt}"]),
        "signature" => texts(&["{own_signature}", "{foreign_signature}", "00"]),
        "controller_name" => texts(&["Shop Ltd", "Ann's"]),
        "purposes" => vec![json!(["resolution"]), json!(["analytics", "x"]), json!(["x"])],
        "controller_type" => texts(&["company", "individual", "robot"]),
        "controller_contact"
        | "controller_jurisdiction"
        | "controller_address"
        | "retention"
        | "rule_version" => texts(&["A", "B c"]),
        "trial_ending" | "allowance" | "payment_failed" | "key_expiring" | "tag_vanished"
        | "pixel_ending" | "erasure_requests" | "silence" | "weekly_digest" => {
            vec![json!(false), json!(true)]
        }
        "data_sharing"
        | "contacts_need_consent"
        | "contacts_need_act"
        | "failed_only"
        | "share_subdomains"
        | "all_pixels"
        | "revoke_keys" => {
            vec![json!(true), json!(false)]
        }
        "expires_in_days" => vec![json!(30), json!(730), json!(0), json!(731)],
        "consent_days" | "days" => vec![json!(1), json!(365), json!(0), json!(366)],
        "contact_channels" => vec![json!(["email"]), json!(["email", "pigeon"])],
        "disclosed_parties" | "personal_data" | "storage_places" => {
            vec![json!(["Halden"]), json!(["a\nb"])]
        }
        "test_hosts" => {
            vec![
                json!(["staging.ann.example"]),
                json!([]),
                json!(["a/b"]),
                json!(["foreign-configure-consent.example"]),
            ]
        }
        "site_policy_url" => texts(&["https://shop.example/privacy", "http://shop.example"]),
        "appearance" => vec![
            json!({"position": "top", "radius": 8}),
            json!({"position": "left"}),
            json!({"radius": 99}),
            json!({"colour": "red"}),
        ],
        _ => panic!("no value is known that does for `{field}` of `{capability}`"),
    }
}

fn contacts() -> Vec<Value> {
    let person = |contact: Value| json!([{"hem": "ab".repeat(32), "contact": contact}]);
    vec![
        person(json!({"a": 1})),
        person(json!(null)),
        person(json!("text")),
        json!([
            {"hem": "ab".repeat(32), "contact": {"a": 2}, "visitor_id": "visitor-1"},
            {"hem": "cd".repeat(32), "contact": {"a": 3}, "visitor_id": "visitor-2"},
        ]),
        json!([{"hem": "short", "contact": {"a": 1}}]),
        json!([{"hem": 7, "contact": {"a": 1}}]),
        json!([{"hem": "ab".repeat(32), "contact": {"a": 1}, "seen_at": "yesterday"}]),
        json!([{"hm": "ab".repeat(32), "contact": {"a": 1}}]),
        json!([7]),
    ]
}
