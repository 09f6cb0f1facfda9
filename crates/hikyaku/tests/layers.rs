//! Each layer uses only those above it in ARCHITECTURE.md.

use std::path::Path;

/// From the top of that list on.
const LAYERS: [&str; 8] = ["sync", "memory", "transport", "ni", "job", "message", "collective", "launch"];

fn sources(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else {
            found.push((path.display().to_string(), std::fs::read_to_string(&path).unwrap()));
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
