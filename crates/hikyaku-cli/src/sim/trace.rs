//! Passages of packets as Chrome's trace events, which Perfetto reads.
//!
//! Slices of a track must not overlap, and an arrow goes from slice to slice. So a packet is a slice at its sender from when
//! it leaves, and one at its receiver from when it arrives, each as long as a quarter of its way unless another one follows
//! sooner. Of those at the same moment each begins a nanosecond after the one before.

use hikyaku::sim::Passage;
use serde_json::{Value, json};

/// Where one end of a passage is shown.
#[derive(Clone, Copy, Debug, Default)]
struct Slice {
    start_ns: u64,
    length_ns: u64,
}

/// The trace: one track per rank.
pub fn trace(title: &str, ranks: usize, passages: &[Passage]) -> Value {
    let name = |what: &str, rank: usize, name: String| json!({ "ph": "M", "name": what, "pid": 0, "tid": rank, "args": { "name": name } });
    let mut events = vec![name("process_name", 0, title.to_owned())];
    events.extend((0..ranks).map(|rank| name("thread_name", rank, format!("rank {rank}"))));
    for (id, (passage, [out, into])) in passages.iter().zip(slices(ranks, passages)).enumerate() {
        let Passage { from, to, what, bytes, left, arrived } = *passage;
        let arguments = json!({
            "bytes": bytes, "from": from, "to": to, "way_us": (arrived - left).as_nanos() as f64 / 1e3
        });
        let slice = |name: String, rank: usize, at: Slice| {
            json!({
                "ph": "X", "cat": "packet", "name": name, "pid": 0, "tid": rank,
                "ts": microseconds(at.start_ns), "dur": microseconds(at.length_ns), "args": arguments
            })
        };
        let arrow = |phase: &str, rank: usize, at: Slice| {
            json!({
                "ph": phase, "bp": "e", "cat": "packet", "name": what, "id": id, "pid": 0, "tid": rank,
                "ts": microseconds(at.start_ns)
            })
        };
        events.extend([
            slice(format!("{what} to {to}"), from, out),
            slice(format!("{what} from {from}"), to, into),
            arrow("s", from, out),
            arrow("f", to, into),
        ]);
    }
    json!({ "displayTimeUnit": "ns", "traceEvents": events })
}

fn microseconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e3
}

/// Where each passage is shown at its sender and at its receiver.
fn slices(ranks: usize, passages: &[Passage]) -> Vec<[Slice; 2]> {
    // Of each track: (when, passage, which end).
    let mut tracks = vec![Vec::new(); ranks];
    for (index, passage) in passages.iter().enumerate() {
        tracks[passage.from].push((passage.left.as_nanos() as u64, index, 0));
        tracks[passage.to].push((passage.arrived.as_nanos() as u64, index, 1));
    }
    let mut slices = vec![[Slice::default(); 2]; passages.len()];
    for track in &mut tracks {
        track.sort_unstable();
        let mut free = 0;
        for (when, ..) in track.iter_mut() {
            *when = free.max(*when);
            free = *when + 1;
        }
        for (place, (when, index, end)) in track.iter().enumerate() {
            let passage = &passages[*index];
            let wanted = ((passage.arrived - passage.left).as_nanos() as u64 / 4).max(1);
            let next = track.get(place + 1).map_or(u64::MAX, |next| next.0);
            slices[*index][*end] = Slice { start_ns: *when, length_ns: wanted.min(next - when) };
        }
    }
    slices
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn slices_of_a_track_do_not_overlap_and_keep_their_order() {
        let passage = |from, to, left, arrived| {
            let (left, arrived) = (Duration::from_nanos(left), Duration::from_nanos(arrived));
            Passage { from, to, what: "word", bytes: 8, left, arrived }
        };
        let passages = [passage(0, 1, 0, 1000), passage(0, 1, 0, 1000), passage(1, 0, 1000, 1100), passage(0, 0, 5, 6)];
        let slices = slices(2, &passages);
        for rank in 0..2 {
            let here = |(passage, [out, into]): (&Passage, &[Slice; 2])| {
                [(passage.from == rank).then_some(*out), (passage.to == rank).then_some(*into)]
            };
            let mut track: Vec<Slice> = passages.iter().zip(&slices).flat_map(here).flatten().collect();
            track.sort_by_key(|slice| slice.start_ns);
            assert!(track.iter().all(|slice| slice.length_ns > 0), "{track:?}");
            assert!(track.windows(2).all(|two| two[0].start_ns + two[0].length_ns <= two[1].start_ns), "{track:?}");
        }
        assert_eq!((slices[0][0].start_ns, slices[1][0].start_ns, slices[2][1].start_ns), (0, 1, 1100));
    }
}
