//! Parser of an authority's response (RFC 3161, section 2.4.2): the status, and the content that the token
//! covers. Signatures are not checked. The types of `x509-tsp` refuse times with a fraction of a second.

use chrono::{DateTime, Utc};
use der::asn1::{AnyRef, ObjectIdentifier};
use der::{Decode, Reader, SliceReader, Tag, TagNumber, Tagged};

use super::request::{SHA256, TimestampRequest};
use super::time::StampTime;

const SIGNED_DATA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.7.2");
const TST_INFO: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.16.1.4");
const EXPLICIT: Tag = Tag::ContextSpecific { constructed: true, number: TagNumber(0) };

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
    let mut whole = SliceReader::new(answer).ok()?;
    let mut fields = enter(&mut whole, Tag::Sequence).filter(|_| whole.is_finished())?;
    let &[status] = take(&mut enter(&mut fields, Tag::Sequence)?, Tag::Integer)? else {
        return None;
    };
    let token = fields.read_slice(fields.remaining_len()).ok()?;
    Some((status, token))
}

/// The content of the next value; `None` if it does not have this tag.
fn take<'a>(reader: &mut SliceReader<'a>, tag: Tag) -> Option<&'a [u8]> {
    AnyRef::decode(reader).ok().filter(|value| value.tag() == tag).map(AnyRef::value)
}

/// Like [`take`], for a constructed value.
fn enter<'a>(reader: &mut SliceReader<'a>, tag: Tag) -> Option<SliceReader<'a>> {
    SliceReader::new(take(reader, tag)?).ok()
}

impl<'a> Token<'a> {
    /// Parses a token: a signed message (CMS, RFC 5652) around a TSTInfo.
    pub fn read(token: &'a [u8]) -> Option<Self> {
        let mut whole = SliceReader::new(token).ok()?;
        let mut content = enter(&mut whole, Tag::Sequence)?;
        if !whole.is_finished()
            || take(&mut content, Tag::ObjectIdentifier)? != SIGNED_DATA.as_bytes()
        {
            return None;
        }
        let mut signed = enter(&mut enter(&mut content, EXPLICIT)?, Tag::Sequence)?;
        take(&mut signed, Tag::Integer)?;
        take(&mut signed, Tag::Set)?;
        let mut inner = enter(&mut signed, Tag::Sequence)?;
        if take(&mut inner, Tag::ObjectIdentifier)? != TST_INFO.as_bytes() {
            return None;
        }
        let mut info = enter(&mut enter(&mut inner, EXPLICIT)?, Tag::OctetString)?;
        Self::read_info(enter(&mut info, Tag::Sequence)?)
    }

    fn read_info(mut info: SliceReader<'a>) -> Option<Self> {
        take(&mut info, Tag::Integer)?;
        take(&mut info, Tag::ObjectIdentifier)?;
        let mut imprint = enter(&mut info, Tag::Sequence)?;
        let mut algorithm = enter(&mut imprint, Tag::Sequence)?;
        if take(&mut algorithm, Tag::ObjectIdentifier)? != SHA256.as_bytes() {
            return None;
        }
        let imprint = take(&mut imprint, Tag::OctetString)?;
        take(&mut info, Tag::Integer)?;
        let time = str::from_utf8(take(&mut info, Tag::GeneralizedTime)?).ok()?;
        let time = StampTime::parse(time)?;
        // Accuracy and ordering may precede it.
        let mut nonce = None;
        while nonce.is_none() && !info.is_finished() {
            let value = AnyRef::decode(&mut info).ok()?;
            nonce = (value.tag() == Tag::Integer).then_some(value.value());
        }
        Some(Self { imprint, time, nonce })
    }
}

#[cfg(test)]
mod tests {
    use super::super::request::value;
    use super::*;

    fn asked_at() -> DateTime<Utc> {
        "2026-03-10T12:00:00Z".parse().unwrap()
    }

    fn token(imprint: &[u8], nonce: Option<&[u8]>) -> Vec<u8> {
        let algorithm = value(
            Tag::Sequence,
            &[value(Tag::ObjectIdentifier, SHA256.as_bytes()), value(Tag::Null, &[])].concat(),
        );
        let imprint = value(Tag::Sequence, &[algorithm, value(Tag::OctetString, imprint)].concat());
        let nonce = nonce.map(|nonce| value(Tag::Integer, nonce)).unwrap_or_default();
        let info = [
            value(Tag::Integer, &[1]),
            value(Tag::ObjectIdentifier, &[0x2a, 3]),
            imprint,
            value(Tag::Integer, &[9]),
            value(Tag::GeneralizedTime, b"20260310120000Z"),
            value(Tag::Sequence, &value(Tag::Integer, &[1])),
            nonce,
        ];
        let info = value(Tag::OctetString, &value(Tag::Sequence, &info.concat()));
        let inner =
            [value(Tag::ObjectIdentifier, TST_INFO.as_bytes()), value(EXPLICIT, &info)].concat();
        let signed =
            [value(Tag::Integer, &[3]), value(Tag::Set, &[]), value(Tag::Sequence, &inner)]
                .concat();
        let content = value(EXPLICIT, &value(Tag::Sequence, &signed));
        value(
            Tag::Sequence,
            &[value(Tag::ObjectIdentifier, SIGNED_DATA.as_bytes()), content].concat(),
        )
    }

    fn answer(status: u8, token: &[u8]) -> Vec<u8> {
        let status = value(Tag::Sequence, &value(Tag::Integer, &[status]));
        value(Tag::Sequence, &[&status, token].concat())
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
