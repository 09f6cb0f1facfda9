//! What is measured: the names that ranks, table and JSON share.

use super::peers::Test;
use serde::{Deserialize, Serialize};

/// One measured thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Limit: a bare flag between two cores, one way.
    LimitFlag,
    /// Limit: data and a flag between two cores, copied in and out, one way.
    LimitHandOver,
    /// Limit: memcpy by one core.
    LimitCopy,
    /// Limit: memcpy by two cores at once.
    LimitCopyTwo,
    /// A word that is its own flag, seen by a spinning peer, one way.
    Word,
    /// Data and flag, seen by a spinning peer, one way.
    PushFlag,
    /// Six words to a handler, one way.
    ActiveMessage,
    /// A handler called for its reply, round trip.
    Call,
    /// The own network interface called.
    NullCall,
    /// A read of 8 bytes.
    Pull,
    /// An atomic addition to a peer's word.
    FetchAdd,
    /// Notified pushes into a ring.
    Rate,
    /// Pushes of one size.
    Push,
    /// Pulls of one size.
    PullBandwidth,
    /// Limit: every second word of a range by a plain loop on own memory.
    LimitStride,
    /// Every second word of a range pushed.
    PushStride,
    /// Limit: words of a range whose bits are set, half of them, by a plain loop on own memory.
    LimitMarked,
    /// Words of a range whose bits are set, half of them, pushed.
    PushMarked,
    /// A range pushed.
    PushWhole,
    /// As many bytes as half of the range pushed in one piece, as if it were the range.
    PushPayload,
    /// A range pulled.
    PullWhole,
    /// Every second word of a range pulled.
    PullStride,
    /// Words of a range whose bits are set, half of them, pulled.
    PullMarked,
    /// A range pulled, and kept twice.
    PullTwin,
    /// Limit: a range pulled, and then copied.
    LimitTwin,
    /// A range sent and received.
    SendWhole,
    /// Every second word of a range sent, and received at the same places.
    SendStride,
    /// Words of a range whose bits are set, half of them, likewise.
    SendMarked,
    /// The changes of a range, one word in a hundred, likewise.
    SendDiff,
    /// A range of one rank's symmetric memory copied to that of another.
    CopyBetween,
    /// Limit: a range pushed to each of two ranks.
    LimitPushes,
    /// A range for two ranks by one multicast.
    Multicast,
    /// Limit: every second word of a range pushed to each of two ranks.
    LimitPushesStride,
    /// Every second word of a range for two ranks by one multicast.
    MulticastStride,
    /// Limit: words of a range whose bits are set, half of them, pushed to each of two ranks.
    LimitPushesMarked,
    /// The same for two ranks by one multicast.
    MulticastMarked,
    /// The changes of a range, one word in a hundred, for two ranks by one multicast.
    MulticastDiff,
    /// Changed words of a shared region written to its two copies.
    RegionDiff,
    /// A word pushed to an area, and a flag on its line, one way.
    AreaFlag,
    /// The same, the word through a pointer.
    PointerFlag,
    /// The same, the word through a register.
    RegisterFlag,
    /// A message that a chain of commands unpacks where it arrives, one way: into blocks at even distances.
    ChainEven,
    /// The same, into blocks at uneven distances.
    ChainUneven,
    /// The same by a plain loop over mapped memory.
    LimitEven,
    /// The same by a plain loop over mapped memory.
    LimitUneven,
    /// Pushes of one size, by whatever path suits it.
    PathPlain,
    /// Pushes of a word by the path for those.
    PathWord,
    /// Pushes of one size in windows.
    PathWindow,
    /// Pushes of one size in bulk.
    PathBulk,
    /// Limit: memcmp of a range.
    LimitCompare,
    /// A range in which nothing has changed looked through.
    DiffScan,
    /// The changes of a range pushed, one word in a hundred.
    PushDiff,
    /// Limit: an atomic addition to a word of the other rank.
    LimitAtomic,
    /// A lock that nobody else wants, taken and released.
    Lock,
    /// The same by an attempt.
    TryLock,
    /// A lock that both ranks want all the time, handed on.
    LockHandOver,
    /// A pull and a push under a lock that both ranks want all the time.
    LockedAdd,
    /// A barrier that one rank counts, both halves at once.
    CountingBarrier,
    /// What its halves take beside enough work between them.
    FuzzyBarrier,
    /// Limit: the same of bare words: a count, and a word of each rank.
    LimitHalves,
    /// Limit: a function on the heap, put into a queue and called.
    LimitTask,
    /// An empty task, submitted and run by one thread.
    TaskEmpty,
    /// A task that writes what the one before it has written.
    TaskChain,
    /// From one future to another, by one thread.
    TaskSwitch,
    /// From a word of the other rank to the task that waits for it, one way.
    TaskFlag,
    /// Messages matched by keys, one way.
    MatchedSend,
    /// Ping-pong of messages matched by keys, from private memory to private memory.
    MatchedBandwidth,
    /// One way, among so many receives that are posted, the last first; instead of a size, their number.
    MatchedPosted,
    /// A receive among so many messages that are there, the last first; instead of a size, their number.
    MatchedWaiting,
    /// Messages by message exchange, one way.
    ExchangeSend,
    /// What a send by message exchange takes of the sender's time.
    ExchangeSendCall,
    /// What a receive by message exchange takes when its message is there.
    ExchangeReceiveCall,
    /// Ping-pong of messages by message exchange, from private memory to private memory.
    ExchangeBandwidth,
    /// Messages by each engine that message passing has, one way: slots.
    PassedBySlots,
    /// Matched by keys.
    PassedMatched,
    /// Message exchange.
    PassedByExchange,
    /// Packets that a full receiver refuses.
    PassedByPackets,
    /// Limit: items through a channel of the standard library, from two threads to one.
    LimitChannel,
    /// Items through a queue, from all other ranks to one.
    QueueRate,
    /// The same, many at a time.
    QueueBatchRate,
    /// The job's barrier.
    JobBarrier,
    /// Send and receive, standard mode, one way.
    Send,
    /// Send and receive, synchronous mode, one way.
    SendSynchronous,
    /// Send and receive by transfers that were set up once, standard mode, one way.
    SendPrepared,
    /// Pushes that were set up once, each with its flag, seen where they arrive by a spinning peer, one way.
    PushPrepared,
    /// Messages of 8 bytes, 64 outstanding.
    SendRate,
    /// Ping-pong of messages from private memory to private memory.
    SendBandwidth,
    /// Ping-pong of messages from job memory to job memory.
    SendBandwidthMapped,
    /// What a send takes of the sender's time.
    SendCall,
    /// What a receive takes when its message is there.
    ReceiveCall,
    /// Phases of a send: the call.
    SendStart,
    /// Phases of a send: fetching the header.
    SendHeaderIn,
    /// Phases of a send: until the receiver has the data.
    SendDataOut,
    /// Phases of a receive: the call.
    ReceiveStart,
    /// Phases of a receive: until the sender has the next header.
    ReceiveHeaderOut,
    /// Phases of a receive: fetching the data.
    ReceiveDataIn,
    /// One way, to the only receive that is posted.
    PostedOne,
    /// One way, to the last of many receives that are posted.
    PostedMany,
    /// Posting one of many receives.
    PostGap,
    /// The barrier of a group.
    Barrier,
    /// A barrier that one rank counts, of so many ranks.
    CountedBarrier,
    /// Broadcast: its time.
    Broadcast,
    /// Broadcast: its size by its time.
    BroadcastBandwidth,
    /// Sum of all contributions at one rank.
    Reduce,
    /// Sum of all contributions at all ranks.
    Allreduce,
    /// The barrier of a group, by a tree of messages.
    BarrierTree,
    /// Broadcast by a tree of messages: its time.
    BroadcastTree,
    /// Sum of all contributions at one rank, by a tree of messages.
    ReduceTree,
    /// Start and end of a job.
    Start,
    /// BLACS: a matrix of one column sent and received, one way.
    BlacsSend,
    /// BLACS: the same, its size by its time.
    BlacsBandwidth,
    /// BLACS: the same for columns of a matrix that has more rows.
    BlacsSubmatrix,
    /// BLACS: the same for an upper triangle.
    BlacsTriangle,
    /// BLACS: asking for the own place in a grid.
    BlacsGridinfo,
    /// BLACS: making and leaving a grid.
    BlacsGrid,
    /// BLACS: a broadcast to all of a grid.
    BlacsBroadcast,
    /// BLACS: the sum of all of a grid, for all.
    BlacsCombine,
    /// ScaLAPACK: an LU factorization, of the order that stands for the bytes, as in the next ones.
    Lu,
    /// ScaLAPACK: a Cholesky factorization.
    Cholesky,
    /// ScaLAPACK: a QR factorization.
    Qr,
    /// ScaLAPACK: the eigenvalues of a symmetric matrix.
    Eigenvalues,
    /// A block of this size from each rank to each other.
    Alltoall,
    /// The Cholesky factorisation by tiles, on tasks: instead of bytes those of a tile, instead of ranks the threads of all.
    TilesTasks,
    /// The same with barriers.
    TilesBarriers,
    /// Several threads of each of two ranks: a push and a word, one way. Instead of ranks, here and in the next ones, their threads
    /// together.
    ThreadsPush,
    /// The same, all threads together.
    ThreadsPushRate,
    /// Several threads: send and receive, one way.
    ThreadsSend,
    /// The same, all threads together.
    ThreadsSendRate,
    /// Several threads: messages, 64 outstanding of each, all together.
    ThreadsStream,
    /// Several threads, bytes of all pushes together.
    ThreadsPushBandwidth,
    /// Several threads, bytes of all messages together.
    ThreadsSendBandwidth,
    /// [`Kind::ThreadsPush`] by a C program, with `ompl.h`.
    OmplPut,
    /// The same, all threads together.
    OmplPutRate,
    /// The same, bytes of all together.
    OmplPutBandwidth,
    /// Limit: several threads with mapped memory and flags, no library, one way.
    LimitThreads,
    /// The same, all threads together.
    LimitThreadsRate,
    /// The same, 64 lines of each outstanding, all together.
    LimitThreadsStream,
    /// Limit: bytes of all those threads together.
    LimitThreadsBandwidth,
    /// Private memory of a rank, the mean of all, after it has talked to all others.
    Memory,
    /// Between hosts, limit: a bare datagram socket, one way.
    HostsLimitUdp,
    /// The limit in rounds without authentication: ratios are taken within a round.
    HostsLimitUdpOpen,
    /// Between hosts, limit: a bare stream, ping-pong.
    HostsLimitTcp,
    /// Between hosts, limit: bare datagrams as long as our frames, cut and joined by the kernel, ping-pong.
    HostsLimitTrains,
    /// The limit in rounds without authentication.
    HostsLimitTrainsOpen,
    /// Between hosts, limit: a bare datagram to a program that computes while a thread of it sleeps on the socket, and its answer.
    HostsLimitLanding,
    /// The slowest of them.
    HostsLimitLandingMost,
    /// Between hosts: a datagram as long as the frame of a short push, by the calls that the transport makes, one way.
    HostsCalls,
    /// Between hosts: a packet of the transport alone, one way.
    HostsPacket,
    /// Between hosts: data and a word, seen by a spinning peer, one way.
    HostsPush,
    /// The same without authentication.
    HostsPushOpen,
    /// Between hosts: send and receive, one way.
    HostsSend,
    /// Between hosts: ping-pong of messages from private memory to private memory.
    HostsBandwidth,
    /// The same without authentication.
    HostsBandwidthOpen,
    /// Between hosts: a push in one piece, until it has arrived.
    HostsPushWhole,
    /// Between hosts: a push of as many bytes in blocks of 8, every second word of a range.
    HostsPushStride,
    /// Between hosts: as many bytes of changes, every second word of a range.
    HostsPushDiff,
    /// Between hosts: a copy of as many bytes that the target's rank asks the source's interface for.
    HostsCopy,
    /// Between hosts: what a rank that waits for long takes of its core.
    HostsIdle,
    /// Between hosts: a push to a rank that computes, and its answer.
    HostsLanding,
    /// The slowest of them.
    HostsLandingMost,
    /// By libfabric, limit: its own ping-pong of the same provider, one way.
    FabricLimit,
    /// By libfabric, limit: its own ping-pong of the same provider.
    FabricLimitBandwidth,
    /// By libfabric: data and a word, seen by a spinning peer, one way.
    FabricPush,
    /// By libfabric: send and receive, one way.
    FabricSend,
    /// By libfabric: ping-pong of pushes from private memory, each with a word.
    FabricPushBandwidth,
    /// By libfabric: ping-pong of messages from private memory to private memory.
    FabricBandwidth,
    /// By libfabric: what a rank that waits for long takes of its core.
    FabricIdle,
    /// By libfabric: a push to a rank that computes, and its answer.
    FabricLanding,
    /// By libfabric: the slowest of those.
    FabricLandingMost,
}

