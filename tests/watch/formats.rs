//! The files of a report: their formats, and the keys of watchers.

use serde_json::Value;

use crate::runs::{Watcher, watch};
use crate::sites::Sites;
use crate::support::process::{bare_program, run, said};

/// Text that is special in HTML, XML, JSON and URLs.
const SPECIAL: &str = r#"<!doctype html><title>Page</title><script>
    new Image().src = "http://special.localhost:PORT/a?b=<i>&c='\"]]>&d=%00%0a\u{fffe}é";
    localStorage.setItem("<b>&\"' \u0001\u{1f600}", crypto.randomUUID())
    </script>"#;

/// Reads a file with Python's own parsers, and prints what it found.
async fn parsed(script: &str, file: &std::path::Path) -> String {
    let python = std::env::var("TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let mut command = tokio::process::Command::new(python);
    command.args(["-c", script]).arg(file);
    let output = command.output().await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
async fn reports_of_special_text_can_be_read_and_contain_no_markup_of_it() {
    let sites = Sites::start(&[("odd.localhost/", SPECIAL.to_owned())]).await;
    let run = watch(&[&sites.url("odd.localhost/?a=<i>&b='\"")]).await;
    run.ends_with(1);
    let leaks = run.visit(0, "untouched")["leaks"].as_array().unwrap().len();
    let all = run.report["pages"][0]["visits"].as_array().unwrap().iter();
    let all = all.map(|visit| visit["leaks"].as_array().unwrap().len()).sum::<usize>();
    assert_eq!(leaks, 2, "{}", run.report);

    let sarif = std::fs::read(run.folder.join("report.sarif")).unwrap();
    let sarif: Value = serde_json::from_slice(&sarif).unwrap();
    assert_eq!(sarif["version"], "2.1.0");
    let made = &sarif["runs"][0];
    let rules = made["tool"]["driver"]["rules"].as_array().unwrap();
    let results = made["results"].as_array().unwrap();
    assert_eq!(results.len(), all);
    for result in results {
        assert!(rules.iter().any(|rule| rule["id"] == result["ruleId"]), "{result}");
        assert!(result["message"]["text"].as_str().is_some_and(|text| !text.is_empty()));
        assert!(["none", "note", "warning", "error"].iter().any(|level| result["level"] == *level));
        let place = &result["locations"][0]["physicalLocation"];
        let uri = place["artifactLocation"]["uri"].as_str().unwrap();
        assert!(url::Url::parse(uri).is_ok() && !uri.contains(['<', '"', ' ']), "{uri}");
        assert!(place["region"]["startLine"].as_u64().is_some_and(|line| line >= 1));
    }

    let junit = "import sys, xml.etree.ElementTree as tree; root = tree.parse(sys.argv[1]).getroot()\n\
        assert root.tag == 'testsuites'\n\
        for suite in root:\n    cases = suite.findall('testcase')\n    \
        assert int(suite.get('tests')) == len(cases)\n    \
        assert int(suite.get('failures')) == len(suite.findall('testcase/failure'))\n    \
        assert int(suite.get('errors')) == len(suite.findall('testcase/error'))\n    \
        print(len(cases), suite.get('failures'), suite.get('errors'))";
    assert_eq!(parsed(junit, &run.folder.join("report.xml")).await.trim(), "6 6 0");
    let html = "import sys, html.parser\n\
        class Reader(html.parser.HTMLParser):\n    \
        def handle_starttag(self, tag, attributes):\n        print(tag)\n\
        Reader().feed(open(sys.argv[1], encoding='utf-8').read())";
    let tags = parsed(html, &run.folder.join("report.html")).await;
    for tag in ["i", "b", "img", "script", "link", "iframe"] {
        assert!(!tags.lines().any(|found| found == tag), "{tag}: {tags}");
    }
}

#[tokio::test]
async fn each_of_two_watchers_signs_with_its_own_key() {
    let page = "<!doctype html><title>Page</title>".to_owned();
    let sites = Sites::start(&[("two.localhost/", page)]).await;
    let url = sites.url("two.localhost/");
    let mut watchers = Vec::new();
    for seed in ["11", "22"] {
        let watcher = Watcher::new();
        let mut command = watcher.command(&[&url, "--seconds", "0.2"]);
        command.env("WATCH_KEY", seed.repeat(32));
        assert_eq!(command.output().await.unwrap().status.code(), Some(2));
        let report = std::fs::read(watcher.report().join("report.json")).unwrap();
        let report: Value = serde_json::from_slice(&report).unwrap();
        watchers.push((report["watcher"].as_str().unwrap().to_owned(), watcher));
    }
    assert_ne!(watchers[0].0, watchers[1].0);
    for (named, watcher) in &watchers {
        for (key, _) in &watchers {
            let mut command = bare_program();
            command.arg("verify").arg(watcher.report()).args(["--key", key]);
            let (code, output, complaint) = said(&run(command).await);
            assert_eq!(code, Some(i32::from(key != named)), "{output}{complaint}");
        }
    }
    let (one, other) = (watchers[0].1.report(), watchers[1].1.report());
    std::fs::copy(one.join("report.note"), other.join("report.note")).unwrap();
    let mut command = bare_program();
    command.arg("verify").arg(&other);
    assert_eq!(said(&run(command).await).0, Some(1), "a note belongs to its report");
}
