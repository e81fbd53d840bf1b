//! Pixels, their snippets and their installs.

use rmcp::handler::server::wrapper::Json;
use rmcp::{tool, tool_router};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Key, KeyOnly, Parameters, PixelArguments, ToolServer};
use crate::accounts::email::Email;
use crate::agents::outcome::Refusal;
use crate::error::Error;
use crate::http::rate_limit::Mails;
use crate::ids::PixelId;
use crate::pixels::change;
use crate::pixels::install_check::{self, InstallView};
use crate::pixels::pixel::{self, PixelList, PixelView, Setup};
use crate::pixels::routes::PixelRequest;
use crate::pixels::snippet::{self, CommerceAction, CommerceSnippet};
use crate::pixels::snippet_mail::{self, SnippetMail};

#[derive(Deserialize, JsonSchema)]
struct CreatePixel {
    #[serde(flatten)]
    pixel: PixelRequest,
    #[serde(flatten)]
    _key: Key,
}

#[derive(Deserialize, JsonSchema)]
struct RenamePixel {
    /// The pixel's id, as `create_pixel` gave it.
    pixel_id: String,
    #[serde(flatten)]
    pixel: PixelRequest,
    #[serde(flatten)]
    _key: Key,
}

#[derive(Deserialize, JsonSchema)]
struct CommerceArguments {
    /// The pixel's id, as `create_pixel` gave it.
    pixel_id: String,
    #[schemars(with = "CommerceAction")]
    action: String,
    #[serde(flatten)]
    _key: Key,
}

#[derive(Deserialize, JsonSchema)]
struct EmailSnippet {
    /// The pixel's id, as `create_pixel` gave it.
    pixel_id: String,
    /// Who can paste the snippet.
    #[schemars(with = "String")]
    email: Option<String>,
    #[serde(flatten)]
    _key: Key,
}

/// A pixel that is gone.
#[derive(Serialize, JsonSchema)]
struct DeletedPixel {
    pixel_id: PixelId,
    deleted: bool,
}

#[tool_router(router = pixel_tools, vis = "pub(super)")]
impl ToolServer {
    /// Tells how far the account has come: pixels, installed ones, and whether the setup is
    /// complete.
    #[tool(annotations(title = "Setup status", read_only_hint = true, open_world_hint = false))]
    async fn setup_status(&self, call: Parameters<KeyOnly>) -> Result<Json<Setup>, Refusal> {
        let caller = self.in_good_standing(&call).await?;
        Ok(Json(pixel::setup(&self.platform, caller.account_id()).await?))
    }

    /// Lists the account's pixels, oldest first.
    #[tool(annotations(title = "List the pixels", read_only_hint = true, open_world_hint = false))]
    async fn list_pixels(&self, call: Parameters<KeyOnly>) -> Result<Json<PixelList>, Refusal> {
        let caller = self.in_good_standing(&call).await?;
        let pixels = pixel::list(&self.platform, caller.account_id()).await?;
        Ok(Json(pixels.into()))
    }

    /// Shows one pixel with its present snippet: the line to paste into the site.
    #[tool(annotations(title = "Show a pixel", read_only_hint = true, open_world_hint = false))]
    async fn show_pixel(
        &self,
        call: Parameters<PixelArguments>,
    ) -> Result<Json<PixelView>, Refusal> {
        let caller = self.in_good_standing(&call).await?;
        let arguments = call.validated()?;
        let pixel = pixel::find_for(&self.platform, &caller, &arguments.pixel_id).await?;
        Ok(Json(PixelView::of(pixel, self.platform.base_url())))
    }

