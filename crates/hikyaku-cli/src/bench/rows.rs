//! The rows of the table: what is compared with what.

use super::curve;
use super::part::Part;
use super::peers::Request;
use super::plan::Kind;
use super::workload;

/// One line of the table.
pub struct Row {
    pub name: String,
    pub kind: Kind,
    pub bytes: usize,
    pub ranks: usize,
    pub limit: Option<Limit>,
}

/// What the machine does without a library: the limit of a row.
#[derive(Clone, Copy)]
pub enum Limit {
    /// A flag handed between two cores so many times.
    Flag(f64),
    /// So many bytes and a flag handed between two cores, copied in and out.
    HandOver(usize),
    /// Both cores copying, each its share: memcpy of this size.
    CopyTwo(usize),
    /// So many bytes without a library, which is measured as this kind.
    Bare(Kind, usize),
    /// The same work by as many, done in another way.
    Otherwise(Kind),
    /// So many bytes without a library, done so many times.
    BareTimes(Kind, usize, f64),
}

/// From so many ranks on a crowd is measured alone, and only by what is short: hundreds of ranks take milliseconds for a barrier, and
/// minutes for the rest.
pub const THRONG: usize = 64;

/// The numbers of ranks in the collective tests: a pair, and more than have a core each on a small machine.
pub fn collective_ranks(crowd: usize) -> Vec<usize> {
    if crowd >= THRONG {
        return vec![crowd];
    }
    let mut ranks = vec![2, 4, crowd];
    ranks.sort();
    ranks.dedup();
    ranks
}

/// The numbers of ranks over which collectives are shown: powers of two, and some that are none.
fn scaling_ranks(crowd: usize) -> Vec<usize> {
    let mut ranks: Vec<usize> = [2, 3, 4, 6, 8, 9, 12].into_iter().filter(|ranks| *ranks < crowd).collect();
    ranks.push(crowd);
    ranks
}

/// The numbers of ranks of our jobs that measure a part.
pub fn job_sizes(part: Part, crowd: usize) -> Vec<usize> {
    match part {
        Part::Remote | Part::Partial | Part::Indirect | Part::Locks | Part::Tasks => vec![2],
        Part::Messages | Part::Matching => vec![2],
        Part::Exchange => vec![2, workload::QUEUE_RANKS],
        Part::Collectives => collective_ranks(crowd),
        Part::Scaling => scaling_ranks(crowd),
        Part::Threads | Part::Cholesky | Part::Start | Part::Blacs | Part::Scalapack | Part::Hosts | Part::Fabric => {
            Vec::new()
        }
    }
}

/// All rows of a part, in the order of the table. Bandwidth of remote operations has a table of its own.
pub fn rows(part: Part, crowd: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    match part {
        Part::Remote => remote(&mut rows),
        Part::Partial => partial(&mut rows),
        Part::Indirect => indirect(&mut rows),
        Part::Locks => locks(&mut rows),
        Part::Tasks => tasks(&mut rows),
        Part::Messages => messages(&mut rows),
        Part::Matching => matching(&mut rows),
        Part::Exchange => exchange(&mut rows),
        Part::Collectives => collectives(&mut rows, crowd),
        Part::Scaling => scaling(&mut rows, crowd),
        Part::Threads => threads(&mut rows),
        Part::Cholesky => cholesky(&mut rows),
        Part::Start => {
            let name = format!("start and end of {crowd} ranks");
            rows.push(Row { name, kind: Kind::Start, bytes: 0, ranks: crowd, limit: None });
        }
        Part::Blacs => blacs(&mut rows),
        Part::Scalapack => scalapack(&mut rows),
        Part::Hosts => hosts(&mut rows),
        Part::Fabric => fabric(&mut rows),
    }
    rows
}

