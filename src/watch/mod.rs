//! `assent watch`: visits pages with a browser and reports what they load or store without consent.
//!
//! Verdicts come from the browser's own network log. The DevTools protocol gives the causes: type, script and
//! line. Nothing is intercepted during a visit.

mod browser;
mod devtools;
mod gate;
mod monotonic;
mod net_log;
mod options;
pub mod report;
mod run;
mod service;
mod site;
mod verdict;
mod visit;

pub use browser::guard::{COMMAND as GUARD_COMMAND, guard, program};
pub use gate::Exceptions;
pub use options::{ON_NODE, Options, parse_allowed, parse_url};
pub use run::watch;
pub use site::host_of;
pub use verdict::Leak;
