//! Parser of an authority's response (RFC 3161, section 2.4.2): the status, and the content that the token
//! covers. Signatures are not checked.

use chrono::{DateTime, Utc};

use super::der::{GENERALIZED_TIME, INTEGER, OCTET_STRING, OID, Reader, SEQUENCE, SET, explicit};
use super::request::{SHA256_OID, TimestampRequest};
use super::time::StampTime;

/// 1.2.840.113549.1.7.2
const SIGNED_DATA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x02];
/// 1.2.840.113549.1.9.16.1.4
const TST_INFO: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x10, 0x01, 0x04];

/// The reason why a response cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    #[error("the answer is no time stamp reply in DER")]
    Unreadable,
    #[error("the authority refused, with the status {0}")]
    Refused(u8),
    #[error("the token is about something else")]
    OtherImprint,
    #[error("the token answers another question")]
    OtherNonce,
    #[error("the token names a time long before it was asked for")]
    TooEarly,
}

/// The content of a token.
pub struct Token<'a> {
    /// The timestamped hash.
    pub imprint: &'a [u8],
    pub time: StampTime,
    nonce: Option<&'a [u8]>,
}

/// The token of a response to a request, verbatim.
pub fn read_answer<'a>(
    answer: &'a [u8],
    request: &TimestampRequest,
    asked_at: DateTime<Utc>,
) -> Result<&'a [u8], AnswerError> {
    let (status, token) = split(answer).ok_or(AnswerError::Unreadable)?;
    // Granted, or granted with modifications.
    if status > 1 {
        return Err(AnswerError::Refused(status));
    }
    let read = Token::read(token).ok_or(AnswerError::Unreadable)?;
    if read.imprint != request.imprint {
        return Err(AnswerError::OtherImprint);
    }
    if read.nonce != Some(&request.nonce) {
        return Err(AnswerError::OtherNonce);
    }
    if read.time.is_before(asked_at) {
        return Err(AnswerError::TooEarly);
    }
    Ok(token)
}

/// Status and token; the token is empty if there is none.
fn split(answer: &[u8]) -> Option<(u8, &[u8])> {
    let mut whole = Reader::new(answer);
    let content = whole.take(SEQUENCE).filter(|_| whole.is_at_end())?;
    let mut fields = Reader::new(content);
    let &[status] = fields.enter(SEQUENCE)?.take(INTEGER)? else { return None };
    Some((status, fields.rest()))
}

impl<'a> Token<'a> {
    /// Parses a token: a signed message (CMS, RFC 5652) around a TSTInfo.
    pub fn read(token: &'a [u8]) -> Option<Self> {
        let mut whole = Reader::new(token);
        let mut content = whole.enter(SEQUENCE)?;
        if !whole.is_at_end() || content.take(OID)? != SIGNED_DATA {
            return None;
        }
        let mut signed = content.enter(explicit(0))?.enter(SEQUENCE)?;
        signed.take(INTEGER)?;
        signed.take(SET)?;
        let mut inner = signed.enter(SEQUENCE)?;
        if inner.take(OID)? != TST_INFO {
            return None;
        }
        let info = inner.enter(explicit(0))?.take(OCTET_STRING)?;
        Self::read_info(Reader::new(info).enter(SEQUENCE)?)
    }

    fn read_info(mut info: Reader<'a>) -> Option<Self> {
        info.take(INTEGER)?;
        info.take(OID)?;
        let mut imprint = info.enter(SEQUENCE)?;
        if imprint.enter(SEQUENCE)?.take(OID)? != SHA256_OID {
            return None;
        }
        let imprint = imprint.take(OCTET_STRING)?;
        info.take(INTEGER)?;
        let time = StampTime::parse(str::from_utf8(info.take(GENERALIZED_TIME)?).ok()?)?;
        // Accuracy and ordering may precede it.
        let mut nonce = None;
        while nonce.is_none() && !info.is_at_end() {
            let tag = info.peek()?;
            let content = info.take(tag)?;
            nonce = (tag == INTEGER).then_some(content);
        }
        Some(Self { imprint, time, nonce })
    }
}

