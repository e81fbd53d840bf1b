//! `report.html`: the report for human readers, in one file without external resources.

use std::fmt::Write;

use super::escape::escape;
use super::gated::GatedLines;
use super::model::{Page, Report, VisitReport};
use crate::verdict::{Leak, Listed};
use crate::visit::Visit;

/// On a narrow screen each cell is a line, which begins with the name of its column.
const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;\
color:#1c2130;background:#fff;overflow-wrap:anywhere}\
table{border-collapse:collapse;width:100%;margin:.5rem 0 1rem}\
th,td{text-align:left;vertical-align:top;padding:.35rem .5rem;border-bottom:1px solid #d5d9e3}\
th{white-space:nowrap}td:nth-child(1),td:nth-child(5){min-width:9rem}td:nth-child(2),td:nth-child(3){white-space:nowrap}\
code{font-size:.9em}.leak{color:#a3121f}.silent{color:#14652f}.none{color:#6b4a00}\
@media(max-width:45rem){th{display:none}td{display:block;border:0;padding:.1rem 0}td:empty{display:none}\
td::before{content:attr(data-column) \": \";font-weight:600}tr{display:block;padding:.5rem 0;border-bottom:1px solid #d5d9e3}}\
@media(prefers-color-scheme:dark){body{color:#e8eaf2;background:#14161c}th,td,tr{border-color:#3a3f4d!important}\
a{color:#9db7ff}.leak{color:#ff9aa2}.silent{color:#8fe0ab}.none{color:#f1cd85}}";

const COLUMNS: [&str; 6] = ["Host", "Kind", "After", "What", "Caused by", "Line to paste instead"];

pub fn html(report: &Report) -> String {
    let mut text = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <title>Report of assent watch</title><style>{STYLE}</style></head><body>\n\
         <h1>What was loaded or stored without consent</h1>\n\
         <p>{}. {}{}; {} s of observation in each visit. Watcher: <code>{}</code></p>\n",
        escape(&report.time),
        escape(&report.browser.version),
        if report.browser.sandbox { "" } else { " without a sandbox" },
        report.seconds,
        escape(&report.watcher),
    );
    for page in &report.pages {
        page_html(&mut text, page);
    }
    text.push_str("<h2>Not covered</h2>\n<ul>\n");
    for sentence in &report.not_covered {
        let _ = writeln!(text, "<li>{}</li>", escape(sentence));
    }
    text.push_str("</ul>\n</body></html>\n");
    text
}

fn page_html(text: &mut String, page: &Page) {
    let _ = writeln!(text, "<h2>{}</h2>", escape(&page.url));
    match &page.tag {
        Some(tag) => {
            let _ = writeln!(
                text,
                "<p>Tag: <code>{}</code>, SHA-256 <code>{}</code></p>",
                escape(&tag.url),
                tag.sha256.as_deref().unwrap_or("unknown"),
            );
        }
        None => text.push_str("<p>The page has no consent tag.</p>\n"),
    }
    let lines = page.gated_lines();
    for visit in &page.visits {
        visit_html(text, visit, &lines);
    }
}

fn visit_html(text: &mut String, visit: &VisitReport, lines: &GatedLines<'_>) {
    let (class, verdict) = match (visit.leaks.len(), visit.silent) {
        (0, Some(_)) => ("silent", "silent".to_owned()),
        (0, None) => ("none", "not observed".to_owned()),
        (1, _) => ("leak", "1 leak".to_owned()),
        (count, _) => ("leak", format!("{count} leaks")),
    };
    let (name, described) = (visit.visit.name(), described(visit.visit));
    let _ = writeln!(
        text,
        "<h3>{name}: <span class=\"{class}\">{verdict}</span></h3>\n<p>{described}</p>"
    );
    if let Some(reason) = &visit.unobserved {
        let _ = writeln!(text, "<p>Not observed: {}.</p>", escape(reason));
    }
    leaks_html(text, "Leaks", &visit.leaks, lines);
    leaks_html(text, "Allowed", &visit.allowed, lines);
    listed_html(text, "Still stored after the withdrawal", &visit.kept);
    listed_html(text, "Cookies", &visit.cookies);
    listed_html(text, "Storage", &visit.storage);
    if let Some(picture) = &visit.screenshot {
        let file = escape(&picture.file);
        let _ = writeln!(text, "<p><a href=\"{file}\">Picture of the page</a></p>");
    }
}

fn described(visit: Visit) -> &'static str {
    match visit {
        Visit::Untouched => "The visitor does not choose.",
        Visit::Declined => "The visitor declines.",
        Visit::AcceptedThenWithdrawn => {
            "The visitor accepts and then withdraws the consent; what starts in between is permitted."
        }
        Visit::Gpc => "The browser sends Global Privacy Control.",
        Visit::Returning => "The visitor declines, leaves and opens the page again.",
        Visit::Blocked => "The consent tag cannot be loaded.",
    }
}

fn leaks_html(text: &mut String, title: &str, leaks: &[Leak], lines: &GatedLines<'_>) {
    if leaks.is_empty() {
        return;
    }
    let _ = writeln!(text, "<h4>{title}</h4>\n<table><tr>");
    for column in COLUMNS {
        let _ = write!(text, "<th>{column}</th>");
    }
    text.push_str("</tr>\n");
    for leak in leaks {
        let what = match &leak.identifier {
            Some(facts) => format!("{} {}: {}", facts.store, facts.name, facts.reason),
            None => leak.url.clone(),
        };
        let cause = leak.initiator.as_ref();
        let cause =
            cause.map_or("unknown".to_owned(), |at| format!("{}, line {}", at.url, at.line));
        let line = lines.line(leak);
        let cells = [
            escape(&leak.host),
            leak.kind.name().to_owned(),
            format!("{} ms", leak.at_ms),
            escape(&what),
            escape(&cause),
            line.map_or_else(String::new, |line| format!("<code>{}</code>", escape(&line))),
        ];
        text.push_str("<tr>");
        for (column, cell) in COLUMNS.into_iter().zip(cells) {
            let _ = write!(text, "<td data-column=\"{column}\">{cell}</td>");
        }
        text.push_str("</tr>\n");
    }
    text.push_str("</table>\n");
}

fn listed_html(text: &mut String, title: &str, listed: &[Listed]) {
    if listed.is_empty() {
        return;
    }
    let _ = writeln!(text, "<h4>{title}</h4>\n<ul>");
    for entry in listed {
        let _ = writeln!(
            text,
            "<li><code>{}</code> of {} ({}): {}</li>",
            escape(&entry.name),
            escape(&entry.host),
            entry.store,
            escape(&entry.reason),
        );
    }
    text.push_str("</ul>\n");
}
