//! Hostile bytes, for whatever reads what others have written: every input ends in a result or an error, never in a crash.
//!
//! The driver is proptest, which the tests use anyway. `bolero` would need one more crate and, for more than what is done here,
//! an instrumented build of a toolchain that the project does not ask for. An input is a sample (something right) with a few
//! random changes, or random bytes. All follow from a seed; one that fails is cut down to fewer changes, and its bytes are
//! written to `corpus/<target>/`, whose files are tried first from then on. `docs/fuzzing.md` says how to run it.

use crate::sync::brief::lock;
use crate::transport::sim::chance::Chance;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Inputs of each target, if nobody says otherwise.
const INPUTS: u32 = 10_000;
/// Far more than an input takes: one that takes longer never ends.
const PATIENCE: Duration = Duration::from_secs(60);
/// Changes of a sample at most.
const CHANGES_MAX: u64 = 8;
/// Numbers that are limits of something.
const NUMBERS: [u64; 17] = [
    0,
    1,
    2,
    7,
    8,
    63,
    64,
    0x7f,
    0xff,
    0xffff,
    0x7fff_ffff,
    0xffff_ffff,
    1 << 32,
    i64::MAX as u64,
    1 << 63,
    u64::MAX - 1,
    u64::MAX,
];

/// Gives `check` the inputs of a target; it panics if one does harm.
pub(crate) fn run(target: &str, samples: &[Vec<u8>], check: impl Fn(&[u8])) {
    let (inputs, seed) =
        (number("HIKYAKU_FUZZ_INPUTS").unwrap_or(INPUTS as u64), number("HIKYAKU_FUZZ_SEED").unwrap_or(1));
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    // How many there were, and the last.
    let current = Mutex::new((0u64, Vec::new()));
    let watched = |input: &[u8]| {
        {
            let mut current = lock(&current);
            current.0 += 1;
            input.clone_into(&mut current.1);
        }
        check(input);
    };
    let done = Cell::new(0u64);
    std::thread::scope(|scope| {
        let (alive, life) = channel::<()>();
        let watched_input = &current;
        scope.spawn(move || watch(target, watched_input, &life));
        for path in saved(&corpus) {
            let input = std::fs::read(&path).unwrap();
            let result = catch_unwind(AssertUnwindSafe(|| watched(&input)));
            assert!(result.is_ok(), "{target}: the input in {} does harm again", path.display());
        }
        let config =
            Config { cases: inputs as u32, failure_persistence: None, max_shrink_iters: 256, ..Config::default() };
        let mut seeds = [0; 32];
        seeds[..8].copy_from_slice(&seed.to_le_bytes());
        let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seeds));
        let inputs_of = (any::<u64>(), 0..=CHANGES_MAX).prop_map(|(seed, changes)| make(samples, seed, changes));
        let result = runner.run(&inputs_of, |input| {
            watched(&input);
            done.set(done.get() + 1);
            if done.get().is_multiple_of(100_000) {
                let _ = alive.send(());
                println!("{target}: {} inputs", done.get());
            }
            Ok(())
        });
        drop(alive);
        match result {
            Ok(()) => println!("{target}: {} inputs of seed {seed} did no harm", done.get()),
            Err(TestError::Fail(reason, input)) => {
                let path = save(&corpus, &input);
                panic!("{target}: {reason}; input {} of seed {seed}, saved as {}", done.get(), path.display());
            }
            Err(error) => panic!("{target}: {error}"),
        }
    });
}

/// Ends the process if it is still at the same input after a while, and says which.
fn watch(target: &str, current: &Mutex<(u64, Vec<u8>)>, life: &std::sync::mpsc::Receiver<()>) {
    let mut last = u64::MAX;
    loop {
        match life.recv_timeout(PATIENCE) {
            Ok(()) => {}
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                let (now, input) = lock(current).clone();
                if last == now {
                    let path = save(&Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target), &input);
                    eprintln!("{target}: an input does not end, saved as {}", path.display());
                    std::process::abort();
                }
                last = now;
            }
        }
    }
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().expect("a number"))
}

fn saved(corpus: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(corpus).into_iter().flatten().flatten().map(|file| file.path());
    let mut files: Vec<PathBuf> = files.collect();
    files.sort();
    files
}

