use rmcp::ErrorData;
use rmcp::model::{
    CacheScope, ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate,
};

use crate::error::{Error, Result};
use crate::guide;
use crate::guide::topics::{self, TOPICS, Topic};
use crate::policies::notice;
use crate::tool_calls::tool_server::{FRESH_MS, ToolServer};
use crate::types::ids::PixelRef;
use crate::types::locales;

const MARKDOWN: &str = "text/markdown";
const TEXT: &str = "text/plain";
const JSON: &str = "application/json";

pub fn list(base_url: &str) -> ListResourcesResult {
    let guide = Resource::new(guide_uri(base_url), "guide")
        .with_title("Guide")
        .with_description("From nothing to a verified install, receipts, errors and limits")
        .with_mime_type(MARKDOWN);
    let topic = |topic: &Topic| {
        Resource::new(topic.address(base_url), topic.slug)
            .with_title(topic.title)
            .with_description(topic.about)
            .with_mime_type(MARKDOWN)
    };
    let everything = Resource::new(everything_uri(base_url), "llms-full")
        .with_title("All documents")
        .with_description("The guide, all documents about single subjects, and the codes of errors")
        .with_mime_type(TEXT);
    let all = [guide].into_iter().chain(TOPICS.iter().map(topic)).chain([everything]).collect();
    let resources = ListResourcesResult::with_all_items(all);
    resources.with_ttl_ms(FRESH_MS).with_cache_scope(CacheScope::Public)
}

pub fn list_templates(base_url: &str) -> ListResourceTemplatesResult {
    let notice = ResourceTemplate::new(policy_uri(base_url, "{pixel_id}"), "policy")
        .with_title("Privacy notice")
        .with_description("What visitors of a pixel's site are told before they choose, in English")
        .with_mime_type(TEXT);
    let part = ResourceTemplate::new(part_uri(base_url, "{tag}"), "openapi")
        .with_title("API description")
        .with_description("The operations of one tag of `/openapi.json`, and their schemas")
        .with_mime_type(JSON);
    let templates = ListResourceTemplatesResult::with_all_items(vec![notice, part]);
    templates.with_ttl_ms(FRESH_MS).with_cache_scope(CacheScope::Public)
}

/// The resource of an address, which is also where a browser finds it.
pub async fn read(server: &ToolServer, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let base_url = server.infra.base_url();
    let topic = TOPICS.iter().find(|topic| uri == topic.address(base_url));
    let document = match topic {
        Some(topic) => Some((topic.markdown(base_url), MARKDOWN)),
        None if uri == guide_uri(base_url) => Some((guide::markdown(base_url), MARKDOWN)),
        None if uri == everything_uri(base_url) => Some((topics::everything(base_url), TEXT)),
        None => match uri.strip_prefix(&part_uri(base_url, "")) {
            Some(tag) => Some(((server.describe)(tag).map_err(refusal)?.to_string(), JSON)),
            None => None,
        },
    };
    if let Some((text, kind)) = document {
        let contents = ResourceContents::text(text, uri).with_mime_type(kind);
        let read = ReadResourceResult::new(vec![contents]);
        return Ok(read.with_ttl_ms(FRESH_MS).with_cache_scope(CacheScope::Public));
    }
    let pixel = uri.strip_prefix(&policy_uri(base_url, ""));
    let pixel = pixel.ok_or_else(|| ErrorData::resource_not_found("resource not found", None))?;
    let notice = current_notice(server, PixelRef::parse(pixel)).await.map_err(refusal)?;
    let notice = ResourceContents::text(notice, uri).with_mime_type(TEXT);
    Ok(ReadResourceResult::new(vec![notice]))
}

async fn current_notice(server: &ToolServer, pixel: Option<PixelRef>) -> Result<String> {
    let pixel = pixel.ok_or(Error::PolicyNotFound)?;
    let site = server.sites.find(&pixel).await?;
    let site = site.as_ref().ok_or(Error::PolicyNotFound)?;
    let policy = site.policy_in_force().ok_or(Error::PolicyNotFound)?;
    Ok(notice::plain_text(policy, locales::english()))
}

fn refusal(error: Error) -> ErrorData {
    match error {
        Error::PolicyNotFound => ErrorData::resource_not_found("policy not found", None),
        Error::Validation(_) => ErrorData::resource_not_found("resource not found", None),
        Error::Internal(cause) => {
            tracing::error!(cause, "internal error");
            ErrorData::internal_error("internal error", None)
        }
        other => ErrorData::internal_error(other.to_string(), None),
    }
}

fn guide_uri(base_url: &str) -> String {
    format!("{base_url}/guide.md")
}

fn everything_uri(base_url: &str) -> String {
    format!("{base_url}/llms-full.txt")
}

fn part_uri(base_url: &str, tag: &str) -> String {
    format!("{base_url}/openapi.json?tag={tag}")
}

fn policy_uri(base_url: &str, pixel: &str) -> String {
    format!("{base_url}/v1/policy/{pixel}")
}
