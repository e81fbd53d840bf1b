//! Forms that must be confirmed with a code. The code is mailed when the form is sent, and typed on a page
//! that keeps the form's fields. Without a mail server, an API key replaces the code.

use rocket_dyn_templates::context;

use super::form::Form;
use super::member::Member;
use super::reply::Reply;
use super::screen::{NavLocation, Screen};
use super::words::sentence;
use crate::accounts::codes::account_code_order::{CodeOrder, OrderCode};
use crate::accounts::codes::code_purpose::CodePurpose;
use crate::accounts::sign_in::proof::Proof;
use crate::error::{Error, Result};
use crate::infra::templates::{Message, tr};

pub struct Step<'a> {
    pub title: Message,
    pub what: Message,
    pub action: String,
    pub fields: Vec<(&'static str, String)>,
    pub button: Message,
    pub is_grave: bool,
    pub back: &'a str,
    pub part: &'static str,
    pub purpose: CodePurpose,
    pub mailbox: String,
    pub present: Option<PresentMailbox>,
    pub calls: &'static [&'static str],
}

pub struct PresentMailbox {
    pub address: String,
    /// The number of days for which the change is pending if the code of this mailbox is missing.
    pub days: i64,
}

/// The code of the current mailbox; `None` when the field was left empty.
pub fn present_code_of(form: &Form) -> Option<String> {
    let code = form.text("current_code").split_whitespace().collect::<String>();
    (!code.is_empty()).then_some(code)
}

/// The code of a form; spaces between the digits are permitted.
pub fn code_of(form: &Form) -> Option<String> {
    let is_typed = form.get("step") == Some("prove");
    is_typed.then(|| form.text("code").split_whitespace().collect())
}

pub fn is_about_the_code(error: &Error) -> bool {
    matches!(error, Error::InvalidCode | Error::TooManyAttempts { .. })
}

impl Step<'_> {
    pub async fn begin(&self, member: &Member<'_>) -> Result<Reply> {
        let email = Some(self.mailbox.clone());
        member.ask::<OrderCode>(CodeOrder { purpose: self.purpose, email }).await?;
        if let Some(PresentMailbox { address, .. }) = &self.present {
            let order = CodeOrder { purpose: self.purpose, email: Some(address.clone()) };
            match member.ask::<OrderCode>(order).await {
                // The owner may have lost the current mailbox, so a failed mail to it is not an error.
                Ok(_) | Err(Error::ConfirmationMailFailed) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(self.page(member, 200, None))
    }

    pub fn page(&self, member: &Member<'_>, status: u16, wrong: Option<&Error>) -> Reply {
        let by_mail = Proof::of(&member.app.infra.outbox) == Proof::Mail;
        let content = context! {
            what: &self.what,
            action: &self.action,
            fields: &self.fields,
            button: &self.button,
            is_grave: self.is_grave,
            back: self.back,
            mailbox: &self.mailbox,
            present: self.present.as_ref().map(|present| &*present.address),
            days: self.present.as_ref().map(|present| present.days),
            by_mail,
            error: wrong.map(|error| match (error, by_mail) {
                (Error::InvalidCode, false) => tr("This is not an Admin key of this account."),
                (error, _) => sentence(error),
            }),
        };
        let screen = Screen {
            template: "console/proof.html",
            title: self.title.clone(),
            location: NavLocation::AccountPart(self.part),
            calls: self.calls,
        };
        member.screen_with_status(status, screen, content)
    }
}
