use std::fs;
use std::path::Path;
use std::time::Duration;

use assent::config::Secret;
use assent::infra::direct_client::direct_client;
use assent::proof::format::watch_report::JSON;
use assent::watch::report::{NOTE, Report};
use reqwest::Method;
use serde_json::{Value, json};
use url::Url;

const CONNECT: Duration = Duration::from_secs(5);
const TOTAL: Duration = Duration::from_secs(30);
const NO_KEY: &str = "ASSENT_API_KEY is not set";

pub struct Service<'c> {
    pub address: &'c Url,
    pub key: Option<&'c Secret>,
}

impl Service<'_> {
    /// Returns the hosts that the pixel's owner allows, or the reason why they could not be read.
    pub async fn allowed(&self, pixel: &str) -> Result<Vec<String>, String> {
        let answer = self.ask(Method::GET, pixel, "watch", None).await?;
        let hosts = answer["watch_allow"].as_array().ok_or("the service gave no such sites")?;
        Ok(hosts.iter().filter_map(Value::as_str).map(str::to_owned).collect())
    }

    /// Returns a sentence about the stored report, or the reason why it was not submitted.
    pub async fn submit(
        &self,
        pixel: Option<&str>,
        report: &Report,
        folder: &Path,
    ) -> Result<String, String> {
        if self.key.is_none() {
            return Err(NO_KEY.to_owned());
        }
        let pixel = match pixel {
            Some(pixel) => pixel,
            None => pixel_of(report)
                .ok_or("the pages have no pixel in common, name one with --pixel")?,
        };
        let read = |name| fs::read_to_string(folder.join(name)).map_err(|error| error.to_string());
        let body = json!({"report": read(JSON)?, "note": read(NOTE)?});
        let answer = self.ask(Method::POST, pixel, "watch-reports", Some(body)).await?;
        let report_id = answer["report_id"].as_str().ok_or("the service gave no id")?;
        Ok(format!("Submitted as {report_id}. Its hash will be in the service's public log."))
    }

    /// The response of a route of the pixel, or the reason why the request failed.
    async fn ask(
        &self,
        method: Method,
        pixel: &str,
        route: &str,
        body: Option<Value>,
    ) -> Result<Value, String> {
        let key = self.key.ok_or(NO_KEY)?;
        let mut address = self.address.clone();
        address.set_query(None);
        address.set_fragment(None);
        let is_set = address.path_segments_mut().map(|mut path| {
            path.clear().extend(["v1", "pixels", pixel, route]);
        });
        is_set.map_err(|()| "the service has no such address".to_owned())?;
        let request =
            direct_client(CONNECT, TOTAL).request(method, address).bearer_auth(key.expose());
        let request = match &body {
            Some(body) => request.json(body),
            None => request,
        };
        let response = request.send().await.map_err(|error| error.without_url().to_string())?;
        let status = response.status();
        let answer = response.json::<Value>().await.unwrap_or_default();
        if status.is_success() {
            return Ok(answer);
        }
        let detail = answer["detail"].as_str().unwrap_or("no reason was given");
        let wrong = answer["errors"].as_array().into_iter().flatten();
        let wrong = wrong.filter_map(|error| error["msg"].as_str());
        let reasons = std::iter::once(detail).chain(wrong).collect::<Vec<_>>();
        Err(format!("the service answered {}: {}", status.as_u16(), reasons.join(", ")))
    }
}

fn pixel_of(report: &Report) -> Option<&str> {
    let mut pixels = report.pages.iter().filter_map(|page| Some(page.tag.as_ref()?.pixel.as_str()));
    let first = pixels.next()?;
    pixels.all(|pixel| pixel == first).then_some(first)
}
