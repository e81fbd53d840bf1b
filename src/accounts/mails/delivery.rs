use crate::error::Result;
use crate::infra::Infra;
use crate::infra::outbox::{Attempt, ClaimedMail, Retry};
use crate::infra::smtp::RenderedMail;

pub async fn deliver(
    infra: &Infra,
    mail: &ClaimedMail,
    rendered: Result<Option<RenderedMail>>,
) -> Result<Attempt> {
    let attempt = infra.outbox.attempt(mail, rendered, Retry::UnlessRefused).await;
    if attempt == Attempt::Failed {
        let mut connection = infra.pool.acquire().await?;
        infra.outbox.cancel(&mut connection, mail).await?;
    }
    Ok(attempt)
}
