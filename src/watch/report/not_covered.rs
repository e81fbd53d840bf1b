//! The limits of a report: what a run does not find.

/// The limits of every report.
pub const NOT_COVERED: [&str; 11] = [
    "What a page does after the observation: each visit lasts some seconds.",
    "Other networks, countries, devices and browsers: every visit was made from one network with one browser.",
    "Pages that behave differently for automated browsers: the automation is visible to the page.",
    "Data that the site's own servers pass on to others, and hosts of the site's domain that belong to others (CNAME).",
    "Look-ups of names (DNS), also by dns-prefetch.",
    "Other pages of the site, and what happens after clicks, touches, typing or signing in, while the mouse is over an \
     element, or when it leaves the window.",
    "More than 100 addresses of one host and kind in one visit, or 1000 among its leaks or among what is allowed: the first \
     of each host and kind is listed before further ones.",
    "Values in the origin private file system, in Storage Buckets, in the HTTP cache (ETag) and in the list of HSTS hosts; \
     in Cache Storage the bodies of opaque responses, and headers that differ in each response, such as Date.",
    "After a withdrawal, writing the same value again to an entry that still contains it, except for cookies.",
    "Identifiers that are the same in every visit, such as fingerprints of the browser or what a server remembers by \
     address; numbers that count visitors; the names of empty databases and caches, and the addresses of service workers.",
    "Values for a moment: a cookie or an entry of local storage that a script removes within 0.1 seconds, an entry of local \
     storage of more than 4096 characters and values of IndexedDB and Cache Storage that are gone at the end, an icon that \
     is named for a time; redirects of icons, icons of a web app manifest, and descriptions of searches (OpenSearch).",
];

/// An additional limit of reports from nodes.
const NOT_COVERED_ON_NODE: &str = "WebRTC to servers of a frame that has ended: the browser of a node sends no packets of WebRTC, \
     so that the servers count which its connections name when the page is left.";

/// The limits of a report, by whether a node made it.
pub fn not_covered(is_on_node: bool) -> Vec<String> {
    let on_node = is_on_node.then_some(NOT_COVERED_ON_NODE);
    NOT_COVERED.into_iter().chain(on_node).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_of_nodes_have_one_limit_more() {
        let (elsewhere, on_node) = (not_covered(false), not_covered(true));
        assert_eq!(on_node[..elsewhere.len()], elsewhere);
        assert!(on_node.len() == elsewhere.len() + 1 && on_node.last().unwrap().contains("WebRTC"));
    }
}
