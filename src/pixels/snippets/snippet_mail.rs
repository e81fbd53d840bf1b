use chrono::{DateTime, Duration, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::PgPool;
use utoipa::ToSchema;

use super::snippet;
use crate::accounts::access::{Caller, GoodStanding};
use crate::accounts::capability::Capability;
use crate::accounts::find_account;
use crate::accounts::introduction::Introduction;
use crate::accounts::limits::mailbox;
use crate::accounts::limits::retry_after::not_before;
use crate::accounts::mails::recipient;
use crate::accounts::scope::Operates;
use crate::accounts::tool::Tool;
use crate::error::{Error, Result, missing_field};
use crate::infra::Infra;
use crate::infra::limits::per_client::Limit;
use crate::infra::outbox::{Attempt, ClaimedMail, Kind, NewMail, Retry};
use crate::infra::outbox::{Outbox, find_claim};
use crate::infra::requested_language::Requested;
use crate::infra::smtp::RenderedMail;
use crate::infra::templates::tr;
use crate::pixels::input::{OnPixel, offered_method};
use crate::pixels::pixel::{InstallStatus, Pixel};
use crate::pixels::setup::find_for;
use crate::pixels::store;
use crate::types::email::Email;
use crate::types::ids::PixelId;
use crate::types::text_enum::text_enum;

const PAUSE: Duration = Duration::minutes(10);

/// Where the snippet is mailed to.
#[derive(Deserialize, JsonSchema, ToSchema)]
pub struct SnippetMailRequest {
    #[schemars(with = "String")]
    #[schema(value_type = String, format = Email, example = "developer@shop.example")]
    pub email: Option<String>,
    /// `immediate` when omitted; `present` is the line that the pixel's settings ask for: the consent
    /// tag where consent is on.
    pub snippet: Option<MailedSnippet>,
    /// `cms`, `gtm` and `utm` are refused; every other word is accepted.
    pub method: Option<String>,
}

text_enum! {
    /// Which line is mailed.
    pub enum MailedSnippet {
        Immediate = "immediate",
        Present = "present",
    }
}

impl MailedSnippet {
    /// Separate kinds, because a node of an older version does not know the other snippet.
    fn kind(self) -> Kind {
        match self {
            Self::Immediate => Kind::Snippet,
            Self::Present => Kind::PresentSnippet,
        }
    }
}

/// What became of the mail.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct SnippetMail {
    /// `false` where the service has no mail server.
    pub sent: bool,
    pub install_status: InstallStatus,
}

struct AdmittedMail {
    mail: ClaimedMail,
    mailed_before: Option<DateTime<Utc>>,
}

#[derive(Deserialize, Serialize)]
struct Addressee {
    email: String,
    /// The language of the person who requested the mail.
    #[serde(default)]
    requested: Requested,
}

/// Mails a snippet. The immediate one goes out also where consent is on.
pub struct EmailSnippet;

impl Capability for EmailSnippet {
    const NAME: &'static str = "email_snippet";
    const TOOL: Option<Tool> = Some(Tool::ADDITIVE.open_world().described(
        "Mail the snippet",
        "Mails a snippet to the person who can paste it, at most once in ten minutes per pixel. \
         The immediate one identifies visitors WITHOUT asking them: for sites that ask for \
         consent send `present`, what `show_pixel` gives. `sent` is false where the service has \
         no mail server.",
    ));
    const LIMIT: Option<Limit> = Some(Limit::Mails);
    type Service = Infra;
    type Access = GoodStanding<Operates>;
    type Input = OnPixel<SnippetMailRequest>;
    type Output = SnippetMail;

