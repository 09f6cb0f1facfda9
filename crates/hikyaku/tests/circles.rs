//! No two files of a layer need each other: what one file is about can be read without those that are built on it.
//!
//! Only imports and paths are seen here, not methods of a type that lies below: those are kept apart by their visibility.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Layers without circles.
const LAYERS: [&str; 3] = ["ni", "message", "collective"];
/// Layers in order: the folders and files of each, which use only those before them.
const ORDERS: [(&str, &[&str]); 2] = [
    ("ni", &["wire", "state", "base", "reach", "receive", "interface", "progress", "remote", "face"]),
    ("message", &["wire", "buffer", "state", "near", "far", "pair", "messages", "operation"]),
];

/// Text by module, as `message::wire::slot`.
type Sources = BTreeMap<String, String>;
type Uses = BTreeMap<String, BTreeSet<String>>;

fn read(folder: &Path, module: &str, found: &mut Sources) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let (path, name) = (entry.path(), entry.file_name().into_string().unwrap());
        if path.is_dir() {
            read(&path, &join(module, &name), found);
        } else if let Some(name) = name.strip_suffix(".rs").filter(|name| *name != "tests") {
            let module = if matches!(name, "mod" | "lib") { module.to_string() } else { join(module, name) };
            found.insert(module, without_tests(&std::fs::read_to_string(&path).unwrap()));
        }
    }
}

fn join(module: &str, name: &str) -> String {
    if module.is_empty() { name.to_string() } else { format!("{module}::{name}") }
}

/// Without comments, and without the tests at the end.
fn without_tests(text: &str) -> String {
    let marks = ["#[cfg(test)]\nmod ", "#[cfg(all(test, not(loom)))]\nmod "];
    let text = marks.iter().fold(text, |text, mark| text.find(mark).map_or(text, |tests| &text[..tests]));
    text.lines().map(|line| line.split("//").next().unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

/// All paths that a tree of imports stands for.
fn expand(prefix: &str, tree: &str, paths: &mut Vec<String>) {
    let tree = tree.trim();
    let Some(open) = tree.find('{') else {
        let path = tree.split(" as ").next().unwrap_or(tree).trim();
        return paths.push(format!("{prefix}{path}"));
    };
    let prefix = format!("{prefix}{}", &tree[..open]);
    let (mut depth, mut start) = (0, 0);
    let inner = &tree[open + 1..tree.rfind('}').unwrap()];
    for (index, character) in inner.char_indices().chain([(inner.len(), ',')]) {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                if !inner[start..index].trim().is_empty() {
                    expand(&prefix, &inner[start..index], paths);
                }
                start = index + 1;
            }
            _ => {}
        }
    }
}

/// The imports of a text, each with what stands before `use`.
fn imports(text: &str) -> Vec<(&str, Vec<String>)> {
    let mut found = Vec::new();
    for statement in text.split(';') {
        let line = statement.rfind("use ").filter(|at| statement[..*at].ends_with(['\n', ' ', ')']) || *at == 0);
        let Some(at) = line else { continue };
        let before = statement[..at].rsplit('\n').next().unwrap_or("").trim();
        if before.is_empty() || before.starts_with("pub") {
            let mut paths = Vec::new();
            expand("", &statement[at + 4..], &mut paths);
            found.push((before, paths));
        }
    }
    found
}

/// Paths that stand in the midst of code.
fn inline(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for start in ["crate::", "super::"] {
        for (at, _) in text.match_indices(start) {
            let is_path = |character: char| character.is_alphanumeric() || matches!(character, '_' | ':');
            let path: String = text[at..].chars().take_while(|character| is_path(*character)).collect();
            if !text[..at].ends_with(is_path) {
                found.push(path.trim_end_matches(':').to_string());
            }
        }
    }
    found
}

/// The module whose file a path leads to, and the item it names there.
fn resolve(sources: &Sources, module: &str, path: &str) -> Option<(String, String)> {
    let mut names: Vec<&str> = path.split("::").collect();
    let mut at: Vec<&str> = module.split("::").filter(|name| !name.is_empty()).collect();
    match names[0] {
        "crate" => {
            at.clear();
            names.remove(0);
        }
        "super" | "self" => {
            while let Some(name @ ("super" | "self")) = names.first().copied() {
                if name == "super" {
                    at.pop();
                }
                names.remove(0);
            }
        }
        child if sources.contains_key(&join(module, child)) => {}
        _ => return None,
    }
    let item = names.last().map_or(String::new(), |name| name.to_string());
    let mut file = at.join("::");
    for name in names {
        let next = join(&file, name);
        if !sources.contains_key(&next) {
            break;
        }
        file = next;
    }
    Some((file, item))
}