fn remote(rows: &mut Vec<Row>) {
    let mut row = |name: &str, kind, bytes, limit| {
        rows.push(Row { name: name.to_owned(), kind, bytes, ranks: 2, limit });
    };
    row("8 B word, one way", Kind::Word, 8, Some(Limit::Flag(1.0)));
    row("8 B push + flag, one way", Kind::PushFlag, 8, Some(Limit::Flag(1.0)));
    row("4 KB push + flag, one way", Kind::PushFlag, 4096, Some(Limit::HandOver(4096)));
    row("active message, 6 words, one way", Kind::ActiveMessage, 48, Some(Limit::Flag(1.0)));
    row("call with reply, round trip", Kind::Call, 48, Some(Limit::Flag(2.0)));
    row("null call to own interface", Kind::NullCall, 0, None);
    row("8 B pull", Kind::Pull, 8, None);
    row("fetch-and-add", Kind::FetchAdd, 8, None);
    row("notified 8 B pushes into a ring", Kind::Rate, 8, None);
}

fn partial(rows: &mut Vec<Row>) {
    let range = workload::PARTIAL_RANGE;
    let mut row = |name: &str, kind, limit| {
        rows.push(Row { name: format!("{name} of {}", size(range)), kind, bytes: range, ranks: 2, limit });
    };
    row("every second word", Kind::PushStride, Some(Limit::Bare(Kind::LimitStride, range)));
    row("marked words, half", Kind::PushMarked, Some(Limit::Bare(Kind::LimitMarked, range)));
    row("all", Kind::PushWhole, None);
    row("half, in one piece,", Kind::PushPayload, None);
    row("pull of all", Kind::PullWhole, Some(Limit::Bare(Kind::PushWhole, range)));
    row("pull of every second word", Kind::PullStride, Some(Limit::Bare(Kind::LimitStride, range)));
    row("pull of marked words, half,", Kind::PullMarked, Some(Limit::Bare(Kind::LimitMarked, range)));
    row("pull with a twin", Kind::PullTwin, Some(Limit::Bare(Kind::LimitTwin, range)));
    row("message of all", Kind::SendWhole, None);
    row("message of every second word", Kind::SendStride, Some(Limit::Bare(Kind::LimitStride, range)));
    row("message of marked words, half,", Kind::SendMarked, Some(Limit::Bare(Kind::LimitMarked, range)));
    row("message of changed words, 1 %,", Kind::SendDiff, Some(Limit::Bare(Kind::SendWhole, range)));
    row("copy between ranks", Kind::CopyBetween, Some(Limit::Bare(Kind::PushWhole, range)));
    row("multicast to two ranks", Kind::Multicast, Some(Limit::Bare(Kind::LimitPushes, range)));
    row("the same, every second word", Kind::MulticastStride, Some(Limit::Bare(Kind::LimitPushesStride, range)));
    row("the same, marked words, half,", Kind::MulticastMarked, Some(Limit::Bare(Kind::LimitPushesMarked, range)));
    row("the same, changed words, 1 %,", Kind::MulticastDiff, Some(Limit::Bare(Kind::LimitPushes, range)));
    row("no change", Kind::DiffScan, Some(Limit::Bare(Kind::LimitCompare, range)));
    row("changed words, 1 %,", Kind::PushDiff, Some(Limit::Bare(Kind::PushWhole, range)));
    row("changed words, 1 %, of a region", Kind::RegionDiff, Some(Limit::Bare(Kind::LimitPushes, range)));
}

