//! The texts of a mail, rendered in the language of its recipient.

use serde_json::Value;
use tera::Context;

use super::rendered_mail::RenderedMail;
use crate::infra::templates::language::{self, Language};
use crate::infra::templates::render_mail;

pub(super) struct Texts {
    pub subject: String,
    pub text: String,
    pub html: String,
}

impl RenderedMail {
    /// The texts in the language of the recipient, or in English if rendering in that language fails.
    pub(super) fn texts(&self, template: &str) -> tera::Result<Texts> {
        let language = self.recipient.language;
        let texts = self.texts_in(language, template);
        match &texts {
            Err(error) if !language.is_english() => {
                tracing::error!(?error, template, language = language.tag, "a mail is in English");
                self.texts_in(language::english(), template)
            }
            _ => texts,
        }
    }

    fn texts_in(&self, language: &'static Language, template: &str) -> tera::Result<Texts> {
        let localiser = language.localiser(self.recipient.time_zone);
        let mut values = self.values.clone();
        localiser.localise(&mut values);
        if let Value::Object(values) = &mut values {
            values.insert("lang".to_owned(), language.tag.into());
        }
        let context = Context::from_value(values)?;
        Ok(Texts {
            subject: localiser.text(&self.subject),
            text: render_mail(language, &format!("mail/{template}.txt"), &context)?,
            html: render_mail(language, &format!("mail/{template}.html"), &context)?,
        })
    }
}
