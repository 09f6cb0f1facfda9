//! One rank of a job that measures: all calls and sizes of one version.

use hikyaku::collective::{Call, Choices, Group, Sum, Version};
use hikyaku::{Error, Job, Result};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// A figure: seconds per call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    pub version: Version,
    pub call: Call,
    pub bytes: usize,
    pub seconds: f64,
}

impl Figure {
    /// Out of what a rank prints.
    pub fn parse(version: Version, line: &str) -> Option<Figure> {
        let mut words = line.split_whitespace();
        let name = words.next()?;
        let call = Call::ALL.into_iter().find(|call| call.name() == name)?;
        Some(Figure { version, call, bytes: words.next()?.parse().ok()?, seconds: words.next()?.parse().ok()? })
    }
}

/// The size by which a class of sizes is judged.
fn sample(limit: usize) -> usize {
    match limit {
        64 => 8,
        usize::MAX => 8 << 20,
        limit => limit,
    }
}

/// Calls and sizes that are measured.
pub fn cases(max: usize) -> Vec<(Call, usize)> {
    let sizes = || Choices::SIZES.map(sample).into_iter().filter(move |bytes| *bytes <= max);
    let with_data = Call::ALL.into_iter().filter(|call| *call != Call::Barrier);
    let cases = with_data.flat_map(|call| sizes().map(move |bytes| (call, bytes)));
    std::iter::once((Call::Barrier, 0)).chain(cases).collect()
}

/// The versions of a call, on one host or over several.
pub fn versions(call: Call, bytes: usize, over_hosts: bool) -> &'static [Version] {
    if over_hosts { call.far_versions() } else { call.versions(bytes) }
}

/// Batches of which the median counts.
const BATCHES: usize = 5;
const CALLS_MAX: u64 = 2000;

/// Measures and prints.
pub fn rank(version: &str, time_ms: u64, max: usize) -> std::result::Result<ExitCode, String> {
    let version = Version::named(version).ok_or("no such version")?;
    measure(version, Duration::from_millis(time_ms), max).map_err(|error| error.to_string())?;
    Ok(ExitCode::SUCCESS)
}

fn measure(version: Version, time: Duration, max: usize) -> Result<()> {
    let job = Job::start()?;
    let world = job.new_world()?;
    let is_there = |(call, bytes): &(Call, usize)| versions(*call, *bytes, version.is_far()).contains(&version);
    for (call, bytes) in cases(max).into_iter().filter(is_there) {
        let used = world.version(call, bytes);
        if used != version {
            let (call, used) = (call.name(), used.name());
            return Err(Error::Invalid(format!(
                "{call} of {bytes} bytes is done by {used}, not by {}",
                version.name()
            )));
        }
        let mut data = vec![0.0f64; bytes / 8];
        batch(&world, call, &mut data, 1)?;
        let once = batch(&world, call, &mut data, 1)?;
        // All ranks must do as many.
        let mut count = [((time.as_secs_f64() / BATCHES as f64 / once) as u64).clamp(1, CALLS_MAX)];
        world.broadcast(&mut count, 0)?;
        let mut times = [0.0; BATCHES];
        for time in &mut times {
            *time = batch(&world, call, &mut data, count[0])? / count[0] as f64;
        }
        times.sort_by(f64::total_cmp);
        if world.rank() == 0 {
            say!("{} {bytes} {:e}", call.name(), times[BATCHES / 2]);
        }
    }
    Ok(())
}

/// Seconds for `count` calls, until all members have finished them. The root changes with every call, so that nobody gets far
/// ahead: what counts is how long a call takes, not how many can be under way.
fn batch(world: &Group<'_>, call: Call, data: &mut [f64], count: u64) -> Result<f64> {
    world.barrier()?;
    let begin = Instant::now();
    for index in 0..count as usize {
        let root = index % world.size();
        match call {
            Call::Barrier => world.barrier()?,
            Call::Broadcast => world.broadcast(data, root)?,
            Call::Reduce => world.reduce(data, Sum, root)?,
            Call::Allreduce => world.allreduce(data, Sum)?,
        }
    }
    world.barrier()?;
    Ok(begin.elapsed().as_secs_f64())
}
