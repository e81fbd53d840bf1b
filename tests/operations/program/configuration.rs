//! A setting that cannot be used stops the start with one sentence that names it.

use std::process::Output;

use assent::config::Config;

use crate::support::process::{bare_program, run, said};

const DATABASE: (&str, &str) = ("DATABASE_URL", "postgres://nobody@127.0.0.1:1/none");
const SECRETS: (&str, &str) = ("RECEIPT_SECRETS", "a-receipt-secret-of-a-test");

async fn start(settings: &[(&str, &str)]) -> Output {
    let mut command = bare_program();
    command.envs(settings.iter().copied()).arg("serve");
    run(command).await
}

async fn refuses(settings: &[(&str, &str)], sentence: &str) {
    let (code, output, complaint) = said(&start(settings).await);
    assert_eq!((code, output.as_str()), (Some(1), ""), "{settings:?}: {complaint}");
    assert_eq!(complaint, format!("assent: {sentence}\n"), "{settings:?}");
}

const WHOLE_DAYS: &str = "must be a whole number of days from 1 to 36500";
const BASE: &str = "must be an http:// or https:// address";
const NO_PATH: &str = "must be an address without a path such as https://consent.example.com";
const LIST: &str = "must be a comma-separated list of secrets of at least 16 characters each";
const LOG_KEY: &str = "must be 64 hexadecimal digits";
const SENDER: &str = "must be an address such as Assent <no-reply@example.com>";
const SMTP: &str = "must begin with smtp:// or smtps://";
const HOST: &str = "must be a host such as pixel.example.com";
const SWITCH: &str = "must be on or off";
const POSTGRES: &str = "must be a postgres:// address";
const RESOLVE: &str = "must be a list such as shop.example=127.0.0.1:8443";
const CA_FILE: &str = "/does/not/exist cannot be read: No such file or directory (os error 2)";
const DNS: &str = "must be a list of addresses such as 192.0.2.1 or 127.0.0.1:5353";
const HEADER: &str = "must be the name of a header such as X-Real-IP";
const MIB: &str = "must be a whole number of MiB from 1 to 1048576";
const LISTENER: &str = "must be an address and a port such as 127.0.0.1:9100";
const PORT: &str = "must be a port, a number from 0 to 65535";

/// A setting, a value that it cannot have, and what is wrong with it.
const BAD: &[(&str, &str, &str)] = &[
    ("DATABASE_URL", "mysql://user:hunter2@host/db", POSTGRES),
    ("DATABASE_READ_URL", "hunter2", POSTGRES),
    ("BASE_URL", "ftp://x.example", BASE),
    ("BASE_URL", "consent.example", BASE),
    ("BASE_URL", "https://x.example/path", NO_PATH),
    ("RECEIPT_SECRETS", "hunter2", LIST),
    ("RECEIPT_SECRETS", "long-enough-secret-1,,", LIST),
    ("LOG_KEY", "hunter2", LOG_KEY),
    ("LOG_KEY", "2b7e151628aed2a6abf7158809cf4f3c", LOG_KEY),
    ("LOG_NUMBER", "0", "must be a number from 1"),
    ("LOG_NUMBER", "second", "must be a number from 1"),
    ("LOG_STATE", "/does/not/exist", "there is no folder /does/not"),
    ("LOG_STATE", "/tmp", "/tmp is a folder; name a file in it, such as /tmp/log-checkpoint"),
    ("LOG_WITNESSES", "/does/not/exist", CA_FILE),
    ("LOG_WITNESSES", "/dev/null", "the policy has no line that begins with quorum"),
    ("WATCH_KEY", "hunter2", LOG_KEY),
    ("WITNESS_KEY", "hunter2", LOG_KEY),
    ("TIMESTAMP_URL", "ftp://user:hunter2@host", BASE),
    ("TIMESTAMP_URL", "hunter2", BASE),
    ("SMTP_URL", "http://user:hunter2@host", SMTP),
    ("MAIL_FROM", "not an address", SENDER),
    ("STRIPE_API_BASE", "stripe", BASE),
    ("TAG_CDN_BASE", "//cdn.example", BASE),
    ("PIXEL_SITE_HOST", "a b", HOST),
    ("PERMISSION_SITE_HOST", "a/b", HOST),
    ("INSTALL_CHECK", "maybe", SWITCH),
    ("INSTALL_CHECK_RESOLVE", "shop.example", RESOLVE),
    ("INSTALL_CHECK_RESOLVE", "shop.example=localhost", RESOLVE),
    ("INSTALL_CHECK_CA_FILE", "/does/not/exist", CA_FILE),
    ("WEBHOOK_RESOLVE", "hooks.example", RESOLVE),
    ("WEBHOOK_CA_FILE", "/does/not/exist", CA_FILE),
    ("CLAIM_DNS", "dns.example", DNS),
    ("CLAIM_DNS", "192.0.2.1,", DNS),
    ("OPERATOR_EMAIL", "nobody", "must be an address such as privacy@example.com"),
    (
        "OPERATOR_PAPERS",
        "/dev/null",
        "/dev/null cannot be read as a folder: Not a directory (os error 20)",
    ),
    ("CLIENT_IP_HEADER", "X Real IP", HEADER),
    ("RATE_LIMITS", "0", SWITCH),
    ("RETENTION_DAYS_SHOWN", "0", WHOLE_DAYS),
    ("RETENTION_DAYS_UNCONFIRMED", "-1", WHOLE_DAYS),
    ("RETENTION_DAYS_RECEIPTS", "soon", WHOLE_DAYS),
    ("RETENTION_DAYS_WITHDRAWN", "0", WHOLE_DAYS),
    ("SCRIPT_CACHE_MIB", "0", MIB),
    ("SCRIPT_CACHE_MIB", "1.5", MIB),
    ("LOG_FORMAT", "xml", "must be text or json"),
    ("METRICS_ADDRESS", "9100", LISTENER),
    ("METRICS_ADDRESS", "127.0.0.1", LISTENER),
    ("METRICS_ADDRESS", "127.0.0.1:99999", LISTENER),
    ("PORT", "70000", PORT),
    ("PORT", "http", PORT),
];

