//! `report.xml`: JUnit, a suite per page and a case per visit. `quick-junit` would need as many lines, and add
//! `quick-xml` and two more libraries.

use std::fmt::Write;

use super::escape::escape;
use super::model::{Report, VisitReport, sentence};

pub fn junit(report: &Report) -> String {
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    for page in &report.pages {
        let failures = page.visits.iter().filter(|visit| !visit.leaks.is_empty()).count();
        let is_missing = |visit: &&VisitReport| visit.leaks.is_empty() && visit.silent.is_none();
        let errors = page.visits.iter().filter(is_missing).count();
        let _ = writeln!(
            text,
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\" \
             timestamp=\"{}\">",
            xml(&page.url),
            page.visits.len(),
            xml(&report.time),
        );
        for visit in &page.visits {
            let name = visit.visit.name();
            let _ = writeln!(text, "    <testcase classname=\"assent watch\" name=\"{name}\">");
            if !visit.leaks.is_empty() {
                let count = visit.leaks.len();
                let leaks = if count == 1 { "leak" } else { "leaks" };
                let _ = writeln!(text, "      <failure message=\"{count} {leaks}\">");
                for leak in &visit.leaks {
                    let _ = writeln!(text, "{}", xml(&sentence(page, visit, leak)));
                }
                text.push_str("      </failure>\n");
            } else if let Some(reason) = &visit.unobserved {
                let _ = writeln!(text, "      <error message=\"{}\"/>", xml(reason));
            }
            text.push_str("    </testcase>\n");
        }
        text.push_str("  </testsuite>\n");
    }
    text.push_str("</testsuites>\n");
    text
}

/// Text without the characters that XML cannot contain, escaped.
fn xml(text: &str) -> String {
    let is_allowed =
        |character: &char| !character.is_control() && !matches!(character, '\u{fffe}' | '\u{ffff}');
    escape(&text.chars().filter(is_allowed).collect::<String>())
}