    /// Creates the pixel of a site, or returns the one that the account has for it. `domain` is the
    /// host alone, such as `shop.example`. A plan includes three pixels. Next: `configure_consent`.
    #[tool(annotations(
        title = "Create a pixel",
        read_only_hint = false,
        destructive_hint = false,
        idempotent_hint = true,
        open_world_hint = false
    ))]
    async fn create_pixel(
        &self,
        call: Parameters<CreatePixel>,
    ) -> Result<Json<PixelView>, Refusal> {
        let caller = self.in_good_standing(&call).await?;
        let arguments = call.validated()?;
        let host = arguments.pixel.host(&self.platform)?;
        let pixel = pixel::create_pixel(&self.platform, caller.account_id(), &host).await?;
        Ok(Json(PixelView::of(pixel, self.platform.base_url())))
    }

    /// Moves a pixel that is not installed to another host; its install must be checked anew.
    #[tool(annotations(
        title = "Rename a pixel",
        read_only_hint = false,
        destructive_hint = true,
        idempotent_hint = true,
        open_world_hint = false
    ))]
    async fn rename_pixel(
        &self,
        call: Parameters<RenamePixel>,
    ) -> Result<Json<PixelView>, Refusal> {
        let caller = self.in_good_standing(&call).await?;
        let arguments = call.validated()?;
        let host = arguments.pixel.host(&self.platform)?;
        let renamed = change::rename_pixel(&self.platform, &caller, &arguments.pixel_id, &host);
        Ok(Json(PixelView::of(renamed.await?, self.platform.base_url())))
    }

    /// Deletes a pixel that is not installed, with its contacts and aliases. Its receipts stay:
    /// they prove that choices were made. Cannot be undone.
    #[tool(annotations(
        title = "Delete a pixel",
        read_only_hint = false,
        destructive_hint = true,
        idempotent_hint = false,
        open_world_hint = false
    ))]
    async fn delete_pixel(
        &self,
        call: Parameters<PixelArguments>,
    ) -> Result<Json<DeletedPixel>, Refusal> {
        let caller = self.in_good_standing(&call).await?;
        let arguments = call.validated()?;
        let pixel_id = change::delete_pixel(&self.platform, &caller, &arguments.pixel_id).await?;
        Ok(Json(DeletedPixel { pixel_id, deleted: true }))
    }

    /// Fetches the site's home page over HTTPS and tells whether the pixel is on it. `installed` is
    /// the goal; `unreachable` comes with `check_error`.
    #[tool(annotations(
        title = "Check the install",
        read_only_hint = false,
        destructive_hint = false,
        idempotent_hint = true,
        open_world_hint = true
    ))]
    async fn check_install(
        &self,
        call: Parameters<PixelArguments>,
    ) -> Result<Json<InstallView>, Refusal> {
        let caller = self.in_good_standing(&call).await?;
        let arguments = call.validated()?;
        let pixel = install_check::check_install(&self.platform, &caller, &arguments.pixel_id);
        Ok(Json(pixel.await?.into()))
    }

    /// Gives the lines that report one action of a shop's visitors, beside the pixel's own snippet.
    #[tool(annotations(
        title = "Get a commerce snippet",
        read_only_hint = true,
        open_world_hint = false
    ))]
    async fn get_commerce_snippet(
        &self,
        call: Parameters<CommerceArguments>,
    ) -> Result<Json<CommerceSnippet>, Refusal> {
        let caller = self.in_good_standing(&call).await?;
        let arguments = call.validated()?;
        let pixel = pixel::find_for(&self.platform, &caller, &arguments.pixel_id).await?;
        let action = CommerceAction::parse(&arguments.action).ok_or(Error::SnippetNotFound)?;
        Ok(Json(snippet::commerce(action, pixel.pixel_id, self.platform.base_url())))
    }

    /// Mails the immediate snippet to the person who can paste it, at most once in ten minutes per
    /// pixel. That snippet identifies visitors WITHOUT asking them: it is not for sites that ask for
    /// consent, whose snippet comes from `configure_consent` or `show_pixel`. `sent` is false where
    /// the service has no mail server.
    #[tool(annotations(
        title = "Mail the snippet",
        read_only_hint = false,
        destructive_hint = false,
        idempotent_hint = false,
        open_world_hint = true
    ))]
    async fn email_snippet(
        &self,
        call: Parameters<EmailSnippet>,
    ) -> Result<Json<SnippetMail>, Refusal> {
        self.admit::<Mails>(&call)?;
        let caller = self.in_good_standing(&call).await?;
        let arguments = call.validated()?;
        let email = Email::required(arguments.email.as_deref())?;
        let mailed =
            snippet_mail::mail_snippet(&self.platform, &caller, &arguments.pixel_id, &email);
        Ok(Json(mailed.await?))
    }
}
