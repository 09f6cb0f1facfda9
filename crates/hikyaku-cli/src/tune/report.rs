//! What was measured, as a table.

use super::Finding;
use hikyaku::collective::{Call, Version};

pub fn print(findings: &[Finding]) {
    let over_hosts = findings.iter().any(|finding| finding.default.is_far());
    let versions: &[Version] = if over_hosts { &Version::FAR } else { &Version::ALL };
    say_on!("{:>5}  {:<10} {:>7}", "ranks", "call", "size");
    versions.iter().for_each(|version| say_on!(" {:>10}", version.name()));
    say!("   chosen");
    for finding in findings {
        let bytes = if finding.call == Call::Barrier { String::new() } else { size(finding.bytes) };
        say_on!("{:>5}  {:<10} {bytes:>7}", finding.ranks, finding.call.name());
        for version in versions {
            let seconds = time_of(finding, *version);
            say_on!(" {:>10}", seconds.map_or_else(|| "-".into(), microseconds));
        }
        say!("   {}", verdict(finding));
    }
}

fn time_of(finding: &Finding, version: Version) -> Option<f64> {
    finding.times.iter().find(|(of, _)| *of == version).map(|(_, seconds)| *seconds)
}

fn verdict(finding: &Finding) -> String {
    let name = finding.chosen.name();
    match (time_of(finding, finding.chosen), time_of(finding, finding.default)) {
        (Some(chosen), Some(default)) if finding.chosen != finding.default => {
            format!("{name}: {:.1} times as fast as {}", default / chosen, finding.default.name())
        }
        _ => name.into(),
    }
}

fn microseconds(seconds: f64) -> String {
    match seconds * 1e6 {
        time if time < 100.0 => format!("{time:.2} us"),
        time if time < 10_000.0 => format!("{time:.0} us"),
        time => format!("{:.1} ms", time / 1e3),
    }
}

/// A number of bytes for people.
pub fn size(bytes: usize) -> String {
    match bytes {
        usize::MAX => "more".into(),
        bytes => crate::bench::size(bytes),
    }
}

/// The day of a time in seconds since 1970, by the proleptic Gregorian calendar.
pub fn date(seconds: u64) -> String {
    let is_leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let (mut year, mut day) = (1970, seconds / 86_400);
    while day >= 365 + is_leap(year) as u64 {
        day -= 365 + is_leap(year) as u64;
        year += 1;
    }
    let february = 28 + is_leap(year) as u64;
    let mut month = 1;
    for days in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if day < days {
            break;
        }
        day -= days;
        month += 1;
    }
    format!("{year}-{month:02}-{:02}", day + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_names() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(951_782_400), "2000-02-29");
        assert_eq!(date(951_868_800), "2000-03-01");
        assert_eq!(date(1_794_700_800), "2026-11-15");
        assert_eq!(date(1_798_761_599), "2026-12-31");
    }
}
