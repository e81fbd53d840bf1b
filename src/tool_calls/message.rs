//! Reception of messages to the tool server. Anybody may send one, so these are limited before it is parsed: its size
//! (large messages need a key in the headers), the number and depth of its values, and the number of large messages
//! that are parsed at once. The arguments of a call, its largest part, are never parsed into a tree: they are cut out,
//! and the tool parses its own type from their bytes. A large message holds a permit only while it is parsed, not
//! while it arrives or while the tool runs.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use rocket::data::{Data, FromData, ToByteUnit};
use rocket::{Request, data};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::OwnedSemaphorePermit;

use super::bearer::with_grant;
use super::permits::{Held, acquire};
use super::tool_server::ToolServer;
use crate::accounts::access::{Access, GoodStanding};
use crate::accounts::scope::Reads;
use crate::app::App;
use crate::error::{Error, FieldError, Result};
use crate::http::body::{self, MOST_JSON};
use crate::http::credentials::credentials_of;
use crate::http::refusals::Refuses;
use crate::types::json::bounds::{Bounds, is_within};
use crate::types::json::strict as strict_json;
use crate::types::text::present;

/// Maximum bytes of a message without a key.
const SMALL: usize = 64 * 1024;
/// Maximum bytes of a message: 4.25 MiB for a proof with watch reports and the message around it.
const LARGE: usize = 4352 * 1024;
/// Bytes above which a message takes two permits: the maximum size of a call that stores contacts.
const HUGE: usize = 2304 * 1024;
/// Limits of a small message: no legitimate message has a value every 13 bytes.
const MOST_SMALL: Bounds = Bounds { values: 5_000, ..MOST_JSON };

/// Maximum bytes of a message that needs no permit, because it is parsed almost instantly.
const LIGHT: usize = 8 * 1024;

/// A received message, with its permit if it needs one.
pub struct Message {
    bytes: Vec<u8>,
    permit: Option<OwnedSemaphorePermit>,
}

#[rocket::async_trait]
impl<'r> FromData<'r> for Message {
    type Error = ();

    async fn from_data(request: &'r Request<'_>, data: Data<'r>) -> data::Outcome<'r, Self> {
        body::outcome(request, Self::arrive(request, data).await)
    }
}

impl Refuses for Message {
    fn refusals() -> Vec<Error> {
        let Bounds { values, depth } = MOST_JSON;
        vec![
            Error::InvalidRequest,
            Error::MessageTooComplex { values, depth },
            Error::LargeMessageNeedsKey,
            Error::BodyTooLarge,
            Error::BodyTimeout,
            Error::Busy { retry_after: 2 },
        ]
    }
}

impl Message {
    async fn arrive(request: &Request<'_>, data: Data<'_>) -> Result<Self> {
        let announced = body::announced(request).unwrap_or(0);
        if announced > LARGE {
            return Err(Error::BodyTooLarge);
        }
        let server = request.rocket().state::<ToolServer>();
        let permits = &server.ok_or_else(|| Error::internal("no tool server is managed"))?.permits;
        let mut stream = data.open((LARGE + 1).bytes());
        let mut bytes = Vec::new();
        if announced <= SMALL {
            bytes.reserve_exact(announced);
            body::read_on(&mut stream, &mut bytes, SMALL + 1).await?;
            if bytes.len() <= LIGHT {
                return Ok(Self { bytes, permit: None });
            }
            if bytes.len() <= SMALL {
                return Ok(Self { bytes, permit: Some(acquire(&permits.small, 1).await?) });
            }
        }
        admit_large(request).await?;
        bytes.reserve_exact(announced.saturating_sub(bytes.len()));
        body::read_on(&mut stream, &mut bytes, LARGE + 1).await?;
        if bytes.len() > LARGE {
            return Err(Error::BodyTooLarge);
        }
        let count = if bytes.len() > HUGE { 2 } else { 1 };
        Ok(Self { bytes, permit: Some(acquire(&permits.large, count).await?) })
    }

