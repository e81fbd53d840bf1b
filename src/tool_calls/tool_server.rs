use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use rmcp::transport::streamable_http_server::StreamableHttpService;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;

use super::permits::Permits;
use crate::app::App;
use crate::error::Result;

/// How long a client may keep what changes only with the program: an hour, in milliseconds.
pub const FRESH_MS: u64 = 3_600_000;

pub type Transport = StreamableHttpService<ToolServer, NeverSessionManager>;

/// The part of the API's description with a tag, which a module above knows.
pub type Describe = Arc<dyn Fn(&str) -> Result<Arc<str>> + Send + Sync>;

/// The tool server; clones are the same one.
#[derive(Clone)]
pub struct ToolServer {
    app: App,
    /// Made with the first request: before, the service may not know its own address.
    pub transport: Arc<OnceLock<Transport>>,
    pub permits: Permits,
    pub describe: Describe,
}

impl Deref for ToolServer {
    type Target = App;

    fn deref(&self) -> &App {
        &self.app
    }
}

impl ToolServer {
    pub fn new(app: App, describe: Describe) -> Self {
        Self { app, transport: Arc::default(), permits: Permits::default(), describe }
    }
}
