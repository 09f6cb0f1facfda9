//! One of two ranks that exchange messages for a while, and then find out that this takes no allocation and no system
//! call. The argument `allocate` or `call` makes it do one all the same, which must be noticed.
//!
//! What waits may yield and sleep. So allocations are counted while both ranks send and receive at will; but system
//! calls are forbidden only while they take turns, told by a word that they watch without the library's help: then
//! every message is there when its receive looks, and every receive when its long message is sent.

use hikyaku::ffi::{RawMessages, RawPort};
use hikyaku::message::{Messages, Mode, PreparedReceive, PreparedSend, Received};
use hikyaku::{Job, Result, Symmetric};
use hikyaku_testing::{seccomp, watchdog};
use std::alloc::{GlobalAlloc, Layout, System};
use std::backtrace::Backtrace;
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Messages under way at the same time: no more than have a buffer each.
const SLOTS: usize = 8;
/// The first of the slots that belong to prepared transfers, one for each size.
const PREPARED: usize = SLOTS;
const ROUNDS: u64 = 50;
/// In words: in a head, in a line, in a bounce buffer; the longest that is sent without its receive.
const SHORT: [usize; 4] = [1, 8, 128, 1024];
/// Slots whose messages are received from any, and one whose receive is posted before.
const ANY: [usize; 4] = [0, 1, 2, 3];
const POSTED: usize = 4;
/// 1 MB, in words.
const LONG: usize = 128 * 1024;

fn main() {
    watchdog::watch_process();
    let job = Job::start().expect("started by a launcher");
    let fault = std::env::args().nth(1).unwrap_or_default();
    let messages = job.messages(SLOTS + SHORT.len()).expect("memory for all");
    let pair = Pair::new(&job, &messages).expect("memory for all");
    run(&pair, &fault).expect("messages arrive");
    // The job is not left in order, nor anything dropped: that would take system calls.
    let text = b"steady\n";
    // SAFETY: writes a live buffer, and ends the process.
    unsafe {
        libc::write(1, text.as_ptr().cast(), text.len());
        libc::_exit(0);
    }
}

fn run(pair: &Pair<'_>, fault: &str) -> Result<()> {
    // Whatever is allocated or mapped once, is so now.
    pair.exchange_at_will()?;
    pair.exchange_in_turns("")?;
    pair.job.barrier()?;

    WANTED.set(true);
    let before = ALLOCATIONS.get();
    if pair.job.rank() == 0 {
        // A peer that waits for long tells whoever watches the job: that takes no allocation either.
        std::thread::sleep(Duration::from_millis(500));
    }
    pair.exchange_at_will()?;
    if fault == "allocate" {
        (0..2).for_each(|number| drop(std::hint::black_box(Box::new(number))));
    }
    let count = ALLOCATIONS.get() - before;
    WANTED.set(false);
    if let Some(place) = FIRST.take() {
        panic!("{count} allocations in send and receive, the first of which was\n{place}");
    }

    pair.job.barrier()?;
    // Now both have left the barrier: nobody sleeps whom the other would wake.
    pair.take_turns(2);
    seccomp::allow_only(&[libc::SYS_write, libc::SYS_exit_group]);
    pair.exchange_in_turns(fault)
}

struct Pair<'a> {
    job: &'a Job,
    messages: &'a Messages<'a>,
    /// By size.
    prepared: [RefCell<(PreparedSend<'a, u64>, PreparedReceive<'a, u64>)>; SHORT.len()],
    /// Word 0 says whose turn it is.
    turns: Symmetric<u64>,
    turn: Cell<u64>,
    /// Job memory to send from and to receive into.
    long: [Symmetric<u64>; 2],
}

