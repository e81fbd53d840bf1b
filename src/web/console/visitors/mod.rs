pub mod choice;
pub mod choice_words;
pub mod choices;
pub mod contacts;
pub mod requests;
