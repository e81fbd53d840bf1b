use std::collections::HashSet;
use std::fmt::Display;

use super::mail::Attempt;
use crate::error::Result;
use crate::infra::isolation::isolate;

/// After this many consecutive failures the mail server is considered unavailable; the next run continues.
const MOST_FAILURES: u32 = 3;

/// One run of a job that mails several recipients.
#[derive(Default)]
pub struct MailRun {
    /// Consecutive mails that the server did not accept.
    failures: u32,
    /// Recipients whose notification failed with an error.
    failed: HashSet<String>,
    /// Such a recipient was listed and failed again, so nothing else is left to do.
    is_repeating: bool,
}

impl MailRun {
    pub fn may_continue(&self) -> bool {
        self.failures < MOST_FAILURES && !self.is_repeating
    }

    /// Counts an attempt; `None` if no mail was necessary.
    pub fn count(&mut self, attempt: Option<Attempt>) {
        self.failures = if attempt == Some(Attempt::Waiting) { self.failures + 1 } else { 0 };
    }

    /// Counts the notification of one recipient. An error is logged and does not end the run, because it may concern
    /// only this recipient. The recipient remains due, so a job that lists it again ends after its second error.
    pub fn count_notification(
        &mut self,
        result: Result<Option<Attempt>>,
        recipient: &dyn Display,
    ) -> Result<()> {
        match isolate(result, "a notification could not be sent", recipient)? {
            Some(attempt) => self.count(attempt),
            None => self.is_repeating |= !self.failed.insert(recipient.to_string()),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn it_ends_without_a_mail_server_and_when_only_failed_recipients_are_left() {
        let mut run = MailRun::default();
        for recipient in 0..10 {
            run.count_notification(Err(Error::internal("refused")), &recipient).unwrap();
        }
        assert!(run.may_continue());
        run.count_notification(Ok(Some(Attempt::Done)), &10).unwrap();
        assert!(run.may_continue());
        run.count_notification(Err(Error::internal("refused")), &0).unwrap();
        assert!(!run.may_continue());

        let mut run = MailRun::default();
        for recipient in 0..3 {
            assert!(run.may_continue());
            run.count_notification(Ok(Some(Attempt::Waiting)), &recipient).unwrap();
        }
        assert!(!run.may_continue());
        let outage = Err(Error::DatabaseUnavailable);
        assert!(MailRun::default().count_notification(outage, &0).is_err());
    }
}