#[cfg(test)]
mod tests {
    use super::super::der::{NULL, value};
    use super::*;

    fn asked_at() -> DateTime<Utc> {
        "2026-03-10T12:00:00Z".parse().unwrap()
    }

    fn token(imprint: &[u8], nonce: Option<&[u8]>) -> Vec<u8> {
        let algorithm = value(SEQUENCE, &[value(OID, SHA256_OID), value(NULL, &[])].concat());
        let imprint = value(SEQUENCE, &[algorithm, value(OCTET_STRING, imprint)].concat());
        let nonce = nonce.map(|nonce| value(INTEGER, nonce)).unwrap_or_default();
        let info = [
            value(INTEGER, &[1]),
            value(OID, &[0x2a, 3]),
            imprint,
            value(INTEGER, &[9]),
            value(GENERALIZED_TIME, b"20260310120000Z"),
            value(SEQUENCE, &value(INTEGER, &[1])),
            nonce,
        ];
        let info = value(OCTET_STRING, &value(SEQUENCE, &info.concat()));
        let inner = [value(OID, TST_INFO), value(explicit(0), &info)].concat();
        let signed = [value(INTEGER, &[3]), value(SET, &[]), value(SEQUENCE, &inner)].concat();
        let content = value(explicit(0), &value(SEQUENCE, &signed));
        value(SEQUENCE, &[value(OID, SIGNED_DATA), content].concat())
    }

    fn answer(status: u8, token: &[u8]) -> Vec<u8> {
        let status = value(SEQUENCE, &value(INTEGER, &[status]));
        value(SEQUENCE, &[&status, token].concat())
    }

    #[test]
    fn only_a_granted_token_that_answers_the_question_is_taken() {
        let request = TimestampRequest::new("a note");
        let own = token(&request.imprint, Some(&request.nonce));
        assert_eq!(read_answer(&answer(0, &own), &request, asked_at()), Ok(&*own));
        assert_eq!(read_answer(&answer(1, &own), &request, asked_at()), Ok(&*own));
        let late = asked_at() + chrono::TimeDelta::minutes(2);
        let granted = answer(0, &own);
        assert_eq!(read_answer(&granted, &request, late), Err(AnswerError::TooEarly));
        assert_eq!(Token::read(&own).unwrap().time.to_string(), "2026-03-10T12:00:00Z");
        let refused = |answer: &[u8]| read_answer(answer, &request, asked_at()).unwrap_err();
        assert_eq!(refused(&answer(2, &[])), AnswerError::Refused(2));
        let other = token(&[0; 32], Some(&request.nonce));
        assert_eq!(refused(&answer(0, &other)), AnswerError::OtherImprint);
        for nonce in [None, Some(&[7; 8][..])] {
            let other = token(&request.imprint, nonce);
            assert_eq!(refused(&answer(0, &other)), AnswerError::OtherNonce);
        }
        for odd in [&b"<html>"[..], &answer(0, &[]), &[&answer(0, &own)[..], b"x"].concat()] {
            assert_eq!(refused(odd), AnswerError::Unreadable);
        }
    }

    #[test]
    fn no_beginning_of_an_answer_is_one() {
        let request = TimestampRequest::new("a note");
        let whole = answer(0, &token(&request.imprint, Some(&request.nonce)));
        for end in 0..whole.len() {
            assert!(read_answer(&whole[..end], &request, asked_at()).is_err(), "{end}");
        }
    }

    #[test]
    fn the_question_is_what_openssl_writes() {
        let request = TimestampRequest { imprint: [0xab; 32], nonce: [0x40; 8] };
        let head = "30430201013031300d060960864801650304020105000420".to_owned();
        let expected = head + &"ab".repeat(32) + "0208" + &"40".repeat(8) + "0101ff";
        assert_eq!(hex::encode(request.to_der()), expected);
    }
}
