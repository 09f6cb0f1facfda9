//! What a reader of the tables has to know.

use super::part::Part;

const RATIOS: &str = "\
x limit, x peer: our figure divided by the limit's or the best peer's of the same run. Of times (ns, us, ms)
less is better, of rates (M/s, GB/s) more is. A limit is the same done plainly, without a library; what is done
less plainly can beat it. At best: the least disturbed of as many repetitions of each; look there when others use
the machine too.";

const VIRTUAL: &str = "\
Times are virtual: what the model of the machine charges for each operation. Nothing disturbs them, so each was
measured once, and the same seed gives the same figures.
messages: half of a ping-pong, buffers of their own on both sides.
collectives: many calls in a row, the root changes with each; time of the slowest rank.";

const REMOTE: &str = "\
Pushes into a ring: peers have no notified put, so they send messages, 64 outstanding.";

const PARTIAL: &str = "\
partial transfers: rates count the whole range. Limits are plain loops of one rank from own to own memory; that of unchanged words is
memcmp, that of changed ones, of a pull and of a copy from symmetric memory of a rank to that of another a push of everything, that of a
multicast and of a region a push of the same to each of two ranks, that of a pull with a twin a pull and a copy, that of a message of changes
one of everything. Half in one piece counts as the range, for it is as many bytes as half of the words. Peers: MPI_Put, MPI_Get and MPI_Send,
to a receive at the same places, with vector and indexed datatypes. Goals: every second and
marked words at least 2 x peer and 0.6 x limit; no change at least 0.8 x limit; a copy at least 0.9 x limit; a multicast 1 x limit.";

const INDIRECT: &str = "\
pointers, chains and paths: the limit of a push through a pointer is the same push to an area that its sender knows, that of a path a
push by whichever path suits its size, that of a chain a plain loop that copies its blocks to mapped memory, and a flag. Peers: MPI_Put;
for chains MPI_Send to a receive into a struct of as many blocks of 64 bytes. Bandwidth: pushes in a row until all have arrived. Goals:
through a pointer at most 1.3 x limit; a chain of even blocks at most 0.5 x peer.";

const LOCKS: &str = "\
locks: the queue is with rank 1. Limit of a lock that nobody waits for: three bare atomic additions. Peers: MPI_Win_lock, exclusive.
Goals: at most 1 x limit where nobody waits, at most 3 x limit handed on, and a barrier's halves with work between them at most a tenth
of the barrier. Their limit is what bare words take: an addition to a count, and a word of each rank that the last one writes.";

const MATCHING: &str = "\
messages by key: as messages; peers match by tags. Limit of many: one. Goals: 8 B at most 0.8 x peer, the last of 10,000 receives at
most 1.5 x limit.";

const EXCHANGE: &str = "\
message exchange: as messages; peers match by tags. Unexpected: a send that finds room, a receive that finds its message, among 32 of
different tags. By slots, matched, by exchange, by packets: one program with four engines. Queue: two ranks push, one pops; its limit is a bounded
channel of the standard library between threads. Bandwidth: half of a ping-pong; pushes, if they were measured too, in a row. Goals:
8 B one way at most 0.7 x peer, unexpected at most 0.8 x peer, 64 KB and up at least 1.0 x peer; queue at least 10 M/s.";

const MESSAGES: &str = "\
messages: half of a ping-pong, buffers of their own on both sides; its limit is both cores copying.
Prepared: set up once, started many times; peers: persistent requests, and for pushes a put.
Calls: a send that finds its slot free, a receive that finds its message.
Receives posted: the ping-pong goes through the slots (peers: tags) from the last to the first.
Phases: start is the call when all it needs is in its core's cache. Header in and data in are what it takes
longer to fetch from the other core's that its slot is free, or its message. Data out is from the end of the
send to the end of the receive that waits for it, so that start and data out are one way. Header out is from the
end of the receive to the end of a send that waits for it; a short message need not.
Bandwidth: sent and received from job memory, from private memory; prepared pushes are used where they arrive.";

const COLLECTIVES: &str = "\
collectives: many calls in a row, the root changes with each; time of the slowest rank. Barrier, counted: both halves at once.";

const SCALING: &str = "\
collectives over the ranks: as above, by whatever is chosen here (see `hikyaku info`), and by trees of messages alone.";

const THREADS: &str = "\
threads of two ranks: thread i of one rank talks with thread i of the other, all at the same time; ranks are bound to a core each, where
there are two. One way: the median of all round trips, halved, which leaves out what is lost when threads take turns on a core. All: messages
of all threads in a second, in the same ping-pong, with nothing left out, and with 64 outstanding; their limit is what one thread of
each rank does. Bytes of all in a second, with nothing left out either. Bare: the same threads with mapped memory and flags, and no
library, copied there and out of there; they spin and yield as ours do. That is the limit of the other rows. ompl.h: put and flag in C. Peers:
MPI_THREAD_MULTIPLE, with a communicator and a window for each thread; a push is a put and a flag. Goals: all at least 0.9 x limit; with
4 and 8 threads at least 10 x MPICH and never less than Open MPI.";

