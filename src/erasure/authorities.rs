//! The data protection authorities of the European Economic Area (the members of the European Data Protection
//! Board), of the United Kingdom and of Switzerland.

pub use super::countries::SupervisoryAuthority;
use super::countries::{COUNTRIES, Country};

/// Prefixes that are removed from a text before it is compared with the names of countries.
const BEFORE: [&str; 9] = [
    "the ",
    "laws of ",
    "law of ",
    "federal republic of ",
    "republic of ",
    "kingdom of ",
    "grand duchy of ",
    "bundesrepublik ",
    "republik ",
];

/// Finds the authority of the country that a text names, such as "Germany", "Berlin, Germany" or "DE". `None` for
/// other countries, and for a text that names several.
pub(super) fn find(jurisdiction: &str) -> Option<SupervisoryAuthority> {
    let text = jurisdiction.trim();
    if let Some(country) = COUNTRIES.iter().find(|it| it.codes.split(' ').any(|code| code == text))
    {
        return Some(country.authority);
    }
    let parts = text.split([',', ';', '/', '(', ')']).filter_map(of_name);
    let mut authorities = parts.map(|country| country.authority);
    let first = authorities.next()?;
    authorities.all(|other| other == first).then_some(first)
}

fn of_name(part: &str) -> Option<&'static Country> {
    let lower = part.trim().to_lowercase();
    let mut name = lower.as_str();
    while let Some(rest) = BEFORE.iter().find_map(|word| name.strip_prefix(word)) {
        name = rest;
    }
    COUNTRIES.iter().find(|it| it.names.split(", ").any(|known| known == name))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn url(jurisdiction: &str) -> Option<&'static str> {
        find(jurisdiction).map(|authority| authority.url)
    }

    #[test]
    fn a_country_is_found_by_its_names_and_codes() {
        for text in ["Germany", " deutschland ", "DE", "Berlin, Germany", "Germany (EU)", "Niemcy"]
        {
            assert_eq!(url(text), Some("https://www.bfdi.bund.de/"), "{text}");
        }
        for text in ["Ireland", "The Republic of Ireland", "the laws of Ireland", "Éire"] {
            assert_eq!(url(text), Some("https://www.dataprotection.ie/"), "{text}");
        }
        for text in ["England and Wales", "Northern Ireland", "GB", "UK"] {
            assert_eq!(url(text), Some("https://ico.org.uk/"), "{text}");
        }
        assert_eq!(url("Ελλάδα"), Some("https://www.dpa.gr/"));
    }

    #[test]
    fn other_countries_and_several_ones_have_none() {
        for text in
            ["", "EU", "California", "Delaware, DE, USA", "no", "Germany, Austria", "Utopia"]
        {
            assert_eq!(url(text), None, "{text}");
        }
    }

    #[test]
    fn every_name_is_that_of_one_country() {
        let mut names = HashSet::new();
        for country in &COUNTRIES {
            assert!(country.authority.url.starts_with("https://"), "{}", country.names);
            for name in country.names.split(", ").chain(country.codes.split(' ')) {
                assert!(names.insert(name), "{name}");
                assert_eq!(find(name), Some(country.authority), "{name}");
            }
        }
    }
}
