//! The bundles that `build.rs` made of `scripts-src/`, and how a configuration gets into them.

use serde::Serialize;

use crate::error::{Error, Result};
use crate::receipts::notice_snapshot::Build;

/// The token in a bundle that gives way to its configuration.
const PLACEHOLDER: &str = "__ASSENT_CONFIG__";

/// Digits of a build's name.
const NAME: usize = 8;

/// A minified script.
pub struct Bundle {
    pub name: &'static str,
    /// Lowercase hex of the text's SHA-256.
    pub sha256: &'static str,
    text: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/scripts.rs"));

/// The scripts that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Script {
    ConsentTag,
    Pixel,
    Popup,
    Preferences,
    Extras,
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
            Self::DevBeacon => "dev-beacon",
        };
        BUNDLES.iter().find(|bundle| bundle.name == name).expect("build.rs bundled every script")
    }

    /// What is served, named by the beginning of its hash; the configuration is not part of it.
    pub fn served(self) -> Build {
        let text = self.bundle().sha256;
        let mut sha256 = [0; 32];
        hex::decode_to_slice(text, &mut sha256).expect("build.rs wrote hex digits");
        Build { name: &text[..NAME], sha256 }
    }

    /// The script with its configuration in place.
    pub fn with_config(self, config: &impl Serialize) -> Result<Configured> {
        let json = serde_json::to_string(config).map_err(Error::internal)?;
        let (program, end) =
            self.bundle().text.split_once(PLACEHOLDER).expect("build.rs counted the placeholder");
        Ok(Configured { program, rest: escape_for_script(&json) + end })
    }
}

/// A script with its configuration.
pub struct Configured {
    /// All before the configuration: the same for all that are made of one bundle.
    pub program: &'static str,
    pub rest: String,
}

impl Configured {
    pub fn text(&self) -> String {
        [self.program, &self.rest].concat()
    }
}

/// JSON that can stand in a script, also in one that is inlined into a page: nothing in it closes
/// the element or opens a comment, and no character ends a line for old parsers.
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
        for bundle in
            BUNDLES.iter().filter(|bundle| !["extras", "preferences"].contains(&bundle.name))
        {
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
