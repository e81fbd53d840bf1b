//! `assent watch`: visits pages with a browser and reports what they load or store without consent. Verdicts
//! come from the browser's own network log. The DevTools protocol gives the causes: type, script and line.
//! Nothing is intercepted during a visit.

mod filtering_proxy;
mod options;
mod own_process;
mod priority;
pub mod report;
mod run;
mod screenshots;

pub use filtering_proxy::Exceptions;
pub use options::{ON_NODE, Options, parse_allowed, parse_url};
pub use own_process::{OutputFolder, RunError, own_command, run_to_end};
pub use priority::lower_priority;
pub use run::watch;
pub use screenshots::{COMMAND as SCREENSHOTS_COMMAND, page_file, picture_file, take_screenshots};
