//! Which version of each collective is used for which size, and why; for `hikyaku info`.

use super::report::{date, size};
use hikyaku::collective::{Call, Choices, Tuned, Version};

/// Name and text of each line about the collectives of all `ranks` ranks of a job.
pub fn explain(ranks: usize, crowded: bool) -> Vec<(String, String)> {
    let tuned = Tuned::here();
    let origin = match &tuned {
        Some(tuned) => format!("measured on {}, where it says so", date(tuned.measured)),
        None => "built in; `hikyaku tune` measures on this machine".into(),
    };
    let mut lines = vec![("choices".into(), origin)];
    let choices = Tuned::choices_here();
    let near = Call::ALL
        .into_iter()
        .flat_map(|call| spans(call, ranks, crowded, &choices).into_iter().map(move |span| span.line(call)));
    lines.extend(near);
    let far = Call::ALL
        .into_iter()
        .flat_map(|call| far_spans(call, ranks, &choices).into_iter().map(move |span| span.line(call)));
    lines.extend(far);
    lines
        .push((String::new(), "long memory of the job is used where it is, unless something else was measured".into()));
    lines
}

/// Sizes for which the answer is the same.
#[derive(Clone, Copy)]
struct Span {
    /// Above this size, if not from the smallest on.
    above: Option<usize>,
    limit: usize,
    version: Version,
    measured: bool,
}

fn spans(call: Call, ranks: usize, crowded: bool, choices: &Choices) -> Vec<Span> {
    let default = |bytes| call.default_version(ranks, bytes, crowded);
    merged(call, |bytes| choices.get(call, ranks, bytes), default)
}

/// Over hosts: two, if nobody has measured.
fn far_spans(call: Call, ranks: usize, choices: &Choices) -> Vec<Span> {
    merged(call, |bytes| choices.get_far(call, ranks, bytes), |bytes| call.default_far_version(2, bytes))
}

fn merged(call: Call, measured: impl Fn(usize) -> Option<Version>, default: impl Fn(usize) -> Version) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for limit in Choices::SIZES {
        let chosen = measured(limit);
        let version = chosen.unwrap_or_else(|| default(limit));
        let measured = chosen.is_some();
        match spans.last_mut() {
            Some(last) if (last.version, last.measured) == (version, measured) => last.limit = limit,
            last => {
                let above = last.map(|last| last.limit);
                spans.push(Span { above, limit, version, measured });
            }
        }
        if call == Call::Barrier {
            break;
        }
    }
    spans
}

impl Span {
    fn line(self, call: Call) -> (String, String) {
        let sizes = match (self.above, self.limit) {
            _ if call == Call::Barrier => String::new(),
            (None, usize::MAX) => "of any size".into(),
            (None, limit) => format!("up to {}", size(limit)),
            (Some(above), usize::MAX) => format!("above {}", size(above)),
            (Some(above), limit) => format!("{} to {}", size(above), size(limit)),
        };
        let text = match self.version {
            Version::Buffers if call == Call::Barrier => "flags in a butterfly, one cache line handed over per step",
            Version::Direct if call == Call::Barrier => {
                "one counter, by which whoever gets a core sees if all have come"
            }
            Version::Buffers => "through small buffers that all members map",
            Version::Stage => "through two larger buffers, used in turn",
            Version::Direct => "the members' memory is used where it is",
            Version::Tree => "a tree of messages",
            Version::Flat => "messages between all members",
            Version::Leaders => "members of a host through their leader, messages between leaders",
            Version::Shares => "every member combines a share, and carries it between hosts",
        };
        let why = if self.measured { "measured" } else { "default" };
        let whose = if self.version.is_far() { " over hosts" } else { "" };
        (format!("{}{whose} {sizes}", call.name()), format!("{}: {text} ({why})", self.version.name()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_with_the_same_answer_are_one_line() {
        let mut choices = Choices::default();
        let lines = |choices: &Choices| {
            let spans = spans(Call::Broadcast, 16, true, choices);
            spans.into_iter().map(|span| span.line(Call::Broadcast).0).collect::<Vec<_>>()
        };
        assert_eq!(lines(&choices), ["broadcast up to 64 KB", "broadcast above 64 KB"]);
        choices.set(Call::Broadcast, 16, 512 << 10, Version::Tree);
        let expected = ["broadcast up to 64 KB", "broadcast 64 KB to 512 KB", "broadcast above 512 KB"];
        assert_eq!(lines(&choices), expected);
    }
}