const CHOLESKY: &str = "\
Cholesky factorisation by tiles: tiles in a row and the size of each, ranks x threads of each. The example `cholesky`, whose limit is
itself with a barrier after each step. Peers: the same with MPI and threads, which run whatever has its inputs, with the same kernels.
Results are checked. Goals: tasks at most 0.87 x limit, at most 1.0 x peer.";

const BLACS: &str = "\
BLACS: the same program on hikyaku's and on those of MPI, in turn; half of a ping-pong; broadcasts and sums to all, as above.
Sub-matrices are columns of 8 KB of a matrix with twice as many rows. Goals, x peer: 8 B at most 0.46, 16 MB in one
piece at least 1.69, sub-matrices at least 1.3; gridinfo at most 5 ns, gridinit and gridexit at most 1.0.";

const SCALAPACK: &str = "\
ScaLAPACK: the factorization alone, order 2000, blocks of 64, one thread of the BLAS per rank; the same program on hikyaku's
BLACS and on those of MPI, in turn. Results are checked.";

const TASKS: &str = "\
tasks: by one thread, except the last, which is a word from rank to rank by tasks that wait for it. The limit of the others is a
function on the heap that is put into a queue and called. Goals: an empty task within 200 ns; from a word to its task at most
3 x limit.";

const HOSTS: &str = "\
between two hosts: ours, ours without authentication and Open MPI over TCP take turns. Limits: datagrams of 8 bytes, and
1 MB by datagrams as long as our frames, which the kernel cuts and joins as ours, without heads, copies or acknowledgements; all
by sockets that are polled as we do. A bare frame: a datagram as long as the frame of a short push, from a socket that is connected
to one that is not, as ours are. Open MPI sends messages, and authenticates nothing. A push while computing: to a rank that calls
nothing of the library, which sees it in its memory and answers; its limit is a bare program in which a thread that sleeps on the
socket tells the one that computes. The limit of 1 MB in parts, and of a copy, is a push of 1 MB; rates count what travels.
Goals: 8 B push at most 1.2 x limit and 1.0 x peer; 1 MB not authenticated at least 0.7 x peer;
a push while computing within 1,000 us; a rank that waits at most 1 %.";

const FABRIC: &str = "\
between two hosts by libfabric: ours, `fi_pingpong` of the same provider (which authenticates nothing), Open MPI over TCP, and MPICH over
the same provider where it was built with libfabric, take turns. A push with a word is one message up to 16 KB; longer ones are written by
libfabric into the target's memory, and the word follows. Goals: 8 B push at most 1.3 x limit; 8 B message at most 1.0 x peer; 1 MB at
least 0.95 x limit; a push while computing within 1,000 us; a rank that waits at most 1 %.";

const CROWDED: &str = "Peers that spin are not measured with more ranks than cores.";

pub fn print(parts: &[Part], compared: bool) {
    if !compared {
        return say!("\n{VIRTUAL}");
    }
    say!("\n{RATIOS}");
    if parts.contains(&Part::Remote) {
        say!("{REMOTE}");
    }
    if parts.contains(&Part::Partial) {
        say!("{PARTIAL}");
    }
    if parts.contains(&Part::Indirect) {
        say!("{INDIRECT}");
    }
    if parts.contains(&Part::Locks) {
        say!("{LOCKS}");
    }
    if parts.contains(&Part::Tasks) {
        say!("{TASKS}");
    }
    if parts.contains(&Part::Messages) {
        say!("{MESSAGES}");
    }
    if parts.contains(&Part::Matching) {
        say!("{MATCHING}");
    }
    if parts.contains(&Part::Exchange) {
        say!("{EXCHANGE}");
    }
    if parts.iter().any(|part| matches!(part, Part::Collectives | Part::Scaling)) {
        say!("{COLLECTIVES}");
    }
    if parts.contains(&Part::Scaling) {
        say!("{SCALING}");
    }
    if parts.contains(&Part::Threads) {
        say!("{THREADS}");
    }
    if parts.contains(&Part::Cholesky) {
        say!("{CHOLESKY}");
    }
    if parts.contains(&Part::Blacs) {
        say!("{BLACS}");
    }
    if parts.contains(&Part::Scalapack) {
        say!("{SCALAPACK}");
    }
    if parts.contains(&Part::Hosts) {
        say!("{HOSTS}");
    }
    if parts.contains(&Part::Fabric) {
        say!("{FABRIC}");
    }
    if parts.iter().any(|part| matches!(part, Part::Collectives | Part::Scaling | Part::Blacs | Part::Scalapack)) {
        say!("{CROWDED}");
    }
}