fn indirect(rows: &mut Vec<Row>) {
    let mut row = |name: String, kind, bytes, limit| {
        rows.push(Row { name, kind, bytes, ranks: 2, limit });
    };
    let direct = Some(Limit::Bare(Kind::AreaFlag, 8));
    row("8 B push to an area + flag, one way".into(), Kind::AreaFlag, 8, Some(Limit::Flag(1.0)));
    row("8 B through a pointer + flag".into(), Kind::PointerFlag, 8, direct);
    row("8 B through a register + flag".into(), Kind::RegisterFlag, 8, direct);
    let chained = workload::CHAINED;
    for (blocks, kind, limit) in
        [("blocks", Kind::ChainEven, Kind::LimitEven), ("uneven blocks", Kind::ChainUneven, Kind::LimitUneven)]
    {
        row(
            format!("chain of {} {blocks}, one way", workload::BLOCKS),
            kind,
            chained,
            Some(Limit::Bare(limit, chained)),
        );
    }
    row("8 B by path word".into(), Kind::PathWord, 8, None);
    for bytes in workload::PATH_SIZES {
        for (path, kind) in [("window", Kind::PathWindow), ("bulk", Kind::PathBulk)] {
            let plain = Some(Limit::Bare(Kind::PathPlain, bytes));
            row(format!("{} by path {path}", size(bytes)), kind, bytes, plain);
        }
    }
}

fn locks(rows: &mut Vec<Row>) {
    let mut row = |name: &str, kind, bytes, limit| {
        rows.push(Row { name: name.to_owned(), kind, bytes, ranks: 2, limit });
    };
    let atomics = Limit::BareTimes(Kind::LimitAtomic, 8, 3.0);
    row("lock and unlock, nobody waits", Kind::Lock, 0, Some(atomics));
    row("try_lock and unlock, free", Kind::TryLock, 0, Some(atomics));
    row("handed on", Kind::LockHandOver, 0, Some(Limit::Flag(1.0)));
    row("pull and push under the lock", Kind::LockedAdd, 8, None);
    row("counted barrier", Kind::CountingBarrier, 0, None);
    row("its halves, with work between", Kind::FuzzyBarrier, 0, Some(Limit::Bare(Kind::LimitHalves, 0)));
}

fn tasks(rows: &mut Vec<Row>) {
    let mut row = |name: &str, kind, bytes, limit| {
        rows.push(Row { name: name.to_owned(), kind, bytes, ranks: 2, limit });
    };
    let functions = Limit::Bare(Kind::LimitTask, 0);
    row("an empty task, submitted and run", Kind::TaskEmpty, 0, Some(functions));
    row("one that writes what the last has", Kind::TaskChain, 0, Some(functions));
    row("from one future to another", Kind::TaskSwitch, 0, Some(functions));
    row("from a word to the task that waits", Kind::TaskFlag, 8, Some(Limit::Flag(1.0)));
}

fn matching(rows: &mut Vec<Row>) {
    let mut row = |name: String, kind, bytes, limit| {
        rows.push(Row { name, kind, bytes, ranks: 2, limit });
    };
    for bytes in workload::MATCHED_SHORT {
        let limit = if bytes <= 64 { Limit::Flag(1.0) } else { Limit::HandOver(bytes) };
        row(format!("{}, one way", size(bytes)), Kind::MatchedSend, bytes, Some(limit));
    }
    for bytes in workload::MATCHED_LONG {
        row(format!("{}, there and back", size(bytes)), Kind::MatchedBandwidth, bytes, None);
    }
    for (kind, of) in [(Kind::MatchedPosted, "receives"), (Kind::MatchedWaiting, "messages")] {
        for count in workload::MATCHED_CROWDS {
            let one = Limit::Bare(kind, 1);
            row(format!("8 B, the last of {count} {of} first"), kind, count, (count > 1).then_some(one));
        }
    }
}

