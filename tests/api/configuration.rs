//! A setting that cannot be used stops the start with one sentence that names it.

use std::process::Output;

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

#[tokio::test]
async fn every_bad_value_stops_the_start_with_its_sentence() {
    let whole_days = "must be a whole number of days from 1 to 36500";
    let base = "must be an http:// or https:// address";
    let smtp = "must be an address such as smtp://user:password@host:587?tls=required";
    let list = "must be a comma-separated list of secrets of at least 16 characters each";
    let sender = "must be an address such as Assent <no-reply@example.com>";
    for (variable, value, problem) in [
        ("DATABASE_URL", "mysql://user:hunter2@host/db", "must be a postgres:// address"),
        ("DATABASE_READ_URL", "hunter2", "must be a postgres:// address"),
        ("BASE_URL", "ftp://x.example", base),
        (
            "BASE_URL",
            "https://x.example/path",
            "must be an address without a path such as https://consent.example.com",
        ),
        ("RECEIPT_SECRETS", "hunter2", list),
        ("RECEIPT_SECRETS", "long-enough-secret-1,,", list),
        ("SMTP_URL", "http://user:hunter2@host", smtp),
        ("MAIL_FROM", "not an address", sender),
        ("STRIPE_API_BASE", "stripe", base),
        ("TAG_CDN_BASE", "//cdn.example", base),
        ("PIXEL_SITE_HOST", "a b", "must be a host such as pixel.example.com"),
        ("PERMISSION_SITE_HOST", "a/b", "must be a host such as pixel.example.com"),
        ("INSTALL_CHECK", "maybe", "must be on or off"),
        (
            "INSTALL_CHECK_RESOLVE",
            "shop.example",
            "must be a list such as shop.example=127.0.0.1:8443",
        ),
        (
            "INSTALL_CHECK_CA_FILE",
            "/does/not/exist",
            "/does/not/exist cannot be read: No such file or directory (os error 2)",
        ),
        ("CLIENT_IP_HEADER", "X Real IP", "must be the name of a header such as X-Real-IP"),
        ("RATE_LIMITS", "0", "must be on or off"),
        ("RETENTION_DAYS_SHOWN", "0", whole_days),
        ("RETENTION_DAYS_UNCONFIRMED", "-1", whole_days),
        ("RETENTION_DAYS_RECEIPTS", "soon", whole_days),
        ("SCRIPT_CACHE_MIB", "0", "must be a whole number of MiB from 1 to 1048576"),
        ("LOG_FORMAT", "xml", "must be text or json"),
        ("METRICS_ADDRESS", "9100", "must be an address and a port such as 127.0.0.1:9100"),
        ("PORT", "70000", "must be a port, a number from 0 to 65535"),
    ] {
        let others = [DATABASE, SECRETS].into_iter().filter(|(name, _)| *name != variable);
        let settings = others.chain([(variable, value)]).collect::<Vec<_>>();
        refuses(&settings, &format!("{variable}: {problem}")).await;
    }
}

#[tokio::test]
async fn a_file_of_a_secret_must_be_readable_and_not_empty() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty");
    std::fs::write(&empty, " \n").unwrap();
    let empty = empty.to_str().unwrap();
    for name in [
        "DATABASE_URL",
        "DATABASE_READ_URL",
        "RECEIPT_SECRETS",
        "SMTP_URL",
        "STRIPE_SECRET_KEY",
        "STRIPE_WEBHOOK_SECRET",
    ] {
        let variable = format!("{name}_FILE");
        let others = [DATABASE, SECRETS].into_iter().filter(|(other, _)| *other != name);
        let others = others.collect::<Vec<_>>();
        let with = |path| [others.as_slice(), &[(variable.as_str(), path)]].concat();
        refuses(&with(empty), &format!("{variable}: {empty} is empty")).await;
        let missing = "/does/not/exist cannot be read: No such file or directory (os error 2)";
        refuses(&with("/does/not/exist"), &format!("{variable}: {missing}")).await;
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
    let database = crate::support::database::TestDatabase::create().await;
    let settings = [("DATABASE_URL", database.url.as_str()), SECRETS, ("ROCKET_PORT", "many")];
    let (code, _, complaint) = said(&start(&settings).await);
    assert_eq!(code, Some(1));
    let sentence = r#"assent: cannot serve: invalid type: found string "many", expected u16 for key "PORT" in `ROCKET_` environment variable(s)"#;
    assert_eq!(complaint.lines().last(), Some(sentence));
}
