use super::selection::ReadRequest;
use crate::accounts::access::{Caller, GoodStanding};
use crate::accounts::capability::Capability;
use crate::accounts::scope::Reads;
use crate::accounts::tool::Tool;
use crate::contacts::reading::{self, ContactStream};
use crate::error::{Error, Result};
use crate::infra::Infra;

pub struct ReadContacts;

impl Capability for ReadContacts {
    const NAME: &'static str = "read_contacts";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "Read contacts",
        "Reads resolved people, by the day on which they were first resolved, from an id on, or \
         by what has changed, page by page. People whose consent has ended are left out.",
    ));
    type Service = Infra;
    type Access = GoodStanding<Reads>;
    type Input = ReadRequest;
    /// Each transport formats the chunks: a day may be too long for the memory.
    type Output = ContactStream;

    fn refusals() -> Vec<Error> {
        vec![
            Error::OnOrAfterMissing,
            Error::OnAndAfter,
            Error::OnMalformed,
            Error::AfterMalformed,
            Error::InvalidRequest,
            Error::PixelNotFound,
        ]
    }

    async fn run(infra: &Infra, caller: Caller, request: ReadRequest) -> Result<ContactStream> {
        let (selection, format) = (request.selection()?, request.format()?);
        reading::read(infra, &caller, request, selection, format).await
    }
}
