pub mod bundles;
mod compressor;
pub mod configs;
pub mod prebuilt;
pub mod script_cache;
