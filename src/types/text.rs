/// The trimmed text, or `None` for a missing, null, empty or blank one.
pub fn present(text: Option<&str>) -> Option<&str> {
    text.map(str::trim).filter(|text| !text.is_empty())
}

/// Names as an English enumeration.
pub fn listed(names: &[impl AsRef<str>]) -> String {
    match names {
        [] => "nothing".to_owned(),
        [only] => only.as_ref().to_owned(),
        [most @ .., last] => {
            let most = most.iter().map(AsRef::as_ref).collect::<Vec<_>>();
            format!("{} and {}", most.join(", "), last.as_ref())
        }
    }
}

/// The text with a capital first letter.
pub fn capital(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(char::to_uppercase).into_iter().flatten();
    first.chain(characters).collect()
}

#[cfg(test)]
mod tests {
    use super::listed;

    #[test]
    fn names_are_listed_as_people_do() {
        let names = ["one", "two", "three"];
        let lists = [0, 1, 2, 3].map(|count| listed(&names[..count]));
        assert_eq!(lists, ["nothing", "one", "one and two", "one, two and three"]);
    }
}
