//! Controls a Chromium browser: its process, its network log, and the DevTools protocol. The addresses of consent tags
//! are here because the DevTools client records the scripts with such addresses.

mod arguments;
pub mod bounds;
pub mod devtools;
mod folder;
pub mod guard;
pub mod monotonic;
pub mod net_log;
mod output;
mod process;
pub mod processes;
mod program;
pub mod run_delay;
pub mod site;
pub mod tag_service;
mod user;

pub use arguments::Extra;
pub use folder::RunFolder;
pub use process::{Browser, StartError, log_file};
pub use program::Program;