    fn refusals() -> Vec<Error> {
        vec![
            Error::InvalidEmail,
            Error::PixelNotFound,
            Error::SnippetMailTooSoon { retry_after: 600 },
            Error::SnippetMailFailed,
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
        let Pixel { pixel_id, install_status, .. } =
            find_for(&infra.pool, &caller, &pixel_id).await?;
        let Some(admitted) = put(infra, &caller, &pixel_id, &email, which.kind()).await? else {
            return Ok(SnippetMail { sent: false, install_status });
        };
        let mail = &admitted.mail;
        let rendered = rendered(infra, mail).await;
        if infra.outbox.attempt(mail, rendered, Retry::WhenUnanswered).await == Attempt::Failed {
            undo(&infra.pool, &infra.outbox, &admitted, &pixel_id, &email).await?;
        }
        Ok(SnippetMail { sent: true, install_status })
    }
}

/// Counts the mail before it is sent. `None` where no mail server is configured.
async fn put(
    infra: &Infra,
    caller: &Caller,
    pixel_id: &PixelId,
    email: &Email,
    kind: Kind,
) -> Result<Option<AdmittedMail>> {
    let now = infra.clock.now();
    let too_soon = |retry_after| Error::SnippetMailTooSoon { retry_after };
    let mut transaction = infra.pool.begin().await?;
    let mailed_before = store::lock_snippet_mailed_at(&mut transaction, pixel_id).await?;
    let mailed_before = mailed_before.ok_or(Error::PixelNotFound)?;
    // A mail that is being sent may still fail, and then does not start a pause.
    let on_its_way = [
        find_claim(&mut transaction, Kind::Snippet, pixel_id).await?,
        find_claim(&mut transaction, Kind::PresentSnippet, pixel_id).await?,
    ];
    let on_its_way = on_its_way.into_iter().flatten().max();
    let until = on_its_way.filter(|&until| until > now).or(mailed_before.map(|at| at + PAUSE));
    until.map_or(Ok(()), |until| not_before(until, now, too_soon))?;
    mailbox::admit(&mut transaction, &infra.outbox, now, email, too_soon).await?;
    let new = NewMail { kind, account_id: Some(caller.account_id()), pixel_id: Some(pixel_id) };
    let requested = recipient::language_of_sender(&mut transaction, caller.address()).await?;
    let addressee = Addressee { email: email.as_str().to_owned(), requested };
    let mail = infra.outbox.put(&mut transaction, new, &addressee).await?;
    if mail.is_some() {
        store::update_snippet_mailed(&mut transaction, pixel_id, Some(now)).await?;
    }
    transaction.commit().await?;
    Ok(mail.map(|mail| AdmittedMail { mail, mailed_before }))
}

/// Reverts the pause and the count of a mail that could not be sent. A mail that another attempt is
/// sending is left alone.
async fn undo(
    pool: &PgPool,
    outbox: &Outbox,
    admitted: &AdmittedMail,
    pixel_id: &PixelId,
    email: &Email,
) -> Result<()> {
    let mut transaction = pool.begin().await?;
    if !outbox.cancel(&mut transaction, &admitted.mail).await? {
        return Ok(());
    }
    store::update_snippet_mailed(&mut transaction, pixel_id, admitted.mailed_before).await?;
    mailbox::give_back(&mut transaction, email).await?;
    transaction.commit().await?;
    Err(Error::SnippetMailFailed)
}

/// Renders the mail; `None` once the pixel or the requesting account is gone.
pub async fn rendered(infra: &Infra, mail: &ClaimedMail) -> Result<Option<RenderedMail>> {
    let Addressee { email, requested } = infra.outbox.secrets(mail)?;
    let (Some(account_id), Some(pixel_id)) = (&mail.account_id, &mail.pixel_id) else {
        return Ok(None);
    };
    let mut connection = infra.pool.acquire().await?;
    let sender = find_account(&mut connection, account_id).await?;
    let pixel = store::find_any_pixel(&mut connection, pixel_id).await?;
    let (Some(sender), Some(pixel)) = (sender, pixel) else { return Ok(None) };
    let base_url = infra.base_url();
    let asks = mail.kind == Kind::PresentSnippet && pixel.consent_enabled;
    let line = match asks {
        true => snippet::consent_tag(pixel_id, base_url),
        false => snippet::immediate(pixel_id, base_url),
    };
    let recipient = recipient::in_language_of(&mut connection, &email, requested).await?;
    Ok(Some(RenderedMail {
        to: Email::parse(&email)?.address().map_err(Error::internal)?,
        subject: tr("Your Assent snippet for {{ domain }}").with("domain", &pixel.domain),
        values: json!({
            "sender": Introduction::from(&sender),
            "domain": pixel.domain,
            "pixel_id": pixel_id,
            "asks": asks,
            "snippet": line,
            "base_url": base_url,
        }),
        recipient,
        unsubscribe_url: None,
    }))
}
