//! Every code block of README.md and docs/*.md is run, as a user would who copies it.
//!
//! | block | how |
//! |---|---|
//! | `rust` | as a doctest of the library; here it is checked that its page is one of those |
//! | `c`, `fortran` | a whole program: compiled, and run by two ranks |
//! | `sh` | by bash, in a folder that looks like the repository after `cargo build`, where hosts are reached by an `ssh` that stays here |
//! | `toml` | the dependency it names is there |
//! | `text` | no code |
//!
//! A block that cannot be run has a comment `<!-- not run: REASON -->` on the line before it.

mod support;

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use support::{built, repository, succeed};

/// Pages whose examples in Rust are doctests; see `lib.rs` of the library.
const DOCTESTS: [&str; 3] = ["README.md", "docs/guide.md", "docs/coming-from-mpi.md"];

/// Blocks that are not run, of all pages together.
const NOT_RUN_MAX: usize = 8;

struct Block {
    page: String,
    line: usize,
    language: String,
    text: String,
    not_run: bool,
}

impl Block {
    fn name(&self) -> String {
        format!("{}:{}", self.page, self.line)
    }
}

fn pages() -> Vec<String> {
    let docs = repository().join("docs").read_dir().unwrap().map(|entry| entry.unwrap().file_name());
    let mut pages: Vec<String> = docs.map(|name| format!("docs/{}", name.to_str().unwrap())).collect();
    pages.push("README.md".into());
    pages.sort();
    pages
}

fn read(page: &str) -> String {
    std::fs::read_to_string(repository().join(page)).unwrap()
}

fn blocks() -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for page in pages() {
        let mut open: Option<Block> = None;
        let mut before = String::new();
        for (index, line) in read(&page).lines().enumerate() {
            match (line.strip_prefix("```"), &mut open) {
                (Some(language), None) => {
                    let not_run = before.starts_with("<!-- not run: ") && before.ends_with(" -->");
                    let (page, line, language) = (page.clone(), index + 1, language.into());
                    open = Some(Block { page, line, language, text: String::new(), not_run });
                }
                (Some(_), Some(_)) => blocks.extend(open.take()),
                (None, Some(block)) => writeln!(block.text, "{line}").unwrap(),
                (None, None) => assert!(!line.contains("```"), "{page}:{}: a block that is not found here", index + 1),
            }
            before = line.into();
        }
        assert!(open.is_none(), "{page} ends within a block");
    }
    blocks
}

fn of(language: &'static str) -> impl Iterator<Item = Block> {
    blocks().into_iter().filter(move |block| block.language == language && !block.not_run)
}

/// A folder like the repository after everything was built, with what the pages take for granted.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let profile = if built().ends_with("debug") { "dev" } else { "release" };
        let cargo = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "-p", "hikyaku-blacs", "-p", "hikyaku-cli", "--lib", "--bins", "--examples"])
            .args(["--profile", profile, "--target-dir"])
            .arg(built().parent().unwrap())
            .current_dir(repository())
            .status();
        assert!(cargo.unwrap().success());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("documents");
        let _ = std::fs::remove_dir_all(&folder);
        for made in ["bin", "target", "pkgconfig"] {
            std::fs::create_dir_all(folder.join(made)).unwrap();
        }
        let link = |to: PathBuf, name: &str| std::os::unix::fs::symlink(to, folder.join(name)).unwrap();
        for name in ["examples", "include", "Makefile", "Cargo.toml"] {
            link(repository().join(name), name);
        }
        // No link, since what it says is relative to where it is.
        for name in ["hikyaku.pc", "modulefile"] {
            std::fs::copy(repository().join("pkgconfig").join(name), folder.join("pkgconfig").join(name)).unwrap();
        }
        link(built().into(), "target/release");
        link(built().join("hikyaku"), "bin/hikyaku");
        let script = |name: &str, text: &str| {
            use std::os::unix::fs::PermissionsExt;
            let path = folder.join("bin").join(name);
            std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        };
        // Everything was built.
        script("cargo", "[ \"$1 $2\" = 'build --release' ]");
        // Hosts are this machine. The words are joined and taken apart by a shell, as ssh does.
        script("ssh", "while case $1 in -*) true;; *) false;; esac; do shift 2; done; shift; exec sh -c \"$*\"");
        script("mpirun", "exec mpirun.openmpi --allow-run-as-root --oversubscribe \"$@\"");
        script("mpicc", "exec mpicc.openmpi \"$@\"");
        std::fs::write(folder.join("cluster"), "a slots=3\nb slots=3\n").unwrap();
        let program = of("c").next().unwrap();
        std::fs::write(folder.join("program.c"), &program.text).unwrap();
        shell(&folder, &format!("gcc -o program program.c {FLAGS}"));
        folder
    })
}

