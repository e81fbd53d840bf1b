use std::collections::HashMap;

use serde::Serialize;
use utoipa::ToSchema;

use crate::error::{Error, Result};
use crate::http::body::Body;
use crate::policies::demo::DemoRequest;
use crate::types::bidi;
use crate::types::host::SiteHost;
use crate::types::text::present;

const MAX_NAME: usize = 200;

/// The form as it was sent.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct DemoForm {
    /// The site's host.
    #[schema(example = "shop.example")]
    pub domain: String,
    /// Who asks, at most 200 characters; the host when left out.
    #[schema(required = false, max_length = 200)]
    pub controller_name: String,
}

#[derive(Debug, Serialize)]
pub struct FormProblem {
    #[serde(skip)]
    pub status: u16,
    pub error: &'static str,
    pub error_field: &'static str,
}

impl FormProblem {
    /// The message for an error that concerns the host; any other error is returned as `Err`.
    pub fn about_domain(error: Error) -> Result<Self> {
        let sentence = match error {
            Error::DomainRequired => "Name a site, for example example.com.",
            Error::DomainIsPage => {
                "Only the host, please, as in example.com: no http before it and no page after it."
            }
            Error::DomainNotHost => {
                "This is not the host of a site. It should look like example.com."
            }
            Error::DomainRegistered => {
                "This site has a pixel of its own, so there can be no demo of it. Try another one."
            }
            other => return Err(other),
        };
        Ok(Self { status: error.status(), error: sentence, error_field: "domain" })
    }

    fn about_name(sentence: &'static str) -> Self {
        Self { status: 400, error: sentence, error_field: "controller_name" }
    }
}

impl DemoForm {
    pub fn read<const LIMIT_KIB: usize>(body: &Body<LIMIT_KIB>) -> Self {
        let mut fields: HashMap<_, _> = body.form();
        let mut take = |name| fields.remove(name).unwrap_or_default();
        Self { domain: take("domain"), controller_name: take("controller_name") }
    }

    pub fn check(&self, own_host: &str) -> Result<Result<DemoRequest, FormProblem>> {
        let host = match self.host(own_host) {
            Ok(host) => host,
            Err(error) => return FormProblem::about_domain(error).map(Err),
        };
        let controller_name = match present(Some(&self.controller_name)) {
            None => host.to_string(),
            Some(name) if name.chars().count() > MAX_NAME => {
                return Ok(Err(FormProblem::about_name(
                    "The name may have at most 200 characters.",
                )));
            }
            Some(name) if name.chars().any(char::is_control) => {
                return Ok(Err(FormProblem::about_name("The name must be one line of text.")));
            }
            Some(name) => bidi::plain(name).into_owned(),
        };
        Ok(Ok(DemoRequest { host, controller_name }))
    }

    fn host(&self, own_host: &str) -> Result<SiteHost> {
        let domain = present(Some(&self.domain)).ok_or(Error::DomainRequired)?;
        SiteHost::parse(domain, own_host)
    }

    /// The form to be shown again: without control characters, and with at most 253 characters per field.
    pub fn echo(&self) -> Self {
        let shown = |text: &str| {
            text.chars().filter(|character| !character.is_control()).take(253).collect()
        };
        Self { domain: shown(&self.domain), controller_name: shown(&self.controller_name) }
    }
}
