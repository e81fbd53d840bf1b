//! Codes sent to an account's mailbox, and changes of its address.

use reqwest::Method;
use serde_json::{Value, json};

use super::mail::MailServer;
use super::server::{Answer, App};
use super::story::Account;

impl App {
    /// Requests a code for a purpose, and reads it from the mailbox.
    pub async fn code_for(&self, key: &str, purpose: &str, mailbox: &str) -> String {
        let before = MailServer::shared().inbox(mailbox).len();
        let body = json!({"purpose": purpose, "email": mailbox});
        let ordered = self.call(Method::POST, "/v1/account/codes", key, body).await;
        assert_eq!(ordered.expect(202)["sent"], true);
        MailServer::shared().wait_for(mailbox, before + 1).await.pop().unwrap().code()
    }

    /// Changes the name or the address of the account.
    pub async fn change_account(&self, key: &str, body: Value) -> Answer {
        self.call(Method::PATCH, "/v1/account", key, body).await
    }

    /// Changes the account's address at once, with the codes of both mailboxes.
    pub async fn move_account(&self, account: &Account, present: &str, new: &str) -> Answer {
        let code = self.code_for(&account.key, "change_email", new).await;
        let current = self.code_for(&account.key, "change_email", present).await;
        let body = json!({"email": new, "code": code, "current_code": current});
        self.change_account(&account.key, body).await
    }

    /// Requests a change of address without a code of the current mailbox.
    pub async fn ask_to_move(&self, account: &Account, new: &str) -> Answer {
        let code = self.code_for(&account.key, "change_email", new).await;
        self.change_account(&account.key, json!({"email": new, "code": code})).await
    }

    /// Makes an address a member of the account, and returns the member's id.
    pub async fn member_of(&self, account: &Account, email: &str, role: &str) -> String {
        let code = self.code_for(&account.key, "keys", &account.email).await;
        let body = json!({"email": email, "role": role, "code": code});
        let made = self.call(Method::POST, "/v1/account/members", &account.key, body).await;
        made.expect(201)["member_id"].as_str().unwrap().to_owned()
    }

    /// Ends a membership.
    pub async fn remove_member(&self, account: &Account, member_id: &str) {
        let path = format!("/v1/account/members/{member_id}");
        self.call(Method::DELETE, &path, &account.key, Value::Null).await.expect(204);
    }
}

/// Six digits that differ from these.
pub fn other_code(code: &str) -> &'static str {
    if code == "000000" { "000001" } else { "000000" }
}

/// The path and query of the link that cancels a change of address.
pub fn cancel_link(text: &str) -> String {
    let start = text.find("/v1/email/address-change?token=").expect("a link in the mail");
    text[start..].split_whitespace().next().unwrap().to_owned()
}
