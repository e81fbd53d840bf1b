//! Our own pages in several languages.

mod catalogues;
mod choice;
mod pages;
