//! Pixels, their snippets and their installs.

use rmcp::{tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Keyed, Parameters, ToolServer};
use crate::accounts::capability::NoInput;
use crate::mcp::outcome::{Json, Refusal};
use crate::pixels::capabilities::claims::*;
use crate::pixels::capabilities::install::*;
use crate::pixels::capabilities::pixels::*;
use crate::pixels::claims::claim::OpenedClaim;
use crate::pixels::input::{OfPixel, OnPixel, PixelRequest};
use crate::pixels::install_check::InstallView;
use crate::pixels::setup::Setup;
use crate::pixels::snippets::snippet::CommerceSnippet;
use crate::pixels::snippets::snippet_mail::{MailedSnippet, SnippetMail, SnippetMailRequest};
use crate::pixels::view::{PixelList, PixelView};

/// A tool has no need of an install method.
#[derive(Deserialize, JsonSchema)]
struct EmailArguments {
    pixel_id: String,
    /// Who can paste the snippet.
    #[schemars(with = "String")]
    email: Option<String>,
    /// `immediate` when omitted.
    snippet: Option<MailedSnippet>,
}

#[tool_router(router = pixel_tools, vis = "pub(super)")]
impl ToolServer {
    /// Tells how far the account has come: pixels, installed ones, and whether the setup is
    /// complete.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn show_setup(&self, call: Parameters<Keyed<NoInput>>) -> Result<Json<Setup>, Refusal> {
        self.run::<ShowSetup>(&call).await
    }

    /// Lists the account's pixels, oldest first.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn list_pixels(
        &self,
        call: Parameters<Keyed<NoInput>>,
    ) -> Result<Json<PixelList>, Refusal> {
        self.run::<ListPixels>(&call).await
    }

    /// Shows one pixel with its present snippet: the line to paste into the site.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn show_pixel(
        &self,
        call: Parameters<Keyed<OfPixel>>,
    ) -> Result<Json<PixelView>, Refusal> {
        self.run::<ShowPixel>(&call).await
    }

    /// Creates the pixel of a site, or returns the one that the account has for it. `domain` is the
    /// host alone, such as `shop.example`. A plan includes three pixels. Next: `configure_consent`.
    #[tool(annotations(
        read_only_hint = false,
        destructive_hint = false,
        idempotent_hint = true,
        open_world_hint = false
    ))]
    async fn create_pixel(
        &self,
        call: Parameters<Keyed<PixelRequest>>,
    ) -> Result<Json<PixelView>, Refusal> {
        self.run::<CreatePixel>(&call).await
    }

    /// Moves a pixel that is not installed to another host; its install must be checked anew.
    #[tool(annotations(
        read_only_hint = false,
        destructive_hint = true,
        idempotent_hint = true,
        open_world_hint = false
    ))]
    async fn rename_pixel(
        &self,
        call: Parameters<Keyed<OnPixel<PixelRequest>>>,
    ) -> Result<Json<PixelView>, Refusal> {
        self.run::<RenamePixel>(&call).await
    }

    /// Deletes a pixel that is not installed, with its contacts and aliases. Its receipts stay:
    /// they prove that choices were made. Cannot be undone.
    #[tool(annotations(
        read_only_hint = false,
        destructive_hint = true,
        idempotent_hint = false,
        open_world_hint = false
    ))]
    async fn delete_pixel(
        &self,
        call: Parameters<Keyed<OfPixel>>,
    ) -> Result<Json<DeletedPixel>, Refusal> {
        self.run::<DeletePixel>(&call).await
    }

    /// Fetches the site's home page over HTTPS and tells whether the pixel is on it. `installed` is
    /// the goal; `unreachable` comes with `check_error`, always for `localhost`. `findings` says what
    /// is in its way, with a cure for each.
    #[tool(annotations(
        read_only_hint = false,
        destructive_hint = false,
        idempotent_hint = true,
        open_world_hint = true
    ))]
    async fn check_install(
        &self,
        call: Parameters<Keyed<OfPixel>>,
    ) -> Result<Json<InstallView>, Refusal> {
        self.run::<CheckInstall>(&call).await
    }

    /// Tells what the last look found; installed pixels are looked at daily.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn show_install(
        &self,
        call: Parameters<Keyed<OfPixel>>,
    ) -> Result<Json<InstallView>, Refusal> {
        self.run::<ShowInstall>(&call).await
    }

    /// Claims a host that another account has, for the site's owner. Prove it with the TXT record
    /// `_assent.{domain}` whose value is `token`, or with `snippet` on the home page; then
    /// `verify_claim`.
    #[tool(annotations(
        read_only_hint = false,
        destructive_hint = false,
        idempotent_hint = false,
        open_world_hint = false
    ))]
    async fn claim_host(
        &self,
        call: Parameters<Keyed<PixelRequest>>,
    ) -> Result<Json<OpenedClaim>, Refusal> {
        self.run::<ClaimHost>(&call).await
    }

    /// Looks for the proof of a claim and, if it is there, gives the account the host's pixel. The
    /// other account's pixel is deleted, unless it is working. `claim not proven`: wait for the DNS,
    /// or publish the page, and call again.
    #[tool(annotations(
        read_only_hint = false,
        destructive_hint = true,
        idempotent_hint = true,
        open_world_hint = true
    ))]
    async fn verify_claim(
        &self,
        call: Parameters<Keyed<OfClaim>>,
    ) -> Result<Json<PixelView>, Refusal> {
        self.run::<VerifyClaim>(&call).await
    }

    /// Gives the lines that report one action of a shop's visitors, beside the pixel's own snippet.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn get_commerce_snippet(
        &self,
        call: Parameters<Keyed<OnPixel<CommerceRequest>>>,
    ) -> Result<Json<CommerceSnippet>, Refusal> {
        self.run::<GetCommerceSnippet>(&call).await
    }

    /// Mails a snippet to the person who can paste it, at most once in ten minutes per pixel. The
    /// immediate one identifies visitors WITHOUT asking them: for sites that ask for consent send
    /// `present`, what `show_pixel` gives. `sent` is false where the service has no mail server.
    #[tool(annotations(
        read_only_hint = false,
        destructive_hint = false,
        idempotent_hint = false,
        open_world_hint = true
    ))]
    async fn email_snippet(
        &self,
        call: Parameters<Keyed<EmailArguments>>,
    ) -> Result<Json<SnippetMail>, Refusal> {
        let mailed =
            self.ask::<EmailSnippet, _>(&call, |EmailArguments { pixel_id, email, snippet }| {
                OnPixel { pixel_id, input: SnippetMailRequest { email, snippet, method: None } }
            });
        Ok(Json(mailed.await?))
    }
}
