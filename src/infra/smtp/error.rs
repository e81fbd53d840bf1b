use lettre::address::AddressError;
use lettre::transport::smtp;
use lettre::transport::smtp::response::{Code, Severity};

#[derive(Debug, thiserror::Error)]
pub enum MailError {
    #[error("mail template: {0}")]
    Template(#[from] tera::Error),
    #[error("mail address: {0}")]
    Address(#[from] AddressError),
    #[error("mail: {0}")]
    Message(#[from] lettre::error::Error),
    #[error(
        "MAIL_FROM: must have an address whose part before the @ is ASCII: servers without SMTPUTF8 \
         take no mail from others"
    )]
    Sender,
    #[error("mail server: takes no addresses beyond ASCII (SMTPUTF8)")]
    NeedsSmtpUtf8,
    /// A server's reply often repeats the address, so only its code is kept.
    #[error("mail server: answered {0}")]
    Refused(Code),
    #[error("mail server: {0}")]
    Smtp(smtp::Error),
    #[error("mail server: no answer in time")]
    Timeout,
    #[error("mail server: no answer to the text of the mail")]
    Unanswered,
}

impl MailError {
    /// Whether the mail may have arrived nevertheless. With every other error it certainly has not.
    pub fn may_have_arrived(&self) -> bool {
        matches!(self, Self::Unanswered)
    }

    /// Whether another attempt would fail in the same way (RFC 5321, section 4.2.1: 5yz).
    pub fn is_permanent(&self) -> bool {
        match self {
            Self::Refused(code) => code.severity == Severity::PermanentNegativeCompletion,
            Self::Address(_) | Self::Message(_) | Self::NeedsSmtpUtf8 => true,
            _ => false,
        }
    }
}

impl From<smtp::Error> for MailError {
    fn from(error: smtp::Error) -> Self {
        error.status().map_or(Self::Smtp(error), Self::Refused)
    }
}
