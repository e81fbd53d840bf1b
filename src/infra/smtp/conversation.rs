//! One SMTP transaction on its own connection. Lettre's transports do not report whether the server
//! may have accepted the mail. Therefore the commands are sent individually: before `DATA` is accepted,
//! a failed mail certainly does not arrive; after that, it may have arrived.

use std::time::Duration;

use lettre::Message;
use lettre::address::Envelope;
use lettre::transport::smtp::authentication::DEFAULT_MECHANISMS;
use lettre::transport::smtp::client::{AsyncSmtpConnection, Tls};
use lettre::transport::smtp::commands::{Data, Mail, Rcpt};
use lettre::transport::smtp::extension::{Extension, MailBodyParameter, MailParameter};
use tokio::time::{Instant, timeout, timeout_at};

use super::error::MailError;
use super::server::SmtpServer;

/// Timeout of QUIT, for which no caller waits.
const QUIT_TIMEOUT: Duration = Duration::from_secs(2);

/// Delivers a mail to the server. Takes at most `limit`, even if the server hangs.
pub async fn hand_over(
    server: &SmtpServer,
    message: &Message,
    limit: Duration,
) -> Result<(), MailError> {
    let deadline = Instant::now() + limit;
    let text = message.formatted();
    let opening = timeout_at(deadline, open(server, message.envelope(), &text)).await;
    let mut connection = opening.map_err(|_| MailError::Timeout)??;
    let answered = timeout_at(deadline, connection.message(&text)).await;
    match answered {
        Ok(Ok(_)) => {
            tokio::spawn(async move { timeout(QUIT_TIMEOUT, connection.quit()).await });
            Ok(())
        }
        Ok(Err(error)) => Err(error.status().map_or(MailError::Unanswered, MailError::Refused)),
        Err(_) => Err(MailError::Unanswered),
    }
}

async fn open(
    server: &SmtpServer,
    envelope: &Envelope,
    text: &[u8],
) -> Result<AsyncSmtpConnection, MailError> {
    let mut connection = connect(server).await?;
    let parameters = mail_parameters(&connection, envelope, text)?;
    connection.command(Mail::new(envelope.from().cloned(), parameters)).await?;
    for recipient in envelope.to() {
        connection.command(Rcpt::new(recipient.clone(), Vec::new())).await?;
    }
    connection.command(Data).await?;
    Ok(connection)
}

async fn connect(server: &SmtpServer) -> Result<AsyncSmtpConnection, MailError> {
    let SmtpServer { host, port, tls, hello_name, credentials } = server;
    let wrapper = match tls {
        Tls::Wrapper(parameters) => Some(parameters.clone()),
        _ => None,
    };
    let at = (host.as_str(), *port);
    let mut connection =
        AsyncSmtpConnection::connect_tokio1(at, None, hello_name, wrapper, None).await?;
    match tls {
        Tls::Required(parameters) => connection.starttls(parameters.clone(), hello_name).await?,
        Tls::Opportunistic(parameters) if connection.can_starttls() => {
            connection.starttls(parameters.clone(), hello_name).await?;
        }
        _ => {}
    }
    if let Some(credentials) = credentials {
        connection.auth(DEFAULT_MECHANISMS, credentials).await?;
    }
    Ok(connection)
}

/// The parameters of `MAIL`: SMTPUTF8 (RFC 6531) for non-ASCII local parts, 8BITMIME (RFC 6152) for non-ASCII text.
fn mail_parameters(
    connection: &AsyncSmtpConnection,
    envelope: &Envelope,
    text: &[u8],
) -> Result<Vec<MailParameter>, MailError> {
    let mut parameters = Vec::new();
    let mut addresses = envelope.from().into_iter().chain(envelope.to());
    if addresses.any(|address| !AsRef::<str>::as_ref(address).is_ascii()) {
        if !connection.server_info().supports_feature(Extension::SmtpUtfEight) {
            return Err(MailError::NeedsSmtpUtf8);
        }
        parameters.push(MailParameter::SmtpUtfEight);
    }
    if !text.is_ascii() && connection.server_info().supports_feature(Extension::EightBitMime) {
        parameters.push(MailParameter::Body(MailBodyParameter::EightBitMime));
    }
    Ok(parameters)
}
