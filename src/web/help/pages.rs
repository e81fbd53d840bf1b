use super::articles::SLUGS;

/// The pages that search engines may list, besides the articles of the help.
const LISTED: [&str; 14] = [
    "/",
    "/guide",
    "/docs",
    "/site/pixel",
    "/site/permission",
    "/help",
    "/contact",
    "/status",
    "/verify",
    "/privacy",
    "/terms",
    "/dpa",
    "/subprocessors",
    "/accessibility",
];

const OTHERS: [&str; 5] = ["/guide/tag", "/guide/webhooks", "/docs/reference", "/log", "/demo"];

pub fn listed() -> impl Iterator<Item = String> {
    let articles = SLUGS.iter().map(|slug| format!("/help/{slug}"));
    LISTED.iter().map(|&path| path.to_owned()).chain(articles)
}

/// Whether a page is also served as Markdown with `.md` at the end of its address.
pub fn has_markdown(path: &str) -> bool {
    let article = path.strip_prefix("/help/");
    LISTED.contains(&path)
        || OTHERS.contains(&path)
        || path.starts_with("/watch/")
        || article.is_some_and(|slug| SLUGS.contains(&slug))
}