fn exchange(rows: &mut Vec<Row>) {
    let mut row = |name: String, kind, bytes, limit, ranks| {
        rows.push(Row { name, kind, bytes, ranks, limit });
    };
    let limit = |bytes| match bytes {
        0..=64 => Some(Limit::Flag(1.0)),
        1024 | 4096 => Some(Limit::HandOver(bytes)),
        _ => None,
    };
    for bytes in workload::EXCHANGED_SHORT {
        row(format!("{}, one way", size(bytes)), Kind::ExchangeSend, bytes, limit(bytes), 2);
    }
    row("8 B, unexpected: send".into(), Kind::ExchangeSendCall, 8, None, 2);
    row("8 B, unexpected: receive".into(), Kind::ExchangeReceiveCall, 8, None, 2);
    for bytes in workload::EXCHANGED_LONG {
        row(format!("{}, there and back", size(bytes)), Kind::ExchangeBandwidth, bytes, None, 2);
    }
    for bytes in workload::ENGINES_COMPARED {
        for (kind, by) in [
            (Kind::PassedBySlots, "by slots"),
            (Kind::PassedMatched, "matched"),
            (Kind::PassedByExchange, "by exchange"),
            (Kind::PassedByPackets, "by packets"),
        ] {
            row(format!("{} {by}, one way", size(bytes)), kind, bytes, limit(bytes), 2);
        }
    }
    let bare = Some(Limit::Bare(Kind::LimitChannel, workload::QUEUE_ITEM));
    let ranks = workload::QUEUE_RANKS;
    row("queue, 16 B items of two ranks".into(), Kind::QueueRate, workload::QUEUE_ITEM, bare, ranks);
    row("the same, 64 at a time".into(), Kind::QueueBatchRate, workload::QUEUE_ITEM, bare, ranks);
}

fn messages(rows: &mut Vec<Row>) {
    let mut row = |name: String, kind, bytes, limit| {
        rows.push(Row { name, kind, bytes, ranks: 2, limit });
    };
    for bytes in [8, 64, 1 << 10, 4 << 10] {
        let limit = match bytes {
            0..=64 => Limit::Flag(1.0),
            _ => Limit::HandOver(bytes),
        };
        row(format!("{}, one way", size(bytes)), Kind::Send, bytes, Some(limit));
    }
    row("8 B synchronous, one way".into(), Kind::SendSynchronous, 8, Some(Limit::Flag(1.0)));
    row("8 B prepared, one way".into(), Kind::SendPrepared, 8, Some(Limit::Flag(1.0)));
    row("8 B prepared push + flag, one way".into(), Kind::PushPrepared, 8, Some(Limit::Flag(1.0)));
    row("8 B, the send call".into(), Kind::SendCall, 8, None);
    row("8 B, the receive call".into(), Kind::ReceiveCall, 8, None);
    row("8 B, 64 outstanding".into(), Kind::SendRate, 8, None);
    row("8 B to the one receive posted".into(), Kind::PostedOne, 8, Some(Limit::Flag(1.0)));
    row(format!("8 B to the last of {} posted", workload::POSTED), Kind::PostedMany, 8, Some(Limit::Flag(1.0)));
    row(format!("posting one of {} receives", workload::POSTED), Kind::PostGap, 8, None);
    for (memory, kind) in [("private", Kind::SendBandwidth), ("job", Kind::SendBandwidthMapped)] {
        for bytes in workload::COPY_SIZES {
            row(format!("{} in {memory} memory", size(bytes)), kind, bytes, Some(Limit::CopyTwo(bytes)));
        }
    }
}

fn collectives(rows: &mut Vec<Row>, crowd: usize) {
    let (short, long) = (8 << 10, 8 << 20);
    let all = [
        ("barrier of the job".to_owned(), Kind::JobBarrier, 0, Some(Limit::Flag(1.0))),
        ("barrier".to_owned(), Kind::Barrier, 0, Some(Limit::Flag(1.0))),
        ("barrier, counted".to_owned(), Kind::CountedBarrier, 0, Some(Limit::Flag(1.0))),
        (format!("broadcast {}", size(short)), Kind::Broadcast, short, Some(Limit::HandOver(short))),
        (format!("broadcast {}", size(long)), Kind::BroadcastBandwidth, long, Some(Limit::CopyTwo(16 << 20))),
        (format!("reduce {}", size(short)), Kind::Reduce, short, Some(Limit::HandOver(short))),
        ("allreduce 8 B".to_owned(), Kind::Allreduce, 8, Some(Limit::Flag(1.0))),
        ("all-to-all 1 KB".to_owned(), Kind::Alltoall, 1 << 10, None),
        (format!("memory of a rank, {} slots", workload::SLOTS), Kind::Memory, 0, None),
    ];
    let measured = workload::collective_tests(&[Part::Collectives], crowd);
    let all = all.into_iter().filter(|(_, kind, bytes, _)| crowd < THRONG || measured.contains(&(*kind, *bytes)));
    for (what, kind, bytes, limit) in all {
        for ranks in collective_ranks(crowd) {
            let (name, limit) = (format!("{what}, {ranks} ranks"), limit.filter(|_| ranks == 2));
            rows.push(Row { name, kind, bytes, ranks, limit });
        }
    }
    if crowd < THRONG {
        let name = format!("allreduce {}, 2 ranks", size(long));
        rows.push(Row { name, kind: Kind::Allreduce, bytes: long, ranks: 2, limit: None });
    }
}

