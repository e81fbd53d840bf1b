//! The bundles that `build.rs` made of `scripts-src/`, and the insertion of a configuration.

use serde::Serialize;

use crate::consent_receipt::notice_snapshot::Build;
use crate::error::{Error, Result};

const PLACEHOLDER: &str = "__ASSENT_CONFIG__";

const NAME: usize = 8;

pub struct Bundle {
    pub name: &'static str,
    pub sha256: &'static str,
    text: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/scripts.rs"));

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Script {
    ConsentTag,
    Pixel,
    Popup,
    Preferences,
    Extras,
    Placeholders,
    Signals,
    Compat,
    Hints,
    Recheck,
    Controls,
    Share,
    DevBeacon,
}

impl Script {
    fn bundle(self) -> &'static Bundle {
        let name = match self {
            Self::ConsentTag => "consent-tag",
            Self::Pixel => "pixel",
            Self::Popup => "popup",
            Self::Preferences => "preferences",
            Self::Extras => "extras",
            Self::Placeholders => "placeholders",
            Self::Signals => "signals",
            Self::Compat => "compat",
            Self::Hints => "hints",
            Self::Recheck => "recheck",
            Self::Controls => "controls",
            Self::Share => "share",
            Self::DevBeacon => "dev-beacon",
        };
        BUNDLES.iter().find(|bundle| bundle.name == name).expect("build.rs bundled every script")
    }

    /// The build, named by the beginning of its hash, which does not include the configuration.
    pub fn served(self) -> Build {
        let text = self.bundle().sha256;
        let mut sha256 = [0; 32];
        hex::decode_to_slice(text, &mut sha256).expect("build.rs wrote hex digits");
        Build { name: &text[..NAME], sha256 }
    }

    pub fn unconfigured(self) -> Configured {
        Configured { program: self.bundle().text, rest: String::new() }
    }

    pub fn with_config(self, config: &impl Serialize) -> Result<Configured> {
        let json = serde_json::to_string(config).map_err(Error::internal)?;
        let (program, end) =
            self.bundle().text.split_once(PLACEHOLDER).expect("build.rs counted the placeholder");
        Ok(Configured { program, rest: escape_for_script(&json) + end })
    }
}

pub struct Configured {
    /// The part before the configuration, common to all scripts of a bundle.
    pub program: &'static str,
    pub rest: String,
}

impl Configured {
    pub fn text(&self) -> String {
        [self.program, &self.rest].concat()
    }
}

/// Escapes JSON for a script, even one inlined into a page: nothing in it closes the element or
/// opens a comment, and no character ends a line for old parsers.
fn escape_for_script(json: &str) -> String {
    json.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_configuration_cannot_leave_its_script() {
        let hostile = json!({"name": "</script><!--\u{2028}\u{2029}]]>"});
        let script = Script::ConsentTag.with_config(&hostile).unwrap().text();
        assert!(script.contains(r"\u003c/script\u003e\u003c!--\u2028\u2029]]\u003e"));
        assert!(
            !script.contains("</script")
                && !script.contains("<!--")
                && !script.contains('\u{2028}')
        );
    }

    #[test]
    fn only_brackets_follow_on_a_configuration() {
        // Modules have their exports after the configuration.
        for script in [Script::ConsentTag, Script::Pixel, Script::Popup, Script::DevBeacon] {
            let bundle = script.bundle();
            let (program, end) = bundle.text.split_once(PLACEHOLDER).unwrap();
            assert!(program.len() > 1_000, "{}", bundle.name);
            assert_eq!(end, ")}catch{}", "{}", bundle.name);
        }
    }

    #[test]
    fn the_hash_of_a_bundle_is_that_of_its_text() {
        use sha2::{Digest, Sha256};
        for bundle in BUNDLES {
            assert_eq!(bundle.sha256, hex::encode(Sha256::digest(bundle.text)), "{}", bundle.name);
        }
    }
}