impl Kind {
    /// The unit of its figures.
    pub fn unit(self) -> Unit {
        match self {
            Kind::LimitCopy | Kind::LimitCopyTwo | Kind::Push | Kind::PullBandwidth => Unit::GigabytesPerSecond,
            Kind::SendBandwidth | Kind::SendBandwidthMapped | Kind::MatchedBandwidth => Unit::GigabytesPerSecond,
            Kind::BroadcastBandwidth => Unit::GigabytesPerSecond,
            Kind::BlacsBandwidth | Kind::BlacsSubmatrix | Kind::BlacsTriangle => Unit::GigabytesPerSecond,
            Kind::LimitStride | Kind::PushStride | Kind::LimitMarked | Kind::PushMarked => Unit::GigabytesPerSecond,
            Kind::PushWhole | Kind::CopyBetween | Kind::PushPayload => Unit::GigabytesPerSecond,
            Kind::PullWhole | Kind::PullStride | Kind::PullMarked | Kind::PullTwin => Unit::GigabytesPerSecond,
            Kind::SendWhole | Kind::SendStride | Kind::SendMarked | Kind::SendDiff => Unit::GigabytesPerSecond,
            Kind::LimitTwin | Kind::LimitPushesStride | Kind::LimitPushesMarked => Unit::GigabytesPerSecond,
            Kind::MulticastStride | Kind::MulticastMarked | Kind::MulticastDiff => Unit::GigabytesPerSecond,
            Kind::HostsPushWhole | Kind::HostsPushStride => Unit::GigabytesPerSecond,
            Kind::HostsPushDiff | Kind::HostsCopy => Unit::GigabytesPerSecond,
            Kind::PathPlain | Kind::PathWord | Kind::PathWindow | Kind::PathBulk => Unit::GigabytesPerSecond,
            Kind::LimitPushes | Kind::Multicast | Kind::RegionDiff => Unit::GigabytesPerSecond,
            Kind::LimitCompare | Kind::DiffScan | Kind::PushDiff => Unit::GigabytesPerSecond,
            Kind::ExchangeBandwidth => Unit::GigabytesPerSecond,
            Kind::LimitChannel | Kind::QueueRate | Kind::QueueBatchRate => Unit::MillionPerSecond,
            Kind::Rate | Kind::SendRate => Unit::MillionPerSecond,
            Kind::ThreadsPushRate | Kind::ThreadsSendRate | Kind::ThreadsStream => Unit::MillionPerSecond,
            Kind::LimitThreadsRate | Kind::LimitThreadsStream => Unit::MillionPerSecond,
            Kind::ThreadsPushBandwidth | Kind::ThreadsSendBandwidth => Unit::GigabytesPerSecond,
            Kind::LimitThreadsBandwidth | Kind::OmplPutBandwidth => Unit::GigabytesPerSecond,
            Kind::OmplPutRate => Unit::MillionPerSecond,
            Kind::JobBarrier | Kind::Barrier | Kind::Broadcast | Kind::Reduce | Kind::Allreduce => Unit::Microseconds,
            Kind::CountedBarrier | Kind::BarrierTree | Kind::BroadcastTree | Kind::ReduceTree => Unit::Microseconds,
            Kind::BlacsGrid | Kind::BlacsBroadcast | Kind::BlacsCombine => Unit::Microseconds,
            Kind::TilesTasks | Kind::TilesBarriers => Unit::Milliseconds,
            Kind::Start | Kind::Lu | Kind::Cholesky | Kind::Qr | Kind::Eigenvalues => Unit::Milliseconds,
            Kind::HostsLimitTcp | Kind::HostsLimitTrains | Kind::HostsLimitTrainsOpen => Unit::GigabytesPerSecond,
            Kind::HostsBandwidth | Kind::HostsBandwidthOpen => Unit::GigabytesPerSecond,
            Kind::HostsLanding | Kind::HostsLandingMost | Kind::Alltoall => Unit::Microseconds,
            Kind::HostsLimitLanding | Kind::HostsLimitLandingMost => Unit::Microseconds,
            Kind::FabricLanding | Kind::FabricLandingMost => Unit::Microseconds,
            Kind::FabricLimitBandwidth | Kind::FabricPushBandwidth | Kind::FabricBandwidth => Unit::GigabytesPerSecond,
            Kind::Memory => Unit::Megabytes,
            Kind::HostsIdle | Kind::FabricIdle => Unit::Percent,
            _ => Unit::Nanoseconds,
        }
    }