fn scaling(rows: &mut Vec<Row>, crowd: usize) {
    for (kind, bytes) in workload::SCALING {
        for (kind, by) in [(Some(kind), ""), (kind.by_tree(), ", by a tree")] {
            for ranks in scaling_ranks(crowd) {
                let what = match kind {
                    Some(Kind::Barrier | Kind::BarrierTree) => "barrier".to_owned(),
                    Some(Kind::Broadcast | Kind::BroadcastTree) => format!("broadcast {}", size(bytes)),
                    _ => format!("reduce {}", size(bytes)),
                };
                let name = format!("{what}, {ranks} ranks{by}");
                rows.extend(kind.map(|kind| Row { name, kind, bytes, ranks, limit: None }));
            }
        }
    }
}

fn threads(rows: &mut Vec<Row>) {
    let counted = workload::THREADS_COUNTED;
    let mut row = |what: String, kind, bytes, threads: usize, limit| {
        let each = if threads == 1 { "1 thread".to_owned() } else { format!("{threads} threads") };
        rows.push(Row { name: format!("{what}, {each}"), kind, bytes, ranks: 2 * threads, limit });
    };
    for bytes in workload::THREADS_SIZES {
        for (what, kind) in [
            ("bare", Kind::LimitThreads),
            ("push + word", Kind::ThreadsPush),
            ("ompl.h", Kind::OmplPut),
            ("message", Kind::ThreadsSend),
        ] {
            let limit = (kind != Kind::LimitThreads).then_some(Limit::Otherwise(Kind::LimitThreads));
            for threads in workload::THREADS {
                row(format!("{} {what}", size(bytes)), kind, bytes, threads, limit);
            }
        }
    }
    for (what, kind) in [
        ("bare", Kind::LimitThreadsRate),
        ("push + word", Kind::ThreadsPushRate),
        ("ompl.h", Kind::OmplPutRate),
        ("message", Kind::ThreadsSendRate),
        ("bare, 64 outstanding", Kind::LimitThreadsStream),
        ("64 outstanding", Kind::ThreadsStream),
    ] {
        for threads in workload::THREADS {
            // What one pair does.
            let limit = (threads > 1).then_some(Limit::Bare(kind, counted));
            row(format!("all, {} {what}", size(counted)), kind, counted, threads, limit);
        }
    }
    for bytes in workload::THREADS_LONG {
        for (what, kind) in [
            ("bare", Kind::LimitThreadsBandwidth),
            ("push + word", Kind::ThreadsPushBandwidth),
            ("ompl.h", Kind::OmplPutBandwidth),
            ("message", Kind::ThreadsSendBandwidth),
        ] {
            let is_limit = kind == Kind::LimitThreadsBandwidth;
            let limit = (!is_limit).then_some(Limit::Otherwise(Kind::LimitThreadsBandwidth));
            for threads in workload::THREADS {
                row(format!("all, {} {what}", size(bytes)), kind, bytes, threads, limit);
            }
        }
    }
}

