use crate::infra::secret_hash::secret_hash;
use crate::types::ids::random_text;

const BEGINNING: &str = "sh_";
/// Random letters and digits: 256 bits.
const SECRET_LEN: usize = 43;
pub const PREFIX_LEN: usize = 12;

/// The secret part of a link's address: `sh_` and 43 random letters and digits. Only its hash is stored.
pub struct Token(String);

impl Token {
    pub fn random() -> Self {
        Self(format!("{BEGINNING}{}", random_text(SECRET_LEN)))
    }

    /// Returns `None` if the text is malformed.
    pub fn parse(text: &str) -> Option<Self> {
        let secret = text.strip_prefix(BEGINNING)?;
        let is_secret =
            secret.len() == SECRET_LEN && secret.bytes().all(|byte| byte.is_ascii_alphanumeric());
        is_secret.then(|| Self(text.to_owned()))
    }

    pub fn expose(&self) -> &str {
        &self.0
    }

    pub fn prefix(&self) -> &str {
        &self.0[..PREFIX_LEN]
    }

    pub fn hash(&self) -> Vec<u8> {
        secret_hash(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_texts_of_the_form_are_tokens() {
        let token = Token::random();
        assert!(Token::parse(token.expose()).is_some());
        assert_eq!(token.prefix(), &token.expose()[..12]);
        let long = format!("{}a", token.expose());
        for text in ["", "sh_", token.prefix(), &long, &token.expose().replacen("sh_", "px_", 1)] {
            assert!(Token::parse(text).is_none(), "{text}");
        }
        assert!(Token::parse(&format!("sh_{}é", "a".repeat(41))).is_none());
    }
}