    /// This work without authentication, where that is told apart.
    pub fn without_seal(self) -> Option<Kind> {
        match self {
            Kind::HostsPush => Some(Kind::HostsPushOpen),
            Kind::HostsBandwidth => Some(Kind::HostsBandwidthOpen),
            Kind::HostsLimitUdp => Some(Kind::HostsLimitUdpOpen),
            Kind::HostsLimitTrains => Some(Kind::HostsLimitTrainsOpen),
            _ => None,
        }
    }

    /// This work by a tree of messages, where that is told apart.
    pub fn by_tree(self) -> Option<Kind> {
        match self {
            Kind::Barrier => Some(Kind::BarrierTree),
            Kind::Broadcast => Some(Kind::BroadcastTree),
            Kind::Reduce => Some(Kind::ReduceTree),
            _ => None,
        }
    }

    /// What a peer does for this work.
    pub fn counterpart(self) -> Option<Test> {
        match self {
            Kind::Word | Kind::PushFlag | Kind::PushPrepared => Some(Test::Put),
            Kind::ActiveMessage => Some(Test::ActiveMessage),
            Kind::Pull => Some(Test::Get),
            Kind::FetchAdd => Some(Test::FetchAdd),
            Kind::Rate | Kind::SendRate => Some(Test::Rate),
            Kind::Push => Some(Test::PutBandwidth),
            Kind::PushStride => Some(Test::PutStride),
            Kind::PushMarked => Some(Test::PutMarked),
            Kind::PullWhole => Some(Test::GetBandwidth),
            Kind::PullStride => Some(Test::GetStride),
            Kind::PullMarked => Some(Test::GetMarked),
            Kind::SendWhole => Some(Test::SendWhole),
            Kind::SendStride => Some(Test::SendStride),
            Kind::SendMarked => Some(Test::SendMarked),
            Kind::PushPayload | Kind::PullTwin | Kind::LimitTwin | Kind::SendDiff => None,
            Kind::LimitPushesStride | Kind::LimitPushesMarked => None,
            Kind::MulticastStride | Kind::MulticastMarked | Kind::MulticastDiff => None,
            Kind::PushWhole | Kind::PathPlain | Kind::PathWindow | Kind::PathBulk => Some(Test::PutBandwidth),
            Kind::AreaFlag | Kind::PointerFlag | Kind::RegisterFlag => Some(Test::Put),
            Kind::ChainEven => Some(Test::SendBlocks),
            Kind::ChainUneven => Some(Test::SendUneven),
            Kind::LimitEven | Kind::LimitUneven | Kind::PathWord => None,
            Kind::LockedAdd => Some(Test::LockedAdd),
            Kind::Send | Kind::MatchedSend | Kind::ExchangeSend => Some(Test::Send),
            Kind::MatchedBandwidth | Kind::ExchangeBandwidth => Some(Test::Bandwidth),
            Kind::ExchangeSendCall => Some(Test::SendCall),
            Kind::ExchangeReceiveCall => Some(Test::ReceiveCall),
            Kind::PassedBySlots | Kind::PassedMatched | Kind::PassedByExchange | Kind::PassedByPackets => {
                Some(Test::Send)
            }
            Kind::LimitChannel | Kind::QueueRate | Kind::QueueBatchRate => None,
            Kind::SendSynchronous => Some(Test::SendSynchronous),
            Kind::SendPrepared => Some(Test::SendPrepared),
            Kind::SendBandwidth | Kind::SendBandwidthMapped => Some(Test::Bandwidth),
            Kind::SendCall => Some(Test::SendCall),
            Kind::ReceiveCall => Some(Test::ReceiveCall),
            Kind::PostedOne => Some(Test::PostedOne),
            Kind::PostedMany => Some(Test::PostedMany),
            Kind::PostGap => Some(Test::PostGap),
            Kind::JobBarrier | Kind::Barrier | Kind::CountedBarrier | Kind::BarrierTree => Some(Test::Barrier),
            Kind::Broadcast | Kind::BroadcastTree => Some(Test::Broadcast),
            Kind::BroadcastBandwidth => Some(Test::BroadcastBandwidth),
            Kind::Reduce | Kind::ReduceTree => Some(Test::Reduce),
            Kind::Allreduce => Some(Test::Allreduce),
            Kind::Alltoall => Some(Test::Alltoall),
            Kind::Memory => Some(Test::Memory),
            Kind::TilesTasks => Some(Test::Tiles),
            Kind::TilesBarriers => None,
            Kind::ThreadsPush | Kind::OmplPut => Some(Test::ThreadsPut),
            Kind::ThreadsPushRate | Kind::OmplPutRate => Some(Test::ThreadsPutRate),
            Kind::ThreadsSend => Some(Test::ThreadsSend),
            Kind::ThreadsSendRate => Some(Test::ThreadsSendRate),
            Kind::ThreadsStream => Some(Test::ThreadsStream),
            Kind::ThreadsPushBandwidth | Kind::OmplPutBandwidth => Some(Test::ThreadsPutBandwidth),
            Kind::ThreadsSendBandwidth => Some(Test::ThreadsSendBandwidth),
            Kind::LimitThreads | Kind::LimitThreadsRate => None,
            Kind::LimitThreadsStream | Kind::LimitThreadsBandwidth => None,
            Kind::Start => Some(Test::Start),
            Kind::BlacsSend => Some(Test::BlacsSend),
            Kind::BlacsBandwidth => Some(Test::BlacsBandwidth),
            Kind::BlacsSubmatrix => Some(Test::BlacsSubmatrix),
            Kind::BlacsTriangle => Some(Test::BlacsTriangle),
            Kind::BlacsGridinfo => Some(Test::BlacsGridinfo),
            Kind::BlacsGrid => Some(Test::BlacsGrid),
            Kind::BlacsBroadcast => Some(Test::BlacsBroadcast),
            Kind::BlacsCombine => Some(Test::BlacsCombine),
            Kind::Lu => Some(Test::Lu),
            Kind::Cholesky => Some(Test::Cholesky),
            Kind::Qr => Some(Test::Qr),
            Kind::Eigenvalues => Some(Test::Eigenvalues),
            Kind::LimitFlag | Kind::LimitHandOver | Kind::LimitCopy | Kind::LimitCopyTwo => None,
            Kind::LimitStride | Kind::LimitMarked | Kind::LimitCompare | Kind::LimitAtomic | Kind::LimitHalves => None,
            Kind::LimitPushes | Kind::Multicast | Kind::RegionDiff => None,
            Kind::CopyBetween | Kind::DiffScan | Kind::PushDiff | Kind::Lock | Kind::TryLock | Kind::LockHandOver => {
                None
            }
            Kind::MatchedPosted | Kind::MatchedWaiting | Kind::CountingBarrier | Kind::FuzzyBarrier => None,
            Kind::LimitTask | Kind::TaskEmpty | Kind::TaskChain | Kind::TaskSwitch | Kind::TaskFlag => None,
            Kind::SendStart | Kind::SendHeaderIn | Kind::SendDataOut => None,
            Kind::ReceiveStart | Kind::ReceiveHeaderOut | Kind::ReceiveDataIn => None,
            Kind::Call | Kind::NullCall | Kind::PullBandwidth => None,
            Kind::HostsPush | Kind::HostsPushOpen | Kind::HostsSend => Some(Test::HostsSend),
            Kind::HostsBandwidth | Kind::HostsBandwidthOpen => Some(Test::HostsBandwidth),
            Kind::HostsLimitUdp | Kind::HostsLimitTcp | Kind::HostsCalls | Kind::HostsPacket => None,
            Kind::HostsLimitTrains | Kind::HostsLimitTrainsOpen | Kind::HostsLimitUdpOpen => None,
            Kind::HostsLimitLanding | Kind::HostsLimitLandingMost => None,
            Kind::HostsPushWhole | Kind::HostsPushStride | Kind::HostsPushDiff | Kind::HostsCopy => None,
            Kind::HostsIdle | Kind::HostsLanding | Kind::HostsLandingMost => None,
            Kind::FabricPush | Kind::FabricSend => Some(Test::HostsSend),
            Kind::FabricPushBandwidth | Kind::FabricBandwidth => Some(Test::HostsBandwidth),
            Kind::FabricLimit | Kind::FabricLimitBandwidth => None,
            Kind::FabricIdle | Kind::FabricLanding | Kind::FabricLandingMost => None,
        }
    }
}

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Nanoseconds,
    Microseconds,
    Milliseconds,
    MillionPerSecond,
    GigabytesPerSecond,
    Percent,
    Megabytes,
}

