//! The prompt that walks an agent from signing up to a verified install.

use std::sync::LazyLock;

use rmcp::ErrorData;
use rmcp::model::{
    GetPromptRequestParams, GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage,
    Role,
};
use tera::{Context, Tera};

use crate::accounts::email::Email;
use crate::error::{Error, Result};
use crate::http::body::present;
use crate::pixels::SiteHost;
use crate::platform::Platform;

const NAME: &str = "install_pixel";
const MOST_NAME: usize = 200;

static TEXT: LazyLock<Tera> = LazyLock::new(|| {
    let mut tera = Tera::default();
    tera.add_raw_template("prompt", include_str!("../../templates/texts/install_prompt.md.tera"))
        .expect("the prompt's template is valid");
    tera
});

pub fn prompt() -> Prompt {
    let argument = |name: &str, description: &str, required: bool| {
        PromptArgument::new(name).with_description(description).with_required(required)
    };
    let arguments = vec![
        argument("domain", "The site's host, for example shop.example", true),
        argument("email", "Whose account it is; not needed with an API key", false),
        argument(
            "controller_name",
            "Who answers for the site's data: a company or a person",
            false,
        ),
    ];
    let description = "From signing up to a verified install of the pixel on one site";
    Prompt::new(NAME, Some(description), Some(arguments))
        .with_title("Install the pixel on this site")
}

/// The prompt with the caller's values in it, each of them checked: whoever fills a prompt in must
/// not be able to write its instructions.
pub fn render(
    platform: &Platform,
    request: GetPromptRequestParams,
) -> std::result::Result<GetPromptResult, ErrorData> {
    if request.name != NAME {
        return Err(ErrorData::invalid_params("prompt not found", None));
    }
    let context = context(platform, &request.arguments.unwrap_or_default())
        .map_err(|error| ErrorData::invalid_params(error.to_string(), None))?;
    let text = TEXT.render("prompt", &context).expect("the prompt's template renders");
    let message = PromptMessage::new_text(Role::User, text);
    Ok(GetPromptResult::new(vec![message]).with_description("Install the pixel on this site"))
}

fn context(platform: &Platform, given: &JsonObject) -> Result<Context> {
    let argument = |name| present(given.get(name).and_then(|value| value.as_str()));
    let domain = argument("domain").ok_or(Error::DomainRequired)?;
    let domain = SiteHost::parse(domain, &platform.base_host())?;
    let mut context = Context::new();
    context.insert("base_url", platform.base_url());
    context.insert("domain", &domain);
    if let Some(email) = argument("email") {
        context.insert("email", Email::parse(email)?.as_str());
    }
    if let Some(name) = argument("controller_name") {
        if name.chars().count() > MOST_NAME || name.chars().any(char::is_control) {
            return Err(Error::InvalidRequest);
        }
        context.insert("controller_name", name);
    }
    Ok(context)
}
