use crate::types::text_enum::text_enum;

text_enum! {
    /// What a code is good for.
    pub enum CodePurpose {
        /// Signing in to the console.
        SignIn = "sign_in",
        /// Another address for the account, sent to the new one.
        ChangeEmail = "change_email",
        /// Deleting the account.
        DeleteAccount = "delete_account",
        /// Letting others in: keys and members.
        Keys = "keys",
    }
}
