//! Bundles and minifies `scripts-src/` with esbuild into `OUT_DIR`.
//!
//! For every entry point, a file `NAME.js` is written there, and one `scripts.rs` that lists them with
//! their SHA-256. Nearly every bundle contains `__ASSENT_CONFIG__` once, which the service replaces with
//! a configuration. In scripts that pages load, it is at the end; in a module, which has its exports
//! there, it may be anywhere. Scripts of our own pages have no configuration and become assets. All
//! locales become one `locales.json`, and `templates/` and `assets/` become tables, so that the program
//! needs no other file.

use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::{env, fs};

use esbuild_rs::{
    BuildOptionsBuilder, BuildResult, Charset, Format, LegalComments, Platform, Target,
    TreeShaking, build_direct,
};
use sha2::{Digest, Sha256};

const ENTRY_POINTS: [&str; 4] = ["consent-tag", "pixel", "popup", "dev-beacon"];
/// Scripts of our own pages that share code with the entry points. They have no configuration and become assets.
const PAGE_SCRIPTS: [&str; 2] = ["your-data", "passkeys"];
/// Scripts that another script imports.
const MODULES: [&str; 9] = [
    "extras",
    "preferences",
    "placeholders",
    "signals",
    "compat",
    "hints",
    "recheck",
    "controls",
    "share",
];
/// Modules that need no configuration.
const UNCONFIGURED: [&str; 3] = ["extras", "controls", "share"];
const CONFIG_PLACEHOLDER: &str = "__ASSENT_CONFIG__";
/// The name of the configuration's variable in a script.
const CONFIG: &str = "$_";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=scripts-src");
    println!("cargo::rerun-if-changed=templates");
    println!("cargo::rerun-if-changed=assets");
    println!("cargo::rerun-if-changed=migrations");
    let out_dir = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));

    fs::write(out_dir.join("templates.rs"), embedded("templates")).expect("OUT_DIR is writable");
    fs::write(out_dir.join("assets.rs"), assets()).expect("OUT_DIR is writable");
    bundle_all(&out_dir);
}

/// Bundles all scripts, unless the sources are unchanged since the last time: starting esbuild takes
/// longer than everything else here together.
fn bundle_all(out_dir: &Path) {
    let stamp = out_dir.join("scripts.stamp");
    let sources = fingerprint(&["scripts-src", "build.rs"]);
    if fs::read_to_string(&stamp).is_ok_and(|made_of| made_of == sources) {
        return;
    }
    let mut table = String::from("pub const BUNDLES: &[Bundle] = &[\n");
    for name in ENTRY_POINTS.into_iter().chain(MODULES) {
        let is_module = MODULES.contains(&name);
        let format = if is_module { Format::ESModule } else { Format::IIFE };
        let bundle = bundle(&format!("scripts-src/{name}/main.ts"), format);
        let found = bundle.matches(CONFIG_PLACEHOLDER).count();
        let expected = usize::from(!UNCONFIGURED.contains(&name));
        assert_eq!(found, expected, "{name}: {CONFIG_PLACEHOLDER} occurs {found} times");
        let bundle = if is_module { bundle } else { configured_last(name, &bundle) };
        fs::write(out_dir.join(format!("{name}.js")), &bundle).expect("OUT_DIR is writable");
        table.push_str(&format!(
            "    Bundle {{ name: {name:?}, sha256: {:?}, text: include_str!(concat!(env!(\"OUT_DIR\"), \"/{name}.js\")) }},\n",
            hex::encode(Sha256::digest(&bundle)),
        ));
    }
    table.push_str("];\n");
    for name in PAGE_SCRIPTS {
        let bundle = quiet(&bundle(&format!("scripts-src/{name}/main.ts"), Format::IIFE));
        fs::write(out_dir.join(format!("{name}.js")), bundle).expect("OUT_DIR is writable");
    }
    fs::write(out_dir.join("scripts.rs"), table).expect("OUT_DIR is writable");
    fs::write(out_dir.join("locales.json"), merge_locales(Path::new("scripts-src/locales")))
        .expect("OUT_DIR is writable");
    fs::write(stamp, sources).expect("OUT_DIR is writable");
}

