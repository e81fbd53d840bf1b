use url::form_urlencoded::{self, Serializer};

/// The address of a list, from which the addresses of its pages are made (RFC 8288).
#[derive(Clone, Debug)]
pub struct PageAddress {
    path: String,
    query: String,
}

impl PageAddress {
    /// `path` begins with the service's base URL; `query` is that of the request.
    pub fn new(path: String, query: &str) -> Self {
        Self { path, query: query.to_owned() }
    }

    pub fn of_page(&self, parameter: &str, value: &str) -> String {
        let given = form_urlencoded::parse(self.query.as_bytes());
        let others = given.filter(|(name, _)| name != parameter);
        let mut query = Serializer::new(String::new());
        let query = query.extend_pairs(others).append_pair(parameter, value).finish();
        format!("{}?{query}", self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::PageAddress;

    #[test]
    fn the_other_parameters_are_kept_as_they_were_meant() {
        let list = PageAddress::new("https://a.example/v1/x".to_owned(), "q=a%26b&after=1&q=c");
        assert_eq!(list.of_page("after", "2 3"), "https://a.example/v1/x?q=a%26b&q=c&after=2+3");
        let list = PageAddress::new("https://a.example/v1/x".to_owned(), "");
        assert_eq!(list.of_page("before", "ä"), "https://a.example/v1/x?before=%C3%A4");
    }
}