impl Unit {
    pub fn name(self) -> &'static str {
        match self {
            Unit::Nanoseconds => "ns",
            Unit::Microseconds => "us",
            Unit::Milliseconds => "ms",
            Unit::MillionPerSecond => "M/s",
            Unit::GigabytesPerSecond => "GB/s",
            Unit::Percent => "%",
            Unit::Megabytes => "MB",
        }
    }

    /// Whether the larger of two values is the better one, as it is for rates but not for times.
    pub fn more_is_better(self) -> bool {
        matches!(self, Unit::MillionPerSecond | Unit::GigabytesPerSecond)
    }

    /// Whether the first of two values is the better one.
    pub fn is_better(self, value: f64, other: f64) -> bool {
        if self.more_is_better() { value > other } else { value < other }
    }

    /// The best of so many values, taken evenly from all: the best of more would be better by chance alone.
    pub fn best_of(self, count: usize, values: &[f64]) -> f64 {
        let chosen = (0..count).map(|index| values[index * values.len() / count]);
        chosen.reduce(|best, value| if self.is_better(value, best) { value } else { best }).unwrap_or(f64::NAN)
    }
}

/// The repetitions of one measurement, in the order of the rounds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Figure {
    pub kind: Kind,
    /// Bytes moved by each operation; 0 where nothing is moved.
    pub bytes: usize,
    pub ranks: usize,
    pub values: Vec<f64>,
}

