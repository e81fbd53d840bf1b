//! The prompt that walks an agent from signing up to a verified install.

use rmcp::ErrorData;
use rmcp::model::{
    GetPromptRequestParams, GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage,
    Role,
};

use crate::http::body::present;

const NAME: &str = "install_pixel";
const TEXT: &str = include_str!("install_prompt.md");

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

/// The prompt with the caller's values in it.
pub fn render(
    base_url: &str,
    request: GetPromptRequestParams,
) -> Result<GetPromptResult, ErrorData> {
    if request.name != NAME {
        return Err(ErrorData::invalid_params("prompt not found", None));
    }
    let given = request.arguments.unwrap_or_default();
    let domain = argument(&given, "domain")
        .ok_or_else(|| ErrorData::invalid_params("domain is required", None))?;
    let text = TEXT
        .replace("{base_url}", base_url)
        .replace("{email}", argument(&given, "email").unwrap_or("(ask the person for it)"))
        .replace(
            "{controller_name}",
            argument(&given, "controller_name").unwrap_or("(ask the person for it)"),
        )
        .replace("{domain}", domain);
    let message = PromptMessage::new_text(Role::User, text);
    Ok(GetPromptResult::new(vec![message]).with_description("Install the pixel on this site"))
}

fn argument<'a>(given: &'a JsonObject, name: &str) -> Option<&'a str> {
    present(given.get(name).and_then(|value| value.as_str()))
}
