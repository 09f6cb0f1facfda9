//! Each layer uses only those above it in ARCHITECTURE.md, and what the compiler cannot check is in few files.

use std::path::Path;

/// From the top of that list on.
const LAYERS: [&str; 17] = [
    "sync",
    "memory",
    "transport",
    "ni",
    "job",
    "lock",
    "counting",
    "region",
    "queue",
    "message",
    "matching",
    "exchange",
    "packets",
    "passing",
    "collective",
    "task",
    "launch",
];

fn sources(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else {
            // Some are not text.
            found.extend(std::fs::read_to_string(&path).map(|text| (path.display().to_string(), text)));
        }
    }
}

#[test]
fn layers_use_only_those_above_them() {
    let mut seen = 0;
    for (height, layer) in LAYERS.iter().enumerate() {
        let mut files = Vec::new();
        sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(layer), &mut files);
        for (name, text) in files {
            for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
                seen += line.matches("crate::").count();
                for below in &LAYERS[height + 1..] {
                    assert!(!line.contains(&format!("crate::{below}::")), "{name} uses {below}: {line}");
                }
            }
        }
    }
    assert!(seen > 100, "only {seen} uses were found");
}

/// Files that have the keyword, of a hundred.
const UNCHECKED_PERCENT_MAX: usize = 20;

/// Memory that peers write, system calls and other languages are behind types that are argued for in one place each (`memory::span`,
/// `sync::shared`, `hikyaku-c`'s `given`, `hikyaku_testing::os`): other files use those.
#[test]
fn few_files_hold_what_the_compiler_cannot_check() {
    let keyword = concat!("un", "safe");
    let has_it = |text: &str| text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == keyword);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for folder in ["crates", "examples"] {
        sources(&root.join(folder), &mut files);
    }
    let (mut count, mut with) = (0, Vec::new());
    for (name, text) in files.iter().filter(|(name, _)| name.ends_with(".rs")) {
        count += 1;
        if has_it(text) {
            with.push(name);
        }
    }
    assert!(count > 300, "only {count} files were found");
    assert!(with.len() * 100 <= count * UNCHECKED_PERCENT_MAX, "{} of {count} files: {with:#?}", with.len());
}