impl Figure {
    pub fn median(&self) -> f64 {
        median(&self.values)
    }
}

/// Figures, each once.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Figures(pub Vec<Figure>);

impl Figures {
    pub fn find(&self, kind: Kind, bytes: usize, ranks: usize) -> Option<&Figure> {
        self.0.iter().find(|figure| (figure.kind, figure.bytes, figure.ranks) == (kind, bytes, ranks))
    }

    /// Adds repetitions to those that are there already.
    pub fn add(&mut self, new: Figure) {
        let place = |old: &&mut Figure| (old.kind, old.bytes, old.ranks) == (new.kind, new.bytes, new.ranks);
        match self.0.iter_mut().find(place) {
            Some(old) => old.values.extend(new.values),
            None => self.0.push(new),
        }
    }
}

/// The middle value, or the mean of the two in the middle; NaN of none.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        count => (sorted[(count - 1) / 2] + sorted[count / 2]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_is_one_of_as_many_as_the_other_has() {
        let values = [5.0, 1.0, 4.0, 2.0, 3.0, 9.0];
        assert_eq!(Unit::Nanoseconds.best_of(6, &values), 1.0);
        assert_eq!(Unit::GigabytesPerSecond.best_of(6, &values), 9.0);
        assert_eq!(Unit::Nanoseconds.best_of(3, &values), 3.0);
        assert_eq!(Unit::GigabytesPerSecond.best_of(3, &values), 5.0);
        assert!(Unit::Nanoseconds.best_of(0, &values).is_nan());
    }
}
