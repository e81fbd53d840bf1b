//! The languages of our own pages and mails: English, and those that have a catalogue in `templates/locales/`. The
//! templates of a language are parsed at its first use, so that unused languages take neither time nor memory.

use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use chrono_tz::Tz;
use tera::{Context, Tera, Value};

use super::catalogue::Catalogue;
use super::embedded::{EMBEDDED, is_translated, mails};
use super::localiser::{Localiser, register_number};
use super::paragraphs::paragraphs;
use super::segments::{segments, translated};
use crate::types::locales::best_of;

const FOLDER: &str = "locales/";
const ENGLISH: &str = "en";
/// The beginning of the line in a catalogue's header that contains the language's own name, such as `Deutsch`.
const NAME: &str = "\"X-Language-Name: ";

pub struct Language {
    /// BCP 47 tag.
    pub tag: &'static str,
    /// The language's own name, such as `Deutsch`.
    pub name: &'static str,
    po: &'static str,
    catalogue: OnceLock<Catalogue>,
    engine: OnceLock<Tera>,
    mails: OnceLock<Tera>,
}

static LANGUAGES: LazyLock<Vec<Language>> = LazyLock::new(|| {
    let of_catalogue = |(name, po): (&'static str, &'static str)| {
        let tag = name.strip_prefix(FOLDER)?.strip_suffix(".po")?;
        Some(Language::new(tag, name_in(po).unwrap_or(tag), po))
    };
    let english = Language::new(ENGLISH, "English", "");
    std::iter::once(english).chain(EMBEDDED.iter().copied().filter_map(of_catalogue)).collect()
});

fn name_in(po: &'static str) -> Option<&'static str> {
    po.lines().find_map(|line| line.strip_prefix(NAME)?.strip_suffix("\\n\""))
}

/// English first.
pub fn all() -> &'static [Language] {
    &LANGUAGES
}

pub fn english() -> &'static Language {
    &LANGUAGES[0]
}

/// The language of a tag: `de-AT` and `de_AT` are `de`.
pub fn find(tag: &str) -> Option<&'static Language> {
    let language = tag.trim().split(['-', '_']).next().unwrap_or_default();
    all().iter().find(|known| known.tag.eq_ignore_ascii_case(language))
}

/// The best language of an `Accept-Language`.
pub fn accepted(header: &str) -> Option<&'static Language> {
    let of_range = |range: &str| if range == "*" { Some(english()) } else { find(range) };
    best_of(header, of_range, |language| language.tag)
}

impl Language {
    fn new(tag: &'static str, name: &'static str, po: &'static str) -> Self {
        let (catalogue, engine, mails) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Self { tag, name, po, catalogue, engine, mails }
    }

    pub fn is_english(&self) -> bool {
        self.tag == ENGLISH
    }

    pub fn catalogue(&self) -> &Catalogue {
        self.catalogue.get_or_init(|| Catalogue::of(self.po))
    }

    pub fn localiser(&self, time_zone: Tz) -> Localiser<'_> {
        Localiser { catalogue: self.catalogue(), time_zone }
    }

    /// Renders a translated page, or a text of `texts/` in this language.
    pub fn render(&'static self, name: &str, values: &Value) -> tera::Result<String> {
        self.engine()?.render(name, &Context::from_serialize(values)?)
    }

    fn engine(&'static self) -> tera::Result<&'static Tera> {
        if let Some(engine) = self.engine.get() {
            return Ok(engine);
        }
        let made = self.make()?;
        Ok(self.engine.get_or_init(|| made))
    }

    fn make(&'static self) -> tera::Result<Tera> {
        let (mut tera, catalogue) = (Tera::default(), self.catalogue());
        register_number(&mut tera, catalogue);
        let papers = format!("texts/papers/{}/", self.tag);
        let templates = EMBEDDED.iter().filter_map(|(name, source)| {
            if name.starts_with(&papers) {
                return Some((*name, (*source).to_owned()));
            }
            let find = |id: &str| catalogue.find_in(name, id).map(str::to_owned);
            is_translated(name).then(|| (*name, translated(source, segments(source), find)))
        });
        tera.add_raw_templates(templates.collect::<Vec<_>>())?;
        Ok(tera)
    }

    /// Renders a template of a mail.
    pub fn render_mail(&'static self, name: &str, context: &Context) -> tera::Result<String> {
        self.mails.get_or_init(|| self.make_mails()).render(name, context)
    }

    /// Parses the templates of mails. An invalid translation is replaced with the English template, so no mail fails.
    fn make_mails(&'static self) -> Tera {
        let (mut tera, catalogue) = (Tera::default(), self.catalogue());
        for (name, source) in mails() {
            let find = |id: &str| catalogue.find_in(name, id).map(str::to_owned);
            let own = translated(source, texts_of(name, source), find);
            let added = tera.add_raw_template(name, &own).or_else(|error| {
                tracing::error!(?error, name, language = self.tag, "a mail is not translated");
                tera.add_raw_template(name, source)
            });
            added.expect("the embedded templates are valid");
        }
        tera
    }
}

/// The ranges of the translatable texts in a template of HTML or of plain text.
pub fn texts_of(name: &str, source: &str) -> Vec<Range<usize>> {
    if name.ends_with(".txt") { paragraphs(source) } else { segments(source) }
}
