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