/// Settings that can have any value.
const FREE: [&str; 7] = [
    "ASSENT_API_KEY",
    "OPERATOR_ADDRESS",
    "OPERATOR_NAME",
    "STRIPE_PRICE_ID",
    "STRIPE_SECRET_KEY",
    "STRIPE_WEBHOOK_SECRET",
    "WATCH_BROWSER",
];

/// Settings that hold a secret, and may name a file instead.
const SECRET: [&str; 11] = [
    "ASSENT_API_KEY",
    "DATABASE_READ_URL",
    "DATABASE_URL",
    "LOG_KEY",
    "RECEIPT_SECRETS",
    "SMTP_URL",
    "STRIPE_SECRET_KEY",
    "STRIPE_WEBHOOK_SECRET",
    "TIMESTAMP_URL",
    "WATCH_KEY",
    "WITNESS_KEY",
];

#[tokio::test]
async fn every_bad_value_stops_the_start_with_its_sentence() {
    for (variable, value, problem) in BAD {
        let others = [DATABASE, SECRETS].into_iter().filter(|(name, _)| name != variable);
        let settings = others.chain([(*variable, *value)]).collect::<Vec<_>>();
        refuses(&settings, &format!("{variable}: {problem}")).await;
    }
}

#[test]
fn no_setting_that_the_program_reads_is_left_out_of_these_tests() {
    let source = include_str!("../../../src/config/mod.rs");
    let (source, _tests) = source.split_once("#[cfg(test)]").expect("the settings have tests");
    let is_name = |text: &&str| {
        text.len() > 3 && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
    };
    let mut read = source.split('"').filter(is_name).collect::<Vec<_>>();
    read.sort_unstable();
    read.dedup();
    let tried = BAD.iter().map(|(variable, ..)| *variable).chain(FREE).collect::<Vec<_>>();
    let left_out = read.iter().filter(|name| !tried.contains(name)).collect::<Vec<_>>();
    assert!(left_out.is_empty() && read.len() > 20, "{left_out:?}");
    let secrets = source.split("secret(\"").skip(1).filter_map(|rest| rest.split('"').next());
    let mut secrets = secrets.collect::<Vec<_>>();
    secrets.sort_unstable();
    assert_eq!(secrets, SECRET);
}

#[test]
fn no_secret_shows_in_the_debug_form_of_the_settings() {
    let value = |name: &str| match name {
        "RECEIPT_SECRETS" => Some("hunter2-hunter2-hunter2,hunter2-hunter2-other".to_owned()),
        "SMTP_URL" => Some("smtp://user:hunter2@mail.example:587".to_owned()),
        "DATABASE_URL" | "DATABASE_READ_URL" => {
            Some("postgres://user:hunter2@db.example/assent".to_owned())
        }
        "LOG_KEY" | "WATCH_KEY" | "WITNESS_KEY" => Some("5ec7e75e".repeat(8)),
        "TIMESTAMP_URL" => Some("https://user:hunter2@stamps.example/".to_owned()),
        name if SECRET.contains(&name) => Some("hunter2".to_owned()),
        _ => None,
    };
    let shown = format!("{:?}", Config::from_source(&value).unwrap());
    assert!(!shown.contains("hunter2") && !shown.contains("5ec7e75e"), "{shown}");
    assert_eq!(shown.matches("[redacted]").count(), SECRET.len() + 1, "{shown}");
}

#[tokio::test]
async fn a_file_of_a_secret_must_be_readable_and_not_empty() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty");
    std::fs::write(&empty, " \n").unwrap();
    let empty = empty.to_str().unwrap();
    for name in SECRET {
        let variable = format!("{name}_FILE");
        let others = [DATABASE, SECRETS].into_iter().filter(|(other, _)| *other != name);
        let others = others.collect::<Vec<_>>();
        let with = |path| [others.as_slice(), &[(variable.as_str(), path)]].concat();
        refuses(&with(empty), &format!("{variable}: {empty} is empty")).await;
        let missing = "/does/not/exist cannot be read: No such file or directory (os error 2)";
        refuses(&with("/does/not/exist"), &format!("{variable}: {missing}")).await;
        let folder = "/ cannot be read: Is a directory (os error 21)";
        refuses(&with("/"), &format!("{variable}: {folder}")).await;
    }
}

#[tokio::test]
async fn a_bad_secret_is_not_repeated() {
    for (variable, value) in [
        ("DATABASE_URL", "mysql://user:hunter2@host/db"),
        ("RECEIPT_SECRETS", "hunter2"),
        ("SMTP_URL", "http://user:hunter2@host"),
    ] {
        let output = start(&[(variable, value)]).await;
        assert!(!String::from_utf8_lossy(&output.stderr).contains("hunter2"), "{output:?}");
    }
}

#[tokio::test]
async fn rockets_own_settings_are_named_too() {
    let database = crate::support::postgres::database::TestDatabase::create().await;
    let settings = [("DATABASE_URL", database.url.as_str()), SECRETS, ("ROCKET_PORT", "many")];
    let (code, _, complaint) = said(&start(&settings).await);
    assert_eq!(code, Some(1));
    let sentence = r#"assent: cannot serve: invalid type: found string "many", expected u16 for key "PORT" in `ROCKET_` environment variable(s)"#;
    assert_eq!(complaint.lines().last(), Some(sentence));
}
