//! What docs/requirements.md cites as proof is there.

use std::collections::BTreeSet;
use std::path::Path;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// What can be cited: names of files and folders, with and without their endings, and of whatever sources define.
#[derive(Default)]
struct Names(BTreeSet<String>);

impl Names {
    fn gather(&mut self, folder: &Path) {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let (path, name) = (entry.path(), entry.file_name().into_string().unwrap());
            self.0.insert(name.split('.').next().unwrap().to_owned());
            self.0.insert(name);
            if path.is_dir() {
                self.gather(&path);
            } else if let Ok(text) = std::fs::read_to_string(&path) {
                // Cases that a table names.
                let rows = text.split("(\"").skip(1);
                self.0.extend(rows.filter_map(|row| row.split_once('"')).map(|(name, _)| name.to_owned()));
                let words = text.split(|c: char| !c.is_alphanumeric() && c != '_').collect::<Vec<_>>();
                for pair in words.windows(2) {
                    let defines = ["fn", "mod", "struct", "enum", "trait"].contains(&pair[0]);
                    // Variants, as of planted bugs.
                    if defines || pair[1].starts_with(char::is_uppercase) {
                        self.0.insert(pair[1].to_owned());
                    }
                }
            }
        }
    }

    /// A name, or with a star at its end some that begin so.
    fn have(&self, name: &str) -> bool {
        match name.split_once('*') {
            None => self.0.contains(name),
            Some((start, end)) => self.0.iter().any(|known| known.starts_with(start) && known.ends_with(end)),
        }
    }
}

/// `a::{b, c}` is `a::b` and `a::c`.
fn expand(cited: &str) -> Vec<String> {
    match cited.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?))) {
        Some((before, (inside, after))) => {
            inside.split(',').map(|one| format!("{before}{}{after}", one.trim())).collect()
        }
        None => vec![cited.to_owned()],
    }
}

#[test]
fn what_is_cited_as_proof_exists() {
    let mut names = Names::default();
    for folder in ["crates", "examples", "scripts", "include"] {
        names.0.insert(folder.to_owned());
        names.gather(&Path::new(ROOT).join(folder));
    }
    let text = std::fs::read_to_string(Path::new(ROOT).join("docs/requirements.md")).unwrap();
    let (mut seen, mut missing) = (0, Vec::new());
    for row in text.lines().filter(|line| line.starts_with("| ")) {
        let proof = row.trim_end_matches(['|', ' ']).rsplit(" | ").next().unwrap();
        // Odd pieces are between backticks. Commands have arguments.
        for cited in proof.split('`').skip(1).step_by(2).flat_map(expand).filter(|cited| !cited.contains("--")) {
            for name in cited.split(['/', ' ']).flat_map(|part| part.split("::")).filter(|name| !name.is_empty()) {
                seen += 1;
                if !names.have(name) {
                    missing.push(format!("{name} of `{cited}`"));
                }
            }
        }
    }
    assert!(seen > 200, "only {seen} names were found");
    assert!(missing.is_empty(), "{missing:#?}");
}
