//! The program: commands, settings, output, metrics.

mod change_email;
mod cli;
mod configuration;
mod listener;
mod logging;
mod metrics;
mod monitoring;
mod operator;
mod secrecy;
mod secrecy_story;
mod shutdown;
mod single_file;
mod unwritable_output;
