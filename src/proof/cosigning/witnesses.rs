//! The witnesses of `LOG_WITNESSES`: those to ask, and the policy for publication.

use url::Url;

use super::asking::{AskedWitness, client};
use crate::config::{Config, ConfigError};
use crate::proof::format::policy::{TrustPolicy, Witness};

const SETTING: &str = "LOG_WITNESSES";

#[derive(Default)]
pub struct Witnesses {
    pub policy: TrustPolicy,
    pub asked: Vec<AskedWitness>,
}

impl Witnesses {
    pub fn from_config(config: &Config) -> Result<Self, ConfigError> {
        let Some(text) = &config.log_witnesses else { return Ok(Self::default()) };
        let mut policy = TrustPolicy::parse(text).map_err(wrong)?;
        policy.logs.clear();
        let client = client();
        let mut asked = Vec::new();
        for Witness { name, key, cosigner, url } in &policy.witnesses {
            let (Some(cosigner), Some(url)) = (cosigner, url) else { continue };
            let is_address = Url::parse(url)
                .is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
            if !is_address {
                return Err(wrong(format!("the address of {name} is no http:// or https:// one")));
            }
            asked.push(AskedWitness::new(name, key, cosigner.clone(), url, client.clone()));
        }
        Ok(Self { policy, asked })
    }
}

fn wrong(problem: impl ToString) -> ConfigError {
    ConfigError { variable: SETTING.to_owned(), problem: problem.to_string() }
}
