//! The language of the request that is being answered, for mails that it causes.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::templates::language::{self, Language};

tokio::task_local! {
    static REQUESTED: Requested;
}

/// The language that a request asks for, if any. It is serialised as its tag.
#[derive(Clone, Copy, Default)]
pub struct Requested(pub Option<&'static Language>);

impl Requested {
    /// The language of the request that the current task works for; no language outside of a request.
    pub fn current() -> Self {
        REQUESTED.try_with(|requested| *requested).unwrap_or_default()
    }

    /// Runs the work of a request with this language as the current one.
    pub async fn scope<T>(self, work: impl Future<Output = T>) -> T {
        REQUESTED.scope(self, work).await
    }
}

impl Serialize for Requested {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.map(|language| language.tag).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Requested {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let tag = Option::<String>::deserialize(deserializer)?;
        Ok(Self(tag.as_deref().and_then(language::find)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_has_the_language_of_its_request_and_stored_ones_are_read_again() {
        assert!(Requested::current().0.is_none());
        let german = Requested(language::find("de"));
        let stored = german.scope(async { serde_json::to_string(&Requested::current()) }).await;
        assert_eq!(stored.unwrap(), "\"de\"");
        let read = |stored: &str| serde_json::from_str::<Requested>(stored).unwrap();
        assert_eq!(read("\"de\"").0.map(|language| language.tag), Some("de"));
        assert!(read("\"xx\"").0.is_none() && read("null").0.is_none());
    }
}
