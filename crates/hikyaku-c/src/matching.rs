//! Messages that are matched by keys. The header has the full description of each.
//!
//! They are of the init thread alone, which keeps what is under way in a table.

use crate::entry::with_everyone;
use crate::error::Failure;
use crate::given::{InOut, Lasting, Out, exported};
use crate::thread;
use crate::wait::timeout;
use core_hikyaku::ffi::{RawMatching, Request as Operation};
use core_hikyaku::matching::{Keys, Matched, Matching, Source};
use core_hikyaku::{Error, Job};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::c_int;
use std::rc::Rc;

/// `hk_request`: 0 for none, and no number is used twice.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Request(u64);

/// `hk_matched`
#[derive(Clone, Copy)]
#[repr(C)]
pub struct CMatched {
    rank: c_int,
    key: u64,
    size: usize,
}

impl From<Matched> for CMatched {
    fn from(matched: Matched) -> CMatched {
        CMatched { rank: matched.rank as c_int, key: matched.key, size: matched.len }
    }
}

#[derive(Default)]
struct Table {
    matching: Option<Rc<Matching<'static>>>,
    last: u64,
    requests: HashMap<u64, Operation>,
}

thread_local! {
    static TABLE: RefCell<Table> = RefCell::default();
}

/// The job ends, and everything of this with it.
pub fn clear() {
    let table = TABLE.take();
    // The number goes on: an old handle names nothing.
    TABLE.with_borrow_mut(|fresh| fresh.last = table.last);
    if let Some(matching) = &table.matching {
        table.requests.values().for_each(|operation| drop(matching.withdraw(*operation)));
    }
}

fn matching() -> Result<Rc<Matching<'static>>, Failure> {
    let found = TABLE.with_borrow(|table| table.matching.clone());
    found.ok_or_else(|| Error::Invalid("call hk_matching_open first, on all ranks".into()).into())
}

/// Starts an operation, and keeps it under a new number.
pub fn start(
    request: &Out<'_, Request>,
    begin: impl FnOnce(&Matching<'static>) -> Result<Operation, Failure>,
) -> Result<(), Failure> {
    request.required("the request to be given")?;
    let operation = begin(&*matching()?)?;
    let number = TABLE.with_borrow_mut(|table| {
        table.last += 1;
        table.requests.insert(table.last, operation);
        table.last
    });
    request.give(Request(number));
    Ok(())
}

/// Whose messages, in C.
pub fn source(rank: c_int) -> Source {
    if rank == ANYONE { Source::Any } else { Source::Rank(rank as usize) }
}

/// `HK_ANYONE`
const ANYONE: c_int = -1;

/// Asks for a request; `None` if it is under way, else what was received. One that has ended is none any more.
fn ask(
    request: &InOut<'_, Request>,
    matched: &Out<'_, CMatched>,
    ask: impl FnOnce(&Matching<'static>, Operation) -> core_hikyaku::Result<Option<Matched>>,
) -> Result<bool, Failure> {
    let number = request.read("the request")?.0;
    if number == 0 {
        return Ok(true);
    }
    let matching = matching()?;
    let operation = TABLE.with_borrow(|table| table.requests.get(&number).copied()).ok_or(Failure::Request(number))?;
    let outcome = ask(&matching, operation);
    if let Err(Error::Timeout { .. }) = outcome {
        return Ok(false);
    }
    if !matches!(outcome, Err(Error::InHandler | Error::InFunction)) {
        TABLE.with_borrow_mut(|table| table.requests.remove(&number));
        request.give(Request(0));
    }
    if let Some(got) = outcome? {
        matched.give(got.into());
    }
    Ok(true)
}

exported! {
    /// Prepares messages that are matched by keys.
    pub fn hk_matching_open() -> c_int {
        with_everyone(|_| {
            if matching().is_ok() {
                return Err(Error::Invalid("hk_matching_open was called already".into()).into());
            }
            let matching = Rc::new(thread::lasting_job()?.matching()?);
            TABLE.with_borrow_mut(|table| table.matching = Some(matching));
            Ok(())
        })
    }

    /// Ends them.
    pub fn hk_matching_close() -> c_int {
        with_everyone(|_: &Job| {
            let open = matching()?;
            if TABLE.with_borrow(|table| !table.requests.is_empty()) {
                return Err(Error::Invalid("requests are under way; wait for them first".into()).into());
            }
            TABLE.with_borrow_mut(|table| table.matching = None);
            match Rc::try_unwrap(open) {
                Ok(open) => Ok(open.free()?),
                Err(used) => {
                    // By a function that runs in the middle of another call with it.
                    TABLE.with_borrow_mut(|table| table.matching = Some(used));
                    Err(Error::InFunction.into())
                }
            }
        })
    }

    /// Starts a send.
    pub fn hk_isend(data: Lasting, size: usize, rank: c_int, key: u64, request: Out<'_, Request>) -> c_int {
        with_everyone(|_| start(&request, |matching| data.start_send(matching, size, rank as usize, key)))
    }

    /// Starts a receive.
    pub fn hk_irecv(
        into: Lasting,
        size: usize,
        rank: c_int,
        key: u64,
        ignored: u64,
        request: Out<'_, Request>,
    ) -> c_int {
        with_everyone(|_| {
            let keys = Keys::with_ignored(key, ignored);
            start(&request, |matching| into.start_receive(matching, size, source(rank), keys))
        })
    }

    /// Whether there is a message.
    pub fn hk_iprobe(rank: c_int, key: u64, ignored: u64, matched: Out<'_, CMatched>) -> c_int {
        with_everyone(|_| {
            let there = matching()?.try_probe(source(rank), Keys::with_ignored(key, ignored))?;
            there.inspect(|there| matched.give((*there).into()));
            Ok(there.is_some())
        })
    }

    /// Whether a request has ended.
    pub fn hk_request_test(request: InOut<'_, Request>, matched: Out<'_, CMatched>) -> c_int {
        with_everyone(|_| ask(&request, &matched, |matching, operation| matching.test(operation)))
    }

    /// Waits for a request.
    pub fn hk_request_wait(request: InOut<'_, Request>, timeout_ms: c_int, matched: Out<'_, CMatched>) -> c_int {
        with_everyone(|_| {
            let patience = timeout(timeout_ms);
            match ask(&request, &matched, |matching, operation| matching.wait(operation, patience))? {
                true => Ok(()),
                false => Err(Error::Timeout { after: patience.unwrap_or_default() }.into()),
            }
        })
    }

    /// Ends a request.
    pub fn hk_request_cancel(request: InOut<'_, Request>, matched: Out<'_, CMatched>) -> c_int {
        with_everyone(|_| {
            let mut has_come = false;
            ask(&request, &matched, |matching, operation| {
                let ended = matching.withdraw(operation);
                has_come = matches!(ended, Ok(Some(_)));
                ended
            })?;
            Ok(has_come)
        })
    }
}