impl<'a> Pair<'a> {
    fn new(job: &'a Job, messages: &'a Messages<'a>) -> Result<Pair<'a>> {
        let long = [job.symmetric(LONG)?, job.symmetric(LONG)?];
        messages.set_spare(1 << 20)?;
        let prepare = |index: usize| {
            let (peer, slot, words) = (1 - job.rank(), PREPARED + index, SHORT[index]);
            let send = messages.prepare_send(vec![0; words], peer, slot)?;
            Ok(RefCell::new((send, messages.prepare_recv(vec![0; words], peer, slot)?)))
        };
        let prepared = [prepare(0)?, prepare(1)?, prepare(2)?, prepare(3)?];
        Ok(Pair { job, messages, prepared, turns: job.symmetric(1)?, turn: Cell::new(0), long })
    }

    fn peer(&self) -> usize {
        1 - self.job.rank()
    }

    /// Ping-pongs of all sizes, with the library's waits.
    fn exchange_at_will(&self) -> Result<()> {
        let mut buffer = [0u64; 1024];
        for round in 0..ROUNDS {
            for words in SHORT {
                self.ping_pong(
                    || self.messages.send(&[round; 1024][..words], self.peer(), 0),
                    || {
                        assert_eq!(self.messages.recv(&mut buffer, self.peer(), 0)?, words);
                        assert!(buffer[..words].iter().all(|word| *word == round), "round {round} of {words} words");
                        Ok(())
                    },
                )?;
            }
            for index in 0..SHORT.len() {
                let mut posted = [0; 1024];
                let at_will = || {};
                match self.job.rank() {
                    0 => self.send_in_every_form(round, index, true)?,
                    _ => self.receive_in_every_form(round, index, true, &mut posted, at_will)?,
                }
                match self.job.rank() {
                    0 => self.receive_in_every_form(round, index, true, &mut posted, at_will)?,
                    _ => self.send_in_every_form(round, index, true)?,
                }
            }
            let [out, into] = self.long();
            out.fill(round);
            self.ping_pong(|| self.messages.send(out, self.peer(), 0), || self.take_long(into, round))?;
        }
        Ok(())
    }

    fn ping_pong(&self, mut send: impl FnMut() -> Result<()>, mut receive: impl FnMut() -> Result<()>) -> Result<()> {
        for turn in 0..2 {
            if turn == self.job.rank() { send()? } else { receive()? }
        }
        Ok(())
    }

    fn take_long(&self, into: &mut [u64], round: u64) -> Result<()> {
        assert_eq!(self.messages.recv(into, self.peer(), 0)?, LONG);
        assert!(into.iter().all(|word| *word == round), "round {round} of a long message");
        Ok(())
    }

    /// Messages from rank 0 to rank 1 of all sizes, none of which waits.
    fn exchange_in_turns(&self, fault: &str) -> Result<()> {
        for round in 0..ROUNDS {
            for words in SHORT {
                self.short_in_turns(round, words)?;
            }
            for index in 0..SHORT.len() {
                self.forms_in_turns(round, index)?;
            }
            self.long_in_turns(round)?;
            if fault == "call" && round == ROUNDS - 1 {
                rustix::thread::sched_yield();
            }
        }
        Ok(())
    }

    fn short_in_turns(&self, round: u64, words: usize) -> Result<()> {
        if self.job.rank() == 0 {
            for slot in 0..SLOTS {
                self.messages.send(&[round + slot as u64; 1024][..words], 1, slot)?;
            }
        }
        self.take_turns(1);
        if self.job.rank() == 1 {
            let mut buffer = [0u64; 1024];
            for slot in 0..SLOTS {
                assert_eq!(self.messages.recv(&mut buffer, 0, slot)?, words);
                assert!(buffer[..words].iter().all(|word| *word == round + slot as u64), "{words} words in {slot}");
            }
        }
        self.take_turns(1);
        Ok(())
    }

    fn forms_in_turns(&self, round: u64, index: usize) -> Result<()> {
        if self.job.rank() == 0 {
            self.take_turns(1);
            self.send_in_every_form(round, index, false)?;
            self.take_turns(2);
        } else {
            self.receive_in_every_form(round, index, false, &mut [0; 1024], || self.take_turns(2))?;
            self.take_turns(1);
        }
        Ok(())
    }

    /// Messages of one size in all the forms there are. A synchronous one waits for its receive.
    fn send_in_every_form(&self, round: u64, index: usize, synchronous: bool) -> Result<()> {
        let (messages, peer) = (self.messages, self.peer());
        let data = [round; 1024];
        let data = &data[..SHORT[index]];
        messages.send(data, peer, ANY[0])?;
        // SAFETY: waited for below, while the data are there.
        unsafe { messages.isend(data.as_ptr().cast(), size_of_val(data), peer, ANY[1])? };
        messages.set_mode(Mode::Spool(Duration::ZERO));
        messages.send(data, peer, ANY[2])?;
        messages.set_mode(Mode::Standard);
        messages.send_any(data, peer, 0)?;
        messages.send(data, peer, POSTED)?;
        let prepared = &mut self.prepared[index].borrow_mut().0;
        prepared.data_mut()?.fill(round);
        prepared.start()?;
        if synchronous {
            messages.set_mode(Mode::Synchronous);
            messages.send(data, peer, ANY[3])?;
            messages.set_mode(Mode::Standard);
        }
        // SAFETY: it was started above.
        unsafe { messages.isend_wait(peer, ANY[1])? };
        prepared.wait()
    }

    /// The receives of [`Pair::send_in_every_form`]: from any slot, from any rank, posted before, prepared. `meanwhile` is
    /// called when one was posted.
    fn receive_in_every_form(
        &self,
        round: u64,
        index: usize,
        synchronous: bool,
        posted: &mut [u64; 1024],
        meanwhile: impl Fn(),
    ) -> Result<()> {
        let (messages, peer, words) = (self.messages, self.peer(), SHORT[index]);
        let check = |data: &[u64]| assert!(data.iter().all(|word| *word == round), "round {round} of {words} words");
        // SAFETY: waited for below, while the room is there and nobody uses it.
        unsafe { messages.irecv(posted.as_mut_ptr().cast(), size_of_val(posted), peer, POSTED)? };
        meanwhile();
        let mut buffer = [0; 1024];
        for _ in 0..if synchronous { 4 } else { 3 } {
            let Received { slot, len, .. } = messages.recv_any_slot(&mut buffer, peer)?;
            assert!(ANY.contains(&slot) && len == words, "{len} words in slot {slot}");
            check(&buffer[..len]);
        }
        assert_eq!(messages.recv_any(&mut buffer, 0)?, Received { rank: peer, slot: 0, len: words });
        check(&buffer[..words]);
        // SAFETY: it was started above.
        assert_eq!(unsafe { messages.irecv_wait(peer, POSTED)? }, 8 * words);
        check(&posted[..words]);
        let prepared = &mut self.prepared[index].borrow_mut().1;
        prepared.start()?;
        check(prepared.wait()?);
        Ok(())
    }

    fn long_in_turns(&self, round: u64) -> Result<()> {
        let [out, into] = self.long();
        if self.job.rank() == 0 {
            out.fill(round);
            self.take_turns(1);
            self.messages.send(out, 1, 0)?;
            self.take_turns(2);
            return Ok(());
        }
        self.messages.scope(|scope| {
            let receive = scope.irecv(&mut *into, 0, 0)?;
            self.take_turns(2);
            assert_eq!(scope.wait_receive(receive)?, LONG);
            Ok(())
        })?;
        self.take_turns(1);
        assert!(into.iter().all(|word| *word == round), "round {round} of a long message");
        Ok(())
    }

    #[allow(clippy::mut_from_ref)]
    fn long(&self) -> [&mut [u64]; 2] {
        // SAFETY: two areas of as many words, used by one caller at a time, which nobody writes but the receive that
        // is given the second.
        self.long.each_ref().map(|area| unsafe { std::slice::from_raw_parts_mut(area.as_ptr(), LONG) })
    }

    /// Waits until both have come here, so many times, without any help of the library or the kernel.
    fn take_turns(&self, times: u64) {
        let address = self.job.mapped_address(self.turns.at(0, 0)).expect("mapped");
        // SAFETY: a word of rank 0's symmetric memory, which outlives this function and is accessed atomically.
        let word = unsafe { AtomicU64::from_ptr(address) };
        for _ in 0..times {
            self.turn.set(self.turn.get() + 2);
            word.fetch_add(1, Ordering::AcqRel);
            while word.load(Ordering::Acquire) < self.turn.get() {
                std::hint::spin_loop();
            }
        }
    }
}

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    /// It is to be told where the next one is made.
    static WANTED: Cell<bool> = const { Cell::new(false) };
    /// Where that was.
    static FIRST: Cell<Option<Backtrace>> = const { Cell::new(None) };
}

/// The system's allocator, and a count of what the calling thread asked it for.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let count = ALLOCATIONS.get() + 1;
        if WANTED.replace(false) {
            FIRST.set(Some(Backtrace::force_capture()));
        }
        // Those of the backtrace do not count.
        ALLOCATIONS.set(count);
        // SAFETY: as promised by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as promised by the caller.
        unsafe { System.dealloc(pointer, layout) }
    }
}
