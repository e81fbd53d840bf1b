use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use rmcp::transport::streamable_http_server::StreamableHttpService;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;

use super::permits::Permits;
use crate::app::App;
use crate::error::Result;

/// Time for which clients may cache answers that change only with a new version: an hour, in milliseconds.
pub const FRESH_MS: u64 = 3_600_000;

pub type Transport = StreamableHttpService<ToolServer, NeverSessionManager>;

/// Returns the part of the API's description with a tag. A module of a higher layer provides it.
pub type Describe = Arc<dyn Fn(&str) -> Result<Arc<str>> + Send + Sync>;

/// The tool server; clones are the same one.
#[derive(Clone)]
pub struct ToolServer {
    app: App,
    /// Created by the first request, because the service may not know its own address before.
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