fn cholesky(rows: &mut Vec<Row>) {
    for (kind, way, limit) in [
        (Kind::TilesTasks, "tasks", Some(Limit::Otherwise(Kind::TilesBarriers))),
        (Kind::TilesBarriers, "barriers", None),
    ] {
        for (ranks, threads) in workload::CREWS {
            for (tiles, size) in workload::SHAPES {
                let name = format!("{way}, {tiles} tiles of {size}, {ranks} x {threads}");
                rows.push(Row { name, kind, bytes: workload::tile_bytes(size), ranks: ranks * threads, limit });
            }
        }
    }
}

/// The numbers of processes of a grid.
const GRIDS: [usize; 2] = [2, 4];

fn blacs(rows: &mut Vec<Row>) {
    let mut row = |name: String, kind, bytes, ranks| {
        rows.push(Row { name, kind, bytes, ranks, limit: None });
    };
    row("8 B, one way".into(), Kind::BlacsSend, 8, 2);
    for bytes in workload::COPY_SIZES {
        row(format!("{} in one piece", size(bytes)), Kind::BlacsBandwidth, bytes, 2);
    }
    for bytes in [64 << 10, 1 << 20] {
        row(format!("{} of columns, a sub-matrix", size(bytes)), Kind::BlacsSubmatrix, bytes, 2);
    }
    row("1 MB, an upper triangle".into(), Kind::BlacsTriangle, 1 << 20, 2);
    row("place in the grid (gridinfo)".into(), Kind::BlacsGridinfo, 0, 2);
    row("gridinit and gridexit, 4 ranks".into(), Kind::BlacsGrid, 0, 4);
    for (what, kind, sizes) in [
        ("broadcast", Kind::BlacsBroadcast, &[8, 8 << 10, 1 << 20][..]),
        ("combine (sum)", Kind::BlacsCombine, &[8, 8 << 10]),
    ] {
        for bytes in sizes {
            for ranks in GRIDS {
                row(format!("{what} {}, {ranks} ranks", size(*bytes)), kind, *bytes, ranks);
            }
        }
    }
}

fn scalapack(rows: &mut Vec<Row>) {
    const ORDER: usize = 2000;
    for (what, kind) in
        [("LU", Kind::Lu), ("Cholesky", Kind::Cholesky), ("QR", Kind::Qr), ("symmetric eigenvalues", Kind::Eigenvalues)]
    {
        for ranks in GRIDS {
            let name = format!("{what}, {ranks} ranks");
            rows.push(Row { name, kind, bytes: ORDER, ranks, limit: None });
        }
    }
}

fn hosts(rows: &mut Vec<Row>) {
    let mut row = |name: &str, kind, bytes, limit| {
        rows.push(Row { name: name.to_owned(), kind, bytes, ranks: 2, limit });
    };
    let long = 1 << 20;
    let (short, short_open) = (Limit::Bare(Kind::HostsLimitUdp, 8), Limit::Bare(Kind::HostsLimitUdpOpen, 8));
    let trains = [Kind::HostsLimitTrains, Kind::HostsLimitTrainsOpen].map(|kind| Some(Limit::Bare(kind, long)));
    row("8 B push + word, one way", Kind::HostsPush, 8, Some(short));
    row("the same, not authenticated", Kind::HostsPushOpen, 8, Some(short_open));
    row("8 B message, one way", Kind::HostsSend, 8, Some(short));
    row("a bare frame, by the same calls", Kind::HostsCalls, workload::FRAME, Some(short));
    row("a packet of the transport alone", Kind::HostsPacket, 8, Some(short));
    row("1 MB message", Kind::HostsBandwidth, long, trains[0]);
    row("the same, not authenticated", Kind::HostsBandwidthOpen, long, trains[1]);
    row("1 MB push", Kind::HostsPushWhole, long, trains[0]);
    let push = Some(Limit::Bare(Kind::HostsPushWhole, long));
    row("1 MB, every second word of 2 MB", Kind::HostsPushStride, long, push);
    row("1 MB of changes, of 2 MB", Kind::HostsPushDiff, long, push);
    row("1 MB copied by its target's rank", Kind::HostsCopy, long, push);
    row("8 B push while computing, answered", Kind::HostsLanding, 8, Some(Limit::Bare(Kind::HostsLimitLanding, 8)));
    row("the slowest of those", Kind::HostsLandingMost, 8, Some(Limit::Bare(Kind::HostsLimitLandingMost, 8)));
    row("CPU of a rank that waits", Kind::HostsIdle, 0, None);
}