const FLAGS: &str = "$(PKG_CONFIG_PATH=$PWD/pkgconfig pkg-config --cflags --libs hikyaku)";

fn shell(folder: &Path, script: &str) {
    let path = format!("{}:{}", folder.join("bin").display(), std::env::var("PATH").unwrap());
    let mut bash = Command::new("bash");
    bash.args(["-euc", script]).current_dir(folder).env("PATH", path).env_remove("CARGO");
    // Hosts that are this machine find each other there.
    succeed(bash.env("HIKYAKU_ADDRESS", "127.0.0.1").env("OMP_NUM_THREADS", "1"));
}

#[test]
fn every_block_is_run_or_says_why_not() {
    let mut not_run = 0;
    for block in blocks() {
        not_run += usize::from(block.not_run);
        let name = block.name();
        match &block.language[..] {
            "rust" => assert!(DOCTESTS.contains(&&block.page[..]), "{name} is in no doctest"),
            "c" | "fortran" | "sh" | "text" => {}
            "toml" => {
                let path = block.text.split('"').nth(1).unwrap_or_else(|| panic!("{name} names no dependency"));
                let inside = path.split_once('/').unwrap().1;
                assert!(repository().join(inside).join("Cargo.toml").exists(), "{name}: there is no {inside}");
            }
            other => panic!("{name}: nobody knows how to run `{other}`"),
        }
    }
    assert!(not_run <= NOT_RUN_MAX, "{not_run} blocks are not run");
    // The library includes the pages whose examples are doctests.
    let library = read("crates/hikyaku/src/lib.rs");
    for page in DOCTESTS {
        assert!(library.contains(&format!("include_str!(\"../{page}\")")), "{page} is not included");
        assert_eq!(read(&format!("crates/hikyaku/{page}")), read(page));
    }
}

#[test]
fn programs_in_c_and_fortran() {
    let folder = folder();
    for (language, compile) in
        [("c", "gcc -Wall -Werror"), ("fortran", "gfortran include/fmpl.f90 include/hikyaku.f90")]
    {
        for (index, block) in of(language).enumerate() {
            let suffix = if language == "c" { "c" } else { "f90" };
            std::fs::write(folder.join(format!("block-{index}.{suffix}")), &block.text).unwrap();
            println!("{}", block.name());
            shell(folder, &format!("{compile} -o block block-{index}.{suffix} {FLAGS}; hikyaku run -n 2 ./block"));
        }
    }
}

#[test]
fn commands() {
    let folder = folder();
    for block in of("sh") {
        println!("{}", block.name());
        // As the page says, but in this folder, and less of what takes long.
        let prefix = folder.join("opt");
        let script = block.text.replace("/opt/hikyaku", prefix.to_str().unwrap()).replace("--seeds 1000", "--seeds 20");
        shell(folder, &script);
    }
}

/// What users read has no numbers of requirements, which only those know who have the list.
#[test]
fn requirements_have_no_numbers_in_what_users_read() {
    let mut read_by_users: Vec<PathBuf> = pages().into_iter().map(|page| repository().join(page)).collect();
    read_by_users.retain(|page| !page.ends_with("requirements.md"));
    read_by_users.extend(["CHANGELOG.md", "SECURITY.md"].map(|page| repository().join(page)));
    for folder in ["include", "crates/hikyaku/src", "crates/hikyaku-c/src", "crates/hikyaku-cli/src"] {
        find(&repository().join(folder), &mut read_by_users);
    }
    assert!(read_by_users.len() > 200, "only {} files were found", read_by_users.len());
    for path in read_by_users {
        let text = std::fs::read_to_string(&path).unwrap();
        let is_number = |word: &str| {
            word.strip_prefix('R').is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|c| c.is_ascii_digit()))
        };
        let comments = text.lines().filter(|line| path.extension().is_none_or(|it| it != "rs") || line.contains("//"));
        for line in comments {
            let mut words = line.split(|c: char| !c.is_alphanumeric());
            assert!(!words.any(is_number), "{}: {line}", path.display());
        }
    }
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        match entry.path() {
            path if path.is_dir() => find(&path, files),
            path => files.push(path),
        }
    }
}
