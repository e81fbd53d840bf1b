pub mod invitation;
pub mod member;
pub mod member_list;
pub mod membership_end;
