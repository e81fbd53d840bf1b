//! The files for containers agree with each other and with the program.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use assent::config::Config;

use crate::proxy::shipped;

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

#[test]
fn the_proxy_knows_every_node_at_its_address() {
    let compose = read("compose.yaml");
    let nodes = compose.split("ipv4_address: ").skip(1);
    let nodes = nodes.map(|rest| rest.split('}').next().unwrap().to_owned());
    let known = shipped("nodes.conf");
    let known = known.lines().filter_map(|line| line.strip_prefix("server "));
    let known = known.map(|line| line.split_once(":8000").expect("port 8000").0.to_owned());
    let known = known.collect::<BTreeSet<_>>();
    assert_eq!(nodes.collect::<BTreeSet<_>>(), known);
    assert_eq!(known.len(), 2);
}

#[test]
fn every_variable_of_a_node_is_a_setting_of_the_program() {
    let compose = read("compose.yaml");
    let node = compose.split("\nservices:").next().unwrap();
    let settings = read("src/config/mod.rs");
    let lines = node.lines().map(|line| line.trim_start_matches([' ', '#']));
    let names = lines.filter_map(|line| line.split_once(": ")).map(|(name, _)| name);
    let is_variable =
        |name: &&str| name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    let names = names.filter(is_variable).collect::<Vec<_>>();
    assert!(names.len() >= 8, "{names:?}");
    for name in names {
        let setting = name.strip_suffix("_FILE").unwrap_or(name);
        assert!(settings.contains(&format!("\"{setting}\"")), "{name}");
    }
}

#[test]
fn the_node_that_watches_sites_has_a_browser_and_a_folder_for_profiles() {
    let (compose, dockerfile) = (read("compose.yaml"), read("Dockerfile"));
    let (_, node) = compose.split_once("\n  watcher:\n").expect("the node");
    let node = node.split("\n\n").next().unwrap();
    let value = |name: &str| {
        let mut lines = node.lines().filter_map(|line| line.trim_start().split_once(": "));
        lines.find(|(known, _)| *known == name).expect("a line").1
    };
    assert_eq!(value("profiles"), "[watch]", "it is off at first");
    assert!(value("build").contains("WITH_CHROMIUM: \"1\""));
    assert!(dockerfile.contains("\nARG WITH_CHROMIUM=0\n"), "others have no browser");
    assert!(dockerfile.contains(&format!(" {} ", value("WATCH_BROWSER"))), "it is installed");
    // A browser has no room for the path of its socket below a longer one.
    let folder = value("TMPDIR");
    assert!(folder.len() <= 26 && value("tmpfs").starts_with(&format!("[\"{folder}:exec,")));
    let settings = read("src/config/mod.rs");
    for name in ["WATCH_BROWSER", "WATCH_KEY"] {
        assert!(settings.contains(&format!("\"{name}\"")), "{name}");
    }
    let (_, common) = compose.split_once("\n  secrets: [").expect("the secrets of every node");
    let common = common.split(']').next().unwrap();
    assert_eq!(value("secrets"), format!("[{common}, watch_key]"), "lists are not merged");
    assert_eq!(value("WATCH_KEY_FILE"), "/run/secrets/watch_key");
}

#[test]
fn the_operators_book_names_files_that_exist() {
    let book = read("docs/operating.md");
    let words = book.split(['`', ' ', '\n', ':', '(', ')']);
    let paths = words.filter(|word| {
        let made_later = word.contains("secrets/") || word.contains("certificates");
        (word.starts_with("deploy/") || word.starts_with("tests/")) && !made_later
    });
    let paths = paths.map(|path| path.trim_end_matches('.')).collect::<BTreeSet<_>>();
    assert!(paths.len() > 5, "{paths:?}");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let missing = paths.iter().filter(|path| !here.join(path).exists()).collect::<Vec<_>>();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn the_build_context_has_every_file_that_the_image_copies() {
    let ignored = read(".dockerignore");
    let dockerfile = read("Dockerfile");
    let copies = dockerfile.lines().filter_map(|line| line.strip_prefix("COPY "));
    let copies = copies.filter(|copy| !copy.starts_with("--from"));
    let sources = copies.flat_map(|copy| {
        let words = copy.split(' ').collect::<Vec<_>>();
        words[..words.len() - 1].iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()
    });
    for source in sources {
        assert!(ignored.lines().any(|line| line == format!("!{source}")), "{source}");
        assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join(&source).exists(), "{source}");
    }
}

#[test]
fn the_secrets_that_are_made_start_the_program_and_are_never_made_twice() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("secrets");
    let make = || {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/make-secrets");
        Command::new(script).arg(&folder).output().unwrap()
    };
    assert!(make().status.success());
    let kept = fs::read_to_string(folder.join("receipt_secrets")).unwrap();
    assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);

    let path = |name: &str| folder.join(name).display().to_string();
    let config = Config::from_source(&|name| match name {
        "DATABASE_URL_FILE" => Some(path("database_url")),
        "RECEIPT_SECRETS_FILE" => Some(path("receipt_secrets")),
        "LOG_KEY_FILE" => Some(path("log_key")),
        "WATCH_KEY_FILE" => Some(path("watch_key")),
        _ => None,
    });
    let config = config.unwrap();
    let password = fs::read_to_string(folder.join("postgres_password")).unwrap();
    let url = config.database_url.unwrap();
    assert!(url.expose().contains(&format!(":{}@postgres:5432/", password.trim())));
    assert_eq!(config.receipt_secrets[0].expose(), kept.trim());
    assert!(config.log_key.is_some() && config.watch_key.is_some());

    assert!(!make().status.success());
    assert_eq!(fs::read_to_string(folder.join("receipt_secrets")).unwrap(), kept);
}