fn fabric(rows: &mut Vec<Row>) {
    let mut row = |name: &str, kind, bytes, limit| {
        rows.push(Row { name: name.to_owned(), kind, bytes, ranks: 2, limit });
    };
    let (long, short) = (1 << 20, Some(Limit::Bare(Kind::FabricLimit, 8)));
    let stream = Some(Limit::Bare(Kind::FabricLimitBandwidth, long));
    row("8 B push + word, one way", Kind::FabricPush, 8, short);
    row("8 B message, one way", Kind::FabricSend, 8, short);
    row("1 MB push + word", Kind::FabricPushBandwidth, long, stream);
    row("1 MB message", Kind::FabricBandwidth, long, stream);
    row("8 B push while computing, answered", Kind::FabricLanding, 8, None);
    row("the slowest of those", Kind::FabricLandingMost, 8, None);
    row("CPU of a rank that waits", Kind::FabricIdle, 0, None);
}

/// What peers are measured at: the counterparts of the rows and of the curves' points, each once.
pub fn requests(parts: &[Part], crowd: usize) -> Vec<Request> {
    /// Pushes that are worth a comparison.
    const PUSHES: [usize; 4] = [4 << 10, 64 << 10, 1 << 20, 16 << 20];
    let pushes = if parts.contains(&Part::Remote) { &PUSHES[..] } else { &[] };
    let by_one_program = |part: &&Part| part.is_native() || **part == Part::Start;
    let rows = parts.iter().filter(by_one_program).flat_map(|part| rows(*part, crowd));
    let rows = rows.map(|row| (row.kind, row.bytes, row.ranks, false));
    let pushes = pushes.iter().map(|bytes| (Kind::Push, *bytes, 2, false));
    let points = parts.iter().flat_map(|part| curve::compared_points(*part, crowd));
    let points = points.map(|(kind, bytes, ranks)| (kind, bytes, ranks, true));
    let mut requests: Vec<Request> = Vec::new();
    for (kind, bytes, ranks, brief) in rows.chain(pushes).chain(points) {
        let Some(test) = kind.counterpart() else { continue };
        if !requests.iter().any(|known| (known.test, known.bytes, known.ranks) == (test, bytes, ranks)) {
            requests.push(Request { test, bytes, ranks, brief });
        }
    }
    requests
}

/// Bytes as a person says them.
pub fn size(bytes: usize) -> String {
    match bytes {
        b if b >= 1 << 20 => format!("{} MB", b >> 20),
        b if b >= 1 << 10 => format!("{} KB", b >> 10),
        b => format!("{b} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::peers::Test;

    #[test]
    fn peers_repeat_a_point_less_often_unless_it_is_a_row_too() {
        let requests = requests(&Part::ALL, 16);
        let of = |test, bytes, ranks| {
            let same = |it: &&Request| (it.test, it.bytes, it.ranks) == (test, bytes, ranks);
            requests.iter().filter(same).map(|it| it.brief).collect::<Vec<_>>()
        };
        assert_eq!(of(Test::Send, 8, 2), [false]);
        assert_eq!(of(Test::Send, 16, 2), [true]);
        assert_eq!(of(Test::Broadcast, 8 << 10, 16), [false]);
        assert_eq!(of(Test::BroadcastBandwidth, 2 << 20, 16), [true]);
    }
}
