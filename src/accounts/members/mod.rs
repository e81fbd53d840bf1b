//! The people of an account: who they are, and how they join and leave.

pub mod invitation;
pub mod member;
pub mod member_list;
pub mod membership_end;
