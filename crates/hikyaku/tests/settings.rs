//! The tables of settings in docs/guide.md say what the code does, and no variable is read that they do not name.

use hikyaku::settings::{SETTINGS, TOLD};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_guide_has_every_setting_as_it_is() {
    let guide = std::fs::read_to_string(root().join("docs/guide.md")).unwrap();
    let written: Vec<&str> = guide.lines().filter(|line| line.starts_with("| `HIKYAKU_")).collect();
    let settings = SETTINGS.map(|it| format!("| `{}` | {} | {} | {} |", it.name, it.meaning, it.accepted, it.default));
    let told = TOLD.map(|(name, meaning)| format!("| `{name}` | {meaning} |"));
    assert_eq!(written, settings.into_iter().chain(told).collect::<Vec<_>>());
}

/// Variables that are read only by tests and by the benchmark of the sources.
const OF_TESTS: [&str; 4] = ["HIKYAKU_BENCH_THREADS", "HIKYAKU_FUZZ_INPUTS", "HIKYAKU_FUZZ_SEED", "HIKYAKU_TEST"];

#[test]
fn every_variable_that_is_read_is_in_the_tables() {
    let mut found = BTreeSet::new();
    for folder in ["hikyaku", "hikyaku-ofi", "hikyaku-c", "hikyaku-blacs", "hikyaku-cli"] {
        find(&root().join("crates").join(folder).join("src"), &mut found);
    }
    let named: BTreeSet<String> =
        SETTINGS.iter().map(|it| it.name).chain(TOLD.map(|it| it.0)).map(Into::into).collect();
    assert!(named.is_subset(&found), "nothing reads {:?}", named.difference(&found));
    let unnamed: Vec<&String> = found.difference(&named).filter(|name| !OF_TESTS.contains(&&name[..])).collect();
    assert!(unnamed.is_empty(), "read, but in no table: {unnamed:?}");
}

/// Strings of the sources that are nothing but a name, outside of the table itself.
fn find(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            find(&path, found);
        } else if path.extension().is_some_and(|it| it == "rs") && !path.ends_with("settings.rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let is_name =
                |word: &&str| word.starts_with("HIKYAKU_") && word.bytes().all(|c| c.is_ascii_uppercase() || c == b'_');
            found.extend(text.split('"').filter(is_name).filter(|word| *word != "HIKYAKU_").map(str::to_owned));
        }
    }
}