    /// The message without the arguments of its call, and the call. The permit of a small message is
    /// released here, that of a large one after the tool has parsed its arguments.
    pub fn split(self) -> Result<(Vec<u8>, Call)> {
        let Self { bytes, permit } = self;
        let is_large = bytes.len() > SMALL;
        let bounds = if is_large { MOST_JSON } else { MOST_SMALL };
        if !is_within(&bytes, bounds) {
            return Err(Error::MessageTooComplex { values: bounds.values, depth: bounds.depth });
        }
        strict_json::examine(&bytes).map_err(|_| Error::InvalidRequest)?;
        let (name, range) = called(&bytes).unwrap_or_default();
        let (message, arguments) = match range {
            Some(range) => (
                [&bytes[..range.start], b"{}", &bytes[range.end..]].concat(),
                Arguments::new(Arc::new(bytes), range, Held::new(permit.filter(|_| is_large)))?,
            ),
            None => (bytes, Arguments::default()),
        };
        // The library parses the rest into a tree, so it must be small.
        match message.len() > SMALL {
            true => Err(Error::BodyTooLarge),
            false => Ok((message, Call { name, arguments })),
        }
    }
}

/// Accepts large messages only from accounts in good standing.
async fn admit_large(request: &Request<'_>) -> Result<()> {
    let app = request.rocket().state::<App>();
    let app = app.ok_or_else(|| Error::internal("no app is managed"))?;
    let admitted = async {
        let credentials = with_grant(app, credentials_of(request)).await?;
        GoodStanding::<Reads>::admit(&app.accounts, credentials).await
    };
    match admitted.await {
        Ok(_) => Ok(()),
        Err(error) if matches!(error.status(), 401 | 403) => Err(Error::LargeMessageNeedsKey),
        Err(error) => Err(error),
    }
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    params: Params<'a>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow, default)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

/// The name of the called tool, and the range of its arguments; `None` for every other message,
/// including malformed ones.
fn called(message: &[u8]) -> Option<(String, Option<Range<usize>>)> {
    let envelope: Envelope<'_> = serde_json::from_slice(message).ok()?;
    if envelope.method != "tools/call" {
        return None;
    }
    let name = envelope.params.name.unwrap_or_default().into_owned();
    let arguments = envelope.params.arguments.filter(|arguments| arguments.get().starts_with('{'));
    Some((name, arguments.and_then(|arguments| range_in(message, arguments))))
}

fn range_in(message: &[u8], part: &RawValue) -> Option<Range<usize>> {
    let start = (part.get().as_ptr() as usize).checked_sub(message.as_ptr() as usize)?;
    Some(start..start + part.get().len())
}

/// A tool call; the name is empty for every other message.
#[derive(Clone, Default)]
pub struct Call {
    pub name: String,
    pub arguments: Arguments,
}

/// The arguments of a call, as they were sent. Clones share the message. Has no `Debug`: it holds
/// secrets.
#[derive(Clone, Default)]
pub struct Arguments {
    message: Arc<Vec<u8>>,
    range: Range<usize>,
    pub names: Arc<[String]>,
    pub api_key: Option<String>,
    pub signup_token: Option<String>,
    /// Errors for credentials that are not strings.
    pub invalid_inputs: Arc<[FieldError]>,
    /// Held until the arguments are parsed.
    pub permit: Held,
}

impl Arguments {
    fn new(message: Arc<Vec<u8>>, range: Range<usize>, permit: Held) -> Result<Self> {
        let named: BTreeMap<String, &RawValue> =
            serde_json::from_slice(&message[range.clone()]).map_err(Error::internal)?;
        let mut invalid_inputs = Vec::new();
        let mut text = |name: &str| {
            let text = named.get(name).map(|value| serde_json::from_str(value.get()));
            let text: Option<Option<String>> = text.transpose().unwrap_or_else(|_| {
                let location = &["arguments", name];
                invalid_inputs.push(FieldError::new(location, "must be a string", "type_error"));
                None
            });
            present(text.flatten().as_deref()).map(str::to_owned)
        };
        let (api_key, signup_token) = (text("api_key"), text("signup_token"));
        let (names, invalid_inputs) = (named.into_keys().collect(), invalid_inputs.into());
        Ok(Self { message, range, names, api_key, signup_token, invalid_inputs, permit })
    }

    /// The arguments of another tool, which are nested in these. If they contain no credentials, the
    /// credentials of the outer arguments are used.
    pub fn nested(&self, part: Option<&RawValue>) -> Result<Self> {
        let part = part.filter(|part| part.get() != "null");
        if part.is_some_and(|part| !part.get().starts_with('{')) {
            let location = &["arguments", "arguments"];
            let wrong = FieldError::new(location, "must be an object", "type_error");
            return Err(Error::Validation(vec![wrong]));
        }
        let nested = match part.and_then(|part| range_in(&self.message, part)) {
            Some(range) => Self::new(Arc::clone(&self.message), range, self.permit.clone())?,
            None => Self { permit: self.permit.clone(), ..Self::default() },
        };
        let has_own = nested.api_key.is_some() || nested.signup_token.is_some();
        Ok(match has_own || !nested.invalid_inputs.is_empty() {
            true => nested,
            false => Self {
                api_key: self.api_key.clone(),
                signup_token: self.signup_token.clone(),
                invalid_inputs: Arc::clone(&self.invalid_inputs),
                ..nested
            },
        })
    }

    /// A JSON object.
    pub fn as_bytes(&self) -> &[u8] {
        match self.range.is_empty() {
            true => b"{}",
            false => &self.message[self.range.clone()],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(message: &str) -> (String, String) {
        let message = Message { bytes: message.as_bytes().to_vec(), permit: None };
        let (rest, call) = message.split().unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (text(&rest), text(call.arguments.as_bytes()))
    }

    #[test]
    fn the_arguments_of_a_call_are_cut_out_as_they_stand() {
        let call = r#" {"params": { "arguments" : {"a": [1, "}"]} ,"name":"x"},"method":"tools\/call","id":1}"#;
        let rest = r#" {"params": { "arguments" : {} ,"name":"x"},"method":"tools\/call","id":1}"#;
        assert_eq!(split(call), (rest.to_owned(), r#"{"a": [1, "}"]}"#.to_owned()));
    }

    #[test]
    fn what_has_no_arguments_is_left_as_it_is() {
        for message in [
            r#"{"method":"tools/call","params":{"name":"x"}}"#,
            r#"{"method":"tools/call","params":{"arguments":null}}"#,
            r#"{"method":"tools/call","params":{"arguments":[{"a":1}]}}"#,
            r#"{"method":"tools/call","params":["arguments"]}"#,
            r#"{"method":"tools/call","params":null}"#,
            r#"{"method":"prompts/get","params":{"arguments":{"a":1}}}"#,
            r#"{"method":7,"params":{"arguments":{"a":1}}}"#,
            r#"[{"method":"tools/call","params":{"arguments":{"a":1}}}]"#,
            "7",
        ] {
            assert_eq!(split(message), (message.to_owned(), "{}".to_owned()));
        }
    }

    #[test]
    fn the_library_reads_no_more_than_64_kib() {
        for message in [
            format!(r#"{{"method":"{}"}}"#, "x".repeat(SMALL)),
            format!(
                r#"{{"method":"tools/call","params":{{"arguments":{{}},"x":"{}"}}}}"#,
                "x".repeat(SMALL)
            ),
        ] {
            let message = Message { bytes: message.into_bytes(), permit: None };
            assert!(matches!(message.split(), Err(Error::BodyTooLarge)));
        }
    }
}
