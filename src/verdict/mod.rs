//! The verdict on the observations of a visit: which of them are leaks.

mod bits;
mod case;
mod classes;
mod durations;
mod identifiers;
mod kinds;
mod leaks;
mod order;
mod page;
mod profile;
mod requests;
mod stored;
mod tokens;
mod webrtc;
mod withdrawal;

pub use case::Case;
pub use identifiers::{Profiles, unconfirmed};
pub use kinds::Kind;
pub use leaks::{Leak, Listed};
pub use page::{VisitVerdict, add_profile, evaluate};
