use pulldown_cmark::{Event, Parser, TagEnd, html};
use serde::Serialize;

use crate::infra::templates::{self, Language};

/// The last path segments of the articles, in the order in which they are listed.
pub const SLUGS: [&str; 11] = [
    "getting-started",
    "install",
    "popup-does-not-appear",
    "popup-and-notice",
    "numbers",
    "contacts",
    "erasure-requests",
    "evidence",
    "members-and-keys",
    "lost-mailbox",
    "billing",
];

#[derive(Serialize)]
pub struct Article {
    pub slug: &'static str,
    pub title: String,
    /// The first paragraph, as text.
    pub summary: String,
    #[serde(skip)]
    markdown: &'static str,
}

impl Article {
    pub fn find(slug: &str, language: &Language) -> Option<Self> {
        SLUGS.into_iter().find(|known| *known == slug).map(|slug| Self::of(slug, language))
    }

    fn of(slug: &'static str, language: &Language) -> Self {
        let markdown =
            templates::text(&templates::name_in(language, "help", &format!("{slug}.md")));
        let mut paragraphs = paragraphs(markdown).into_iter();
        let title = paragraphs.next().unwrap_or_default();
        Self { slug, title, summary: paragraphs.next().unwrap_or_default(), markdown }
    }

    /// The article as HTML, without its title.
    pub fn html(&self) -> String {
        let body = self.markdown.split_once('\n').map_or("", |(_, body)| body);
        let mut page = String::new();
        html::push_html(&mut page, Parser::new(body));
        page
    }

    fn has(&self, word: &str) -> bool {
        self.markdown.to_lowercase().contains(word)
    }
}

/// The articles that contain all words. Those with any of the words in the title come first.
pub fn search(words: &str, language: &Language) -> Vec<Article> {
    let words = words.to_lowercase();
    let words = words.split_whitespace().collect::<Vec<_>>();
    let all = SLUGS.into_iter().map(|slug| Article::of(slug, language));
    let mut found =
        all.filter(|article| words.iter().all(|word| article.has(word))).collect::<Vec<_>>();
    found.sort_by_key(|article| {
        let title = article.title.to_lowercase();
        !words.iter().any(|word| title.contains(word))
    });
    found
}

/// The texts of the headings, paragraphs and items.
fn paragraphs(markdown: &str) -> Vec<String> {
    let (mut all, mut text) = (Vec::new(), String::new());
    for event in Parser::new(markdown) {
        match event {
            Event::Text(part) | Event::Code(part) => text.push_str(&part),
            Event::SoftBreak => text.push(' '),
            Event::End(TagEnd::Heading(_) | TagEnd::Paragraph | TagEnd::Item) => {
                all.push(std::mem::take(&mut text));
            }
            _ => {}
        }
    }
    all.retain(|text| !text.is_empty());
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infra::templates::language::{all, english};

    #[test]
    fn every_article_has_a_title_a_summary_and_a_text() {
        for (slug, language) in
            SLUGS.into_iter().flat_map(|slug| all().iter().map(move |it| (slug, it)))
        {
            let article = Article::find(slug, language).unwrap();
            assert!(!article.title.is_empty() && article.summary.len() > 30, "{slug}");
            assert!(article.html().contains("<p>") && !article.html().contains("<h1>"), "{slug}");
        }
    }

    #[test]
    fn articles_are_found_by_all_words_and_titles_come_first() {
        let found =
            |words: &str| search(words, english()).iter().map(|it| it.slug).collect::<Vec<_>>();
        assert_eq!(found("WordPress caching"), ["install"]);
        assert_eq!(found("erasure")[0], "erasure-requests");
        assert_eq!(found("").len(), SLUGS.len());
        assert!(found("zeppelin").is_empty());
    }
}
