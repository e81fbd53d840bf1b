//! Distinguishes requests and connections that a page caused from those of the browser itself.

/// Sites of documents that were shown, in the form of partition keys: scheme and site.
#[derive(Debug, Default)]
pub struct Documents(Vec<String>);

impl Documents {
    pub fn add(&mut self, partition: &str) {
        if let Some(site) = top_site(partition)
            && !self.0.iter().any(|known| known == site)
        {
            self.0.push(site.to_owned());
        }
    }

    pub fn have(&self, partition: &str) -> bool {
        top_site(partition).is_some_and(|site| self.0.iter().any(|known| known == site))
    }
}

/// The first site of a key such as `https://shop.example https://frame.example`.
fn top_site(partition: &str) -> Option<&str> {
    let site = partition.trim_start_matches('<').split([' ', '>']).next()?;
    site.starts_with("http").then_some(site)
}

/// Whether an initiator is the origin of a page; it may be opaque, but the browser's own pages do not count.
pub fn is_page(initiator: &str) -> bool {
    !(initiator.is_empty() || initiator == "not an origin" || initiator.starts_with("chrome"))
}

/// The origin and the partition in the name of a socket pool group, such as
/// `pm/https://cdn.example <https://shop.example same_site>`.
pub fn group(id: &str) -> Option<(&str, &str)> {
    let (address, partition) = id.split_once(" <")?;
    let start = ["https://", "http://", "wss://", "ws://"].iter().find_map(|s| address.find(s))?;
    Some((&address[start..], partition.trim_end_matches('>')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_name_an_origin_and_a_partition() {
        let parts = group("pmpsa/https://cdn.example:81 <https://shop.example cross_site>");
        assert_eq!(parts, Some(("https://cdn.example:81", "https://shop.example cross_site")));
        assert_eq!(group("http://a.example <null>"), Some(("http://a.example", "null")));
        assert_eq!(group("nonsense"), None);
    }

    #[test]
    fn the_browser_has_partitions_of_its_own() {
        let mut documents = Documents::default();
        documents.add("https://shop.example https://shop.example");
        documents.add("null null");
        assert!(documents.have("https://shop.example https://frame.example"));
        assert!(documents.have("https://shop.example same_site"));
        assert!(!documents.have("https://google.com same_site") && !documents.have("null"));
        assert!(is_page("null [internally: derived from https://a.example]"));
        assert!(!is_page("not an origin") && !is_page("chrome://new-tab-page"));
    }
}
