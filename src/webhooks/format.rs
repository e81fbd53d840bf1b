use crate::types::text_enum::text_enum;

text_enum! {
    /// The form of the bodies that an endpoint gets.
    pub enum Format {
        /// `type`, `timestamp` and `data`.
        Standard = "standard",
        /// A message for an incoming webhook of Slack.
        Slack = "slack",
        /// A message for a webhook of Discord.
        Discord = "discord",
    }
}

text_enum! {
    /// How deliveries are signed, after Standard Webhooks.
    pub enum SignatureKind {
        /// HMAC-SHA256 with the secret.
        V1 = "v1",
        /// Ed25519 too, for receivers that hold only the public key.
        V1a = "v1a",
    }
}
