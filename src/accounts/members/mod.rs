pub mod changes;
pub mod invitation;
pub mod inviting;
pub mod member;
pub mod member_list;
pub mod member_view;
pub mod membership_end;