/// A hash of the names and contents of these files, and of all files in these folders.
fn fingerprint(paths: &[&str]) -> String {
    let mut hash = Sha256::new();
    for path in paths.iter().map(Path::new) {
        let mut files = if path.is_dir() { files_below(path) } else { vec![path.to_owned()] };
        files.sort();
        for file in files {
            hash.update(file.display().to_string());
            hash.update(Sha256::digest(fs::read(&file).expect("a readable file")));
        }
    }
    hex::encode(hash.finalize())
}

fn bundle(entry: &str, format: Format) -> String {
    let mut options = BuildOptionsBuilder::new();
    options.entry_points.push(entry.to_owned());
    options.bundle = true;
    options.resolve_extensions.push(".ts".to_owned());
    options.format = format;
    options.platform = Platform::Browser;
    options.target = Target::ES2020;
    options.charset = Charset::UTF8;
    options.legal_comments = LegalComments::None;
    options.tree_shaking = TreeShaking::True;
    options.minify_whitespace = true;
    options.minify_identifiers = true;
    options.minify_syntax = true;

    let (sender, receiver) = mpsc::channel();
    build_direct(Arc::clone(&options.build()), move |result: BuildResult| {
        let problems = result
            .errors
            .as_slice()
            .iter()
            .chain(result.warnings.as_slice())
            .map(|message| format!("{}:{}: {}", message.file, message.line, message.text))
            .collect::<Vec<_>>();
        let text = result
            .output_files
            .as_slice()
            .first()
            .map(|file| file.data.as_str().trim_end().to_owned());
        sender.send((problems, text)).expect("the build waits for its bundle");
    });
    let (problems, text) = receiver.recv().expect("esbuild answers");
    assert!(problems.is_empty(), "esbuild: {}", problems.join("\n"));
    text.unwrap_or_else(|| panic!("esbuild wrote nothing for {entry}"))
}

/// Wraps a script so that it fails silently where a browser or a page lacks something that it needs.
fn quiet(script: &str) -> String {
    format!("try{{{script}}}catch{{}}")
}

/// Moves the configuration to the end of a script, so that everything before it is the same for all sites.
fn configured_last(name: &str, bundle: &str) -> String {
    assert!(!bundle.contains(CONFIG), "{name}: {CONFIG} means something else there");
    let script = bundle.replace(CONFIG_PLACEHOLDER, CONFIG);
    quiet(&format!("({CONFIG}=>{{{script}}})({CONFIG_PLACEHOLDER})"))
}

/// One JSON object `{language: locale}` from all files in the folder.
fn merge_locales(folder: &Path) -> String {
    let locales = fs::read_dir(folder)
        .expect("scripts-src/locales exists")
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .map(|path| {
            let text = fs::read_to_string(&path).expect("a readable locale");
            let locale: serde_json::Value = serde_json::from_str(&text)
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let language = locale["lang"].as_str().expect("a locale names its language");
            (language.to_owned(), locale)
        })
        .collect::<serde_json::Map<_, _>>();
    serde_json::Value::Object(locales).to_string()
}

/// A Rust expression: a table of the files that our own pages load, by name and text.
fn assets() -> String {
    let scripts = PAGE_SCRIPTS.map(|name| {
        let name = format!("{name}.js");
        format!("    ({name:?}, include_str!(concat!(env!(\"OUT_DIR\"), \"/{name}\"))),\n")
    });
    embedded("assets").replace("]\n", &format!("{}]\n", scripts.concat()))
}

/// A Rust expression: a table of all files below a folder, by name and text. Names are relative to the
/// folder, without the extension `.tera`.
fn embedded(folder: &str) -> String {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join(folder);
    let mut files = files_below(&root);
    files.sort();
    let mut table = String::from("&[\n");
    for file in files {
        let name = file.strip_prefix(&root).expect("below its folder").display().to_string();
        let name = name.strip_suffix(".tera").unwrap_or(&name);
        table.push_str(&format!(
            "    ({name:?}, include_str!({:?})),\n",
            file.display().to_string()
        ));
    }
    table.push_str("]\n");
    table
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a readable folder");
    let paths = entries.map(|entry| entry.expect("a readable folder").path());
    paths.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}
