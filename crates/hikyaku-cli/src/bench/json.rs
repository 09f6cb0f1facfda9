//! What `hikyaku bench --json` prints: everything that was measured, the unit of each figure, and when and where it was.

use super::Results;
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

/// The results as text.
pub(super) fn text(results: &Results) -> Result<String, String> {
    let mut all = serde_json::to_value(results).map_err(|error| error.to_string())?;
    let ours = results.ours.0.iter().map(|figure| figure.kind.unit().name());
    add(&mut all["ours"], "unit", ours);
    add(&mut all["peers"], "unit", results.peers.iter().map(|sample| sample.test.unit().name()));
    // What is simulated is the same wherever and whenever that is done.
    if results.simulated.is_none() {
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        all["date"] = json!(date(seconds));
        all["host"] = json!(rustix::system::uname().nodename().to_string_lossy());
        all["processor"] = json!(processor(&std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default()));
    }
    serde_json::to_string_pretty(&all).map_err(|error| error.to_string())
}

/// Gives each of a list of objects one more field.
fn add(list: &mut Value, name: &str, values: impl Iterator<Item = &'static str>) {
    let list = list.as_array_mut().map_or(&mut [][..], Vec::as_mut_slice);
    list.iter_mut().zip(values).for_each(|(it, value)| it[name] = json!(value));
}

/// What the kernel calls the processor; 64-bit ARM has only numbers, which tell as much.
fn processor(cpuinfo: &str) -> String {
    let field = |name: &str| {
        let line = cpuinfo.lines().find(|line| line.split(':').next().is_some_and(|it| it.trim() == name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let numbers = || Some(format!("implementer {} part {}", field("CPU implementer")?, field("CPU part")?));
    field("model name").or_else(numbers).unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}

/// Seconds since 1970 as `2026-11-16T21:45:00Z`; the calendar after Howard Hinnant's `civil_from_days`.
fn date(seconds: u64) -> String {
    let (days, of_day) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    // Counted from March.
    let month = (5 * of_year + 2) / 153;
    let (day, month) = (of_year - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = era * 400 + year + u64::from(month <= 2);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01T00:00:00Z");
        assert_eq!(date(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(date(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(date(1_794_865_500), "2026-11-16T21:45:00Z");
    }

    #[test]
    fn processors_have_names() {
        assert_eq!(processor("processor\t: 0\nmodel name\t: AMD EPYC 7B13\n"), "AMD EPYC 7B13");
        assert_eq!(processor("CPU implementer\t: 0x41\nCPU part\t: 0xd0c\n"), "implementer 0x41 part 0xd0c");
        assert_eq!(processor(""), std::env::consts::ARCH);
    }
}