fn save(corpus: &Path, input: &[u8]) -> PathBuf {
    let sum =
        input.iter().fold(0xcbf2_9ce4_8422_2325, |sum: u64, byte| (sum ^ *byte as u64).wrapping_mul(0x100_0000_01b3));
    let path = corpus.join(format!("{sum:016x}"));
    let _ = std::fs::create_dir_all(corpus);
    let _ = std::fs::write(&path, input);
    path
}

/// What an input is made by: indices and bytes by chance.
struct Dice(Chance);

impl Dice {
    fn new(seed: u64) -> Dice {
        Dice(Chance::new(seed))
    }

    fn number(&mut self) -> u64 {
        self.0.next()
    }

    fn below(&mut self, limit: usize) -> usize {
        self.0.below(limit as u64) as usize
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.number() as u8).collect()
    }
}

/// A sample with changes, or random bytes. Fewer changes of the same seed are the first of them.
fn make(samples: &[Vec<u8>], seed: u64, changes: u64) -> Vec<u8> {
    let mut dice = Dice::new(seed);
    let pick = dice.below(samples.len() + 1);
    let mut input = match samples.get(pick) {
        Some(sample) => sample.clone(),
        None => {
            let count = dice.below(300);
            dice.bytes(count)
        }
    };
    (0..changes).for_each(|_| change(&mut input, samples, &mut dice));
    input
}

fn change(input: &mut Vec<u8>, samples: &[Vec<u8>], dice: &mut Dice) {
    let (at, kind) = (dice.below(input.len() + 1), dice.below(9));
    let number = match dice.below(3) {
        0 => NUMBERS[dice.below(NUMBERS.len())],
        1 => NUMBERS[dice.below(NUMBERS.len())].wrapping_add(dice.number() % 17).wrapping_sub(8),
        _ => dice.number() >> dice.below(64),
    };
    let mut put = |bytes: &[u8]| input.iter_mut().skip(at).zip(bytes).for_each(|(old, new)| *old = *new);
    match kind {
        0 => put(&[number as u8]),
        1 => put(&number.to_le_bytes()),
        2 => put(&(number as u32).to_le_bytes()),
        3 => {
            // A whole word of what is words.
            let at = at / 8 * 8;
            input.iter_mut().skip(at).zip(number.to_le_bytes()).for_each(|(old, new)| *old = new);
        }
        4 => input.truncate(at),
        5 => {
            let count = dice.below(20);
            input.splice(at..at, dice.bytes(count)).for_each(drop);
        }
        6 => {
            let text = if dice.below(4) == 0 { format!("-{number}") } else { number.to_string() };
            let end = (at + dice.below(6)).min(input.len());
            input.splice(at..end, text.into_bytes()).for_each(drop);
        }
        7 => {
            let end = (at + dice.below(12)).min(input.len());
            input.drain(at..end);
        }
        _ => {
            let other = samples.get(dice.below(samples.len())).map_or(&[][..], |sample| sample);
            let from = dice.below(other.len());
            let end = (from + dice.below(80)).min(other.len());
            input.splice(at..at, other[from..end].iter().copied()).for_each(drop);
        }
    }
}

/// Reads an input from its beginning; zeros when it is over.
pub(crate) struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    pub fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken
    }

    pub fn word(&mut self) -> u64 {
        let mut word = [0; 8];
        let taken = self.take(8);
        word[..taken.len()].copy_from_slice(taken);
        u64::from_le_bytes(word)
    }
}

#[test]
fn inputs_follow_from_their_seed_and_differ() {
    let samples = [b"one".to_vec(), b"another sample".to_vec()];
    let all: Vec<Vec<u8>> = (0..200).map(|seed| make(&samples, seed, seed % 9)).collect();
    assert_eq!(all, (0..200).map(|seed| make(&samples, seed, seed % 9)).collect::<Vec<_>>());
    let different: std::collections::HashSet<_> = all.iter().collect();
    assert!(different.len() > 100);
    assert_eq!((0..50).filter(|seed| samples.contains(&make(&samples, *seed, 0))).count(), {
        (0..50).filter(|seed| Dice::new(*seed).below(3) < 2).count()
    });
}
