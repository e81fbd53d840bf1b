use super::*;

fn config(pairs: &[(&str, &str)]) -> Result<Config, ConfigError> {
    let pairs = pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned()));
    let map = pairs.collect::<HashMap<_, _>>();
    Config::from_source(&|name| map.get(name).cloned())
}

#[test]
fn an_empty_environment_gives_the_documented_defaults() {
    let config = config(&[]).unwrap();
    assert!(config.database_url.is_none() && config.base_url.is_none());
    assert!(config.rate_limits && config.install_check.enabled);
    assert_eq!(config.tag_cdn_base, "https://tags.invalid");
    assert_eq!(config.stripe.api_base, "https://api.stripe.com");
    assert_eq!((config.retention.shown, config.retention.unconfirmed), (400, 30));
    assert_eq!(config.script_cache_mib, 32);
}

#[test]
fn every_bad_value_is_refused_with_a_sentence_that_names_its_variable() {
    let bad = [
        ("DATABASE_URL", "mysql://x"),
        ("DATABASE_READ_URL", "nonsense"),
        ("BASE_URL", "ftp://x"),
        ("BASE_URL", "https://x.example/path"),
        ("RECEIPT_SECRETS", "short"),
        ("RECEIPT_SECRETS", "long-enough-secret-1,"),
        ("LOG_KEY", "short"),
        ("LOG_NUMBER", "0"),
        ("LOG_NUMBER", "second"),
        ("LOG_STATE", "/does/not/exist"),
        ("LOG_STATE", "/"),
        ("LOG_STATE", "/tmp/"),
        ("LOG_WITNESSES", "/does/not/exist"),
        ("WITNESS_KEY", "short"),
        ("WATCH_KEY", "short"),
        ("TIMESTAMP_URL", "ftp://tsa.example/"),
        ("SMTP_URL", "http://x"),
        ("MAIL_FROM", "not an address"),
        ("STRIPE_API_BASE", "x"),
        ("TAG_CDN_BASE", "//x"),
        ("PIXEL_SITE_HOST", "a b"),
        ("PERMISSION_SITE_HOST", "a/b"),
        ("INSTALL_CHECK", "maybe"),
        ("INSTALL_CHECK_RESOLVE", "shop.example"),
        ("INSTALL_CHECK_CA_FILE", "/does/not/exist"),
        ("CLAIM_DNS", "dns.example"),
        ("OPERATOR_EMAIL", "nobody"),
        ("OPERATOR_PAPERS", "/does/not/exist"),
        ("CLIENT_IP_HEADER", "X Real IP"),
        ("RATE_LIMITS", "0"),
        ("RETENTION_DAYS_SHOWN", "0"),
        ("RETENTION_DAYS_UNCONFIRMED", "-1"),
        ("RETENTION_DAYS_RECEIPTS", "soon"),
        ("RETENTION_DAYS_WITHDRAWN", "0"),
        ("SCRIPT_CACHE_MIB", "0"),
        ("LOG_FORMAT", "xml"),
        ("METRICS_ADDRESS", "9100"),
        ("PORT", "70000"),
    ];
    for (variable, value) in bad {
        let error = config(&[(variable, value)]).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{variable}: ")), "{error}");
    }
}

#[test]
fn secrets_can_be_files_and_are_never_printed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("secrets");
    std::fs::write(&file, "first-receipt-secret,second-receipt-secret\n").unwrap();
    let config = config(&[("RECEIPT_SECRETS_FILE", file.to_str().unwrap())]).unwrap();
    assert_eq!(config.receipt_secrets.len(), 2);
    assert!(!format!("{config:?}").contains("receipt-secret"));
}
