//! What can be asked for about a pixel's install: its snippets, and whether it is on its site.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::accounts::access::{Caller, GoodStanding};
use crate::accounts::capability::Capability;
use crate::accounts::scope::{Operates, Reads};
use crate::accounts::tool::Tool;
use crate::error::Error::*;
use crate::error::{Error, Result, missing_field};
use crate::infra::Infra;
use crate::infra::limits::per_client::Limit;
use crate::pixels::input::{OfPixel, OnPixel, offered_method};
use crate::pixels::install_check::{self, InstallView};
use crate::pixels::setup;
use crate::pixels::snippets::snippet::{self, CommerceAction, CommerceSnippet};
use crate::pixels::snippets::snippet_mail::{self, MailedSnippet, SnippetMail, SnippetMailRequest};
use crate::types::email::Email;

/// A check of the site: is the pixel there?
pub struct CheckInstall;

impl Capability for CheckInstall {
    const NAME: &'static str = "check_install";
    const TOOL: Option<Tool> = Some(Tool::ADDITIVE.idempotent().open_world().described(
        "Fetches the site's home page over HTTPS and tells whether the pixel is on it. \
         `installed` is the goal; `unreachable` comes with `check_error`, always for \
         `localhost`. `findings` says what is in its way, with a cure for each.",
    ));
    type Part = Infra;
    type Access = GoodStanding<Operates>;
    type Input = OfPixel;
    type Output = InstallView;

    fn refusals() -> Vec<Error> {
        vec![
            PixelNotFound,
            InstallCheckerOff,
            TooManyRequests { retry_after: 6 },
            Busy { retry_after: 5 },
        ]
    }

    async fn run(
        infra: &Infra,
        caller: Caller,
        OfPixel { pixel_id }: OfPixel,
    ) -> Result<InstallView> {
        install_check::check_install(infra, &caller, &pixel_id).await
    }
}

/// What the last look at the site has found.
pub struct ShowInstall;

impl Capability for ShowInstall {
    const NAME: &'static str = "show_install";
    const TOOL: Option<Tool> = Some(
        Tool::READ_ONLY
            .described("Tells what the last look found; installed pixels are looked at daily."),
    );
    type Part = Infra;
    type Access = GoodStanding<Reads>;
    type Input = OfPixel;
    type Output = InstallView;

    fn refusals() -> Vec<Error> {
        vec![PixelNotFound]
    }

    async fn run(
        infra: &Infra,
        caller: Caller,
        OfPixel { pixel_id }: OfPixel,
    ) -> Result<InstallView> {
        install_check::show_install(infra, &caller, &pixel_id).await
    }
}

/// For an action of a shop's visitors.
#[derive(Deserialize, JsonSchema)]
pub struct CommerceRequest {
    #[schemars(with = "CommerceAction")]
    pub action: String,
}

/// The lines that report an action of a shop's visitors.
pub struct GetCommerceSnippet;

impl Capability for GetCommerceSnippet {
    const NAME: &'static str = "get_commerce_snippet";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "Gives the lines that report one action of a shop's visitors, beside the pixel's own \
         snippet.",
    ));
    type Part = Infra;
    type Access = GoodStanding<Reads>;
    type Input = OnPixel<CommerceRequest>;
    type Output = CommerceSnippet;

    fn refusals() -> Vec<Error> {
        vec![PixelNotFound, SnippetNotFound]
    }

    async fn run(
        infra: &Infra,
        caller: Caller,
        OnPixel { pixel_id, input }: OnPixel<CommerceRequest>,
    ) -> Result<CommerceSnippet> {
        let pixel = setup::find_for(infra, &caller, &pixel_id).await?;
        let action = CommerceAction::parse(&input.action).ok_or(SnippetNotFound)?;
        Ok(snippet::commerce(action, pixel.pixel_id, infra.base_url()))
    }
}

/// A snippet, mailed to whoever can paste it.
pub struct EmailSnippet;

impl Capability for EmailSnippet {
    const NAME: &'static str = "email_snippet";
    const TOOL: Option<Tool> = Some(Tool::ADDITIVE.open_world().described(
        "Mails a snippet to the person who can paste it, at most once in ten minutes per pixel. \
         The immediate one identifies visitors WITHOUT asking them: for sites that ask for \
         consent send `present`, what `show_pixel` gives. `sent` is false where the service has \
         no mail server.",
    ));
    const LIMIT: Option<Limit> = Some(Limit::Mails);
    type Part = Infra;
    type Access = GoodStanding<Operates>;
    type Input = OnPixel<SnippetMailRequest>;
    type Output = SnippetMail;

    fn refusals() -> Vec<Error> {
        vec![
            InvalidEmail,
            PixelNotFound,
            SnippetMailTooSoon { retry_after: 600 },
            SnippetMailFailed,
            missing_field("email"),
        ]
    }

    async fn run(
        infra: &Infra,
        caller: Caller,
        OnPixel { pixel_id, input }: OnPixel<SnippetMailRequest>,
    ) -> Result<SnippetMail> {
        offered_method(input.method.as_deref())?;
        let email = Email::required(input.email.as_deref())?;
        let which = input.snippet.unwrap_or(MailedSnippet::Immediate);
        snippet_mail::mail_snippet(infra, &caller, &pixel_id, &email, which).await
    }
}
