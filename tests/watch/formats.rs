//! The files of a report: their formats, and the key of their watcher.

use assent::proof::format::note::NoteSigner;
use serde_json::Value;

use crate::runs::{watch, watch_with};
use crate::sites::Sites;
use crate::support::watch_reports::ReportMade;
use crate::verification::verified;

/// Text that is special in HTML, XML, JSON and URLs.
const SPECIAL: &str = r#"<!doctype html><title>Page</title>
    <script async title="</code><i>'&quot;" o"n<b=1 src="http://special.localhost:PORT/s.js"></script>
    <script>
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
    assert_eq!(leaks, 3, "{}", run.report);

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
        let location = &result["locations"][0]["physicalLocation"];
        let uri = location["artifactLocation"]["uri"].as_str().unwrap();
        let base = url::Url::parse("https://code.example/").unwrap();
        let is_relative = base.join(uri).is_ok_and(|url| url.as_str() == format!("{base}{uri}"));
        assert!(is_relative && uri.starts_with("odd.localhost"), "{uri}");
        assert!(location["region"]["startLine"].as_u64().is_some_and(|line| line >= 1));
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
    let html = std::fs::read_to_string(run.folder.join("report.html")).unwrap();
    let line =
        " async title=&quot;&amp;lt;/code&amp;gt;&amp;lt;i&amp;gt;&amp;#39;&amp;quot;&quot;&gt;";
    assert!(html.contains(line) && !html.contains("o&quot;n"), "{html}");
}

/// A page that loads nothing is silent.
#[tokio::test]
async fn a_watcher_signs_with_its_own_key_and_a_note_belongs_to_its_report() {
    let page = "<!doctype html><title>Page</title><style>p { color: green }</style><p>Text</p>";
    let sites = Sites::start(&[("plain.localhost/", page.to_owned())]).await;
    let url = sites.url("plain.localhost/");
    let (seed, other) = ("11".repeat(32), [0x22_u8; 32]);
    let run = watch_with(&[("WATCH_KEY", &seed)], &[&url, "--seconds", "0.2"]).await;
    run.ends_with(2);
    run.has_no_leak(0);
    let key = |seed: &[u8]| NoteSigner::new("assent-watch", seed).unwrap().verifier().to_string();
    let (own, other) = (key(&[0x11_u8; 32]), key(&other));
    assert_eq!(run.report["watcher"], own.as_str());
    for (key, code) in [(&own, 0), (&other, 1)] {
        assert_eq!(verified(&run.folder, &["--key", key]).await, Some(code), "{key}");
    }
    assert_eq!(verified(&run.folder, &[]).await, Some(0));
    let note = ReportMade::of("plain.localhost").note();
    std::fs::write(run.folder.join("report.note"), note).unwrap();
    assert_eq!(verified(&run.folder, &[]).await, Some(1));
}
