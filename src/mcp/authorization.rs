//! The scope of the sender, by which lists are filtered.

use super::call::Sender;
use super::indirect::FIND_TOOLS;
use super::tool_server::ToolServer;
use crate::accounts::access::{Access, AnyKey};
use crate::accounts::scope::{Reads, Scope};

impl ToolServer {
    /// The scope of the key in the headers, for messages that list tools; `None` without a valid key.
    /// Every other call is authorised by its capability.
    pub async fn scope_of(&self, sender: &Sender) -> Option<Scope> {
        let lists = sender.call.name.is_empty() || sender.call.name == FIND_TOOLS;
        if !lists || sender.credentials.api_key.is_none() {
            return None;
        }
        let caller = AnyKey::<Reads>::admit(&self.accounts, sender.credentials.clone()).await;
        caller.ok().map(|caller| caller.scope)
    }
}