/// Which files each file of a layer uses.
fn uses(sources: &Sources, layer: &str) -> Uses {
    let mut exported = BTreeMap::new();
    for (module, text) in sources {
        for (_, paths) in imports(text).into_iter().filter(|(before, _)| before.starts_with("pub")) {
            for path in paths {
                if let Some((file, item)) = resolve(sources, module, &path) {
                    exported.insert((module.clone(), item), file);
                }
            }
        }
    }
    let mut uses = Uses::new();
    let inside = |module: &str| module == layer || module.starts_with(&format!("{layer}::"));
    for (module, text) in sources.iter().filter(|(module, _)| inside(module)) {
        let private = imports(text).into_iter().filter(|(before, _)| before.is_empty());
        let paths = private.flat_map(|(_, paths)| paths).chain(inline(text));
        // What a `mod.rs` hands on is not needed there.
        let handed: BTreeSet<String> =
            imports(text).into_iter().filter(|(before, _)| !before.is_empty()).flat_map(|(_, paths)| paths).collect();
        for path in paths.filter(|path| !handed.contains(path)) {
            let Some((mut file, item)) = resolve(sources, module, &path) else { continue };
            while let Some(next) = exported.get(&(file.clone(), item.clone())).filter(|next| **next != file) {
                file = next.clone();
            }
            if file != *module && inside(&file) {
                uses.entry(module.clone()).or_default().insert(file);
            }
        }
    }
    uses
}

/// Files that need each other, in a row that ends where it begins.
fn circle(uses: &Uses) -> Option<Vec<String>> {
    fn walk(uses: &Uses, module: &str, way: &mut Vec<String>, done: &mut BTreeSet<String>) -> Option<Vec<String>> {
        if let Some(at) = way.iter().position(|before| before == module) {
            return Some([&way[at..], &[module.to_string()]].concat());
        }
        if !done.insert(module.to_string()) {
            return None;
        }
        way.push(module.to_string());
        let found = uses.get(module).into_iter().flatten().find_map(|next| walk(uses, next, way, done));
        way.pop();
        found
    }
    let mut done = BTreeSet::new();
    uses.keys().find_map(|module| walk(uses, module, &mut Vec::new(), &mut done))
}

fn library() -> Sources {
    let mut sources = Sources::new();
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), "", &mut sources);
    sources
}

#[test]
fn no_files_of_a_layer_need_each_other() {
    let sources = library();
    for layer in LAYERS {
        let uses = uses(&sources, layer);
        let count: usize = uses.values().map(BTreeSet::len).sum();
        assert!(count > 100, "only {count} uses were found in {layer}");
        assert_eq!(circle(&uses), None, "files of {layer} need each other");
    }
}

#[test]
fn folders_use_only_those_before_them() {
    let sources = library();
    for (layer, order) in ORDERS {
        let height = |module: &str| {
            let part = module.split("::").nth(1)?;
            Some(order.iter().position(|folder| *folder == part).unwrap_or_else(|| panic!("{part} has no place")))
        };
        for (module, uses) in uses(&sources, layer) {
            for used in uses {
                let (Some(here), Some(there)) = (height(&module), height(&used)) else { continue };
                assert!(there <= here, "{module} uses {used}");
            }
        }
    }
}

/// By imports with braces, through what a `mod.rs` hands on, and by a path in the midst of code.
#[test]
fn a_circle_is_found() {
    let source = |module: &str, text: &str| (module.to_string(), without_tests(text));
    let mut sources = Sources::from([
        source("", "mod layer;"),
        source("layer", "mod a;\nmod b;\nmod c;\npub use c::{C, more::D};"),
        source("layer::a", "use super::{b::{self, B}, other};\n"),
        source("layer::b", "use std::fmt;\nuse crate::layer::C;\n"),
        source(
            "layer::c",
            "pub struct C;\nfn f() {} // super::a\n#[cfg(test)]\nmod tests {\n use super::super::a::A;\n}",
        ),
        source(
            "layer::c::more",
            "pub struct D;\n#[cfg(all(test, not(loom)))]\nmod tests {\n use super::super::super::a::A;\n}",
        ),
    ]);
    assert_eq!(circle(&uses(&sources, "layer")), None);
    sources.insert("layer::c".into(), "pub struct C;\nfn f() -> u8 { super::a::A }".into());
    let found = circle(&uses(&sources, "layer")).expect("a circle");
    assert_eq!(found, ["layer::a", "layer::b", "layer::c", "layer::a"]);
}
