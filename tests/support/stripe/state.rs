//! The state of the fake provider: its objects, the requests that it received, and its faults.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use serde_json::Value;

pub const SECRET_KEY: &str = "sk_test_fake_secret_key";
pub const API_VERSION: &str = "2025-03-31.basil";

/// A fault between the service and the provider.
#[derive(Clone, Debug)]
pub enum Fault {
    /// The answer is this status with an error object; the request has no effect.
    Status(u16),
    /// The answer is no JSON.
    Garbage,
    /// The answer is two MiB of JSON.
    Huge,
    /// The answer points to another address.
    Redirect(String),
    /// The connection is closed before the request has an effect.
    Lost,
    /// The request has its effect, and the connection is closed without an answer.
    AnswerLost,
    /// Nothing is ever answered.
    Silent,
    /// The answer begins and never ends.
    Dripping,
    /// The answer comes after this time.
    Slow(Duration),
}

/// A request as the provider received it.
#[derive(Clone, Debug, Default)]
pub struct Received {
    pub method: String,
    /// Without its query.
    pub path: String,
    /// Names in lowercase.
    pub headers: HashMap<String, String>,
    /// Of the query, or of the body.
    pub form: Vec<(String, String)>,
}

impl Received {
    pub fn field(&self, name: &str) -> Option<&str> {
        self.form.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

pub type Form = Vec<(String, String)>;

/// Everything the provider knows.
#[derive(Default)]
pub struct State {
    pub objects: HashMap<String, Value>,
    pub answers_by_key: HashMap<String, (Form, u16, Value)>,
    pub received: Vec<Received>,
    pub next_faults: VecDeque<Fault>,
    pub fault: Option<Fault>,
    pub older_shape: bool,
    pub ids: u32,
}

impl State {
    pub fn new_id(&mut self, prefix: &str) -> String {
        self.ids += 1;
        format!("{prefix}1Fake{:08}", self.ids)
    }
}

/// The objects of one payment at the provider.
#[derive(Clone, Debug)]
pub struct Bought {
    pub session: String,
    pub subscription: String,
    pub customer: String,
    pub invoice: String,
}
