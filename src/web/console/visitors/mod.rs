pub mod choice;
pub mod choice_words;
pub mod choices;
pub mod contacts;
pub mod evidence;
pub mod linked;
pub mod person_words;
pub mod requests;
