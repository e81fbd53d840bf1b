mod bits;
mod case;
mod classes;
mod identifiers;
mod kinds;
mod leaks;
mod page;
mod requests;
mod stored;
mod tokens;
mod webrtc;

pub use case::Case;
pub use identifiers::{Profiles, unconfirmed};
pub use kinds::Kind;
pub use leaks::{Leak, Listed};
pub use page::{VisitVerdict, add_profile, evaluate};
