//! Symmetric memory, and areas by id.

use crate::entry::{with_everyone, with_port};
use crate::error::Failure;
use crate::given::{Address, Out, Registered, exported};
use crate::handle::{self, Entry, Handle, check_word};
use crate::wait::timeout;
use core_hikyaku::ffi::{RawPins, RawPort};
use core_hikyaku::{Area, Chain, Error, Place, Port, RemoteArea};
use std::ffi::{c_int, c_void};
use std::time::Duration;

/// An area of this rank, with its address.
#[derive(Debug)]
pub struct OwnArea {
    memory: OwnMemory,
    view: RemoteArea<u8>,
    start: Address,
}

/// Keeps the area from being revoked. It can have words only if it starts and ends on one.
#[derive(Debug)]
enum OwnMemory {
    Words(Area<u64>),
    Bytes(Area<u8>),
    /// For others to follow, not to write.
    Commands(Chain),
}

impl OwnArea {
    fn new(port: &Port, memory: OwnMemory, start: Address) -> Result<OwnArea, Error> {
        let id = memory.id();
        Ok(OwnArea { view: port.open_area(port.rank(), id)?, memory, start })
    }

    pub fn id(&self) -> u32 {
        self.memory.id()
    }

    pub fn bytes(&self, rank: usize, offset: usize) -> Result<Place<'_, u8>, Failure> {
        check_owner(self.view.rank(), rank)?;
        Ok(self.view.at(offset))
    }

    pub fn word(&self, rank: usize, offset: usize) -> Result<Place<'_, u64>, Failure> {
        check_owner(self.view.rank(), rank)?;
        check_word(offset, self.view.len())?;
        match &self.memory {
            OwnMemory::Words(area) => Ok(area.at(offset / 8)),
            OwnMemory::Bytes(_) | OwnMemory::Commands(_) => Err(Error::Misaligned { index: offset }.into()),
        }
    }
}

impl OwnMemory {
    /// A rank that has pinned some of it. Commands are not to be pinned: the area that they are in knows no range.
    fn pinned_by(&self) -> Option<usize> {
        match self {
            OwnMemory::Words(area) => area.pinned_by(),
            OwnMemory::Bytes(area) => area.pinned_by(),
            OwnMemory::Commands(_) => None,
        }
    }

    fn wait_unpinned(&self, port: &Port, timeout: Option<Duration>) -> Result<(), Error> {
        match self {
            OwnMemory::Words(area) => port.wait_unpinned(area, timeout),
            OwnMemory::Bytes(area) => port.wait_unpinned(area, timeout),
            OwnMemory::Commands(_) => Ok(()),
        }
    }

    fn unpin(&self) {
        match self {
            OwnMemory::Words(area) => area.unpin(),
            OwnMemory::Bytes(area) => area.unpin(),
            OwnMemory::Commands(_) => {}
        }
    }

    fn id(&self) -> u32 {
        match self {
            OwnMemory::Words(area) => area.id(),
            OwnMemory::Bytes(area) => area.id(),
            OwnMemory::Commands(chain) => chain.id(),
        }
    }
}

/// Keeps a chain until its area is revoked.
pub fn insert_chain(port: &Port, chain: Chain) -> Result<(), Failure> {
    let start = Address(std::ptr::null_mut());
    handle::insert(Entry::Own(OwnArea::new(port, OwnMemory::Commands(chain), start)?)).map(drop)
}

/// An area of a peer.
#[derive(Debug)]
pub struct OpenedArea {
    bytes: RemoteArea<u8>,
    /// The area as words, if it can have some.
    words: Option<RemoteArea<u64>>,
}

impl OpenedArea {
    fn new(port: &Port, rank: usize, id: u32) -> Result<OpenedArea, Error> {
        let bytes = port.open_area(rank, id)?;
        let words = match port.open_area(rank, id) {
            Err(Error::WrongElement { .. }) => None,
            other => Some(other?),
        };
        Ok(OpenedArea { bytes, words })
    }

    pub fn rank(&self) -> usize {
        self.bytes.rank()
    }

    pub fn bytes(&self, rank: usize, offset: usize) -> Result<Place<'_, u8>, Failure> {
        check_owner(self.bytes.rank(), rank)?;
        Ok(self.bytes.at(offset))
    }

    pub fn word(&self, rank: usize, offset: usize) -> Result<Place<'_, u64>, Failure> {
        check_owner(self.bytes.rank(), rank)?;
        check_word(offset, self.bytes.len())?;
        match &self.words {
            Some(area) => Ok(area.at(offset / 8)),
            None => Err(Error::Misaligned { index: offset }.into()),
        }
    }
}

/// Goes on with the memory of an own area.
fn with_own(port: &Port, id: u32, go: impl FnOnce(&OwnMemory) -> Result<(), Failure>) -> Result<(), Failure> {
    let own = handle::find_own(id).ok_or(Error::UnknownArea { rank: port.rank(), id })?;
    match own.entry()? {
        Entry::Own(area) => go(&area.memory),
        _ => Err(Failure::Kind("an area of this rank")),
    }
}

#[inline(always)]
fn check_owner(owner: usize, rank: usize) -> Result<(), Failure> {
    if owner == rank { Ok(()) } else { Err(Failure::Owner { owner, rank }) }
}

exported! {
    /// Allocates on every rank.
    pub fn hk_alloc(bytes: usize, out: Out<'_, Handle>) -> c_int {
        with_everyone(|job| {
            out.required("the handle to be given")?;
            let handle = handle::insert(Entry::Symmetric(job.symmetric(bytes)?))?;
            out.give(handle);
            Ok(())
        })
    }

    /// Frees on every rank.
    pub fn hk_free(area: Handle) -> c_int {
        with_everyone(|job| {
            let wanted = |entry: &Entry| match entry {
                Entry::Symmetric(_) => Ok(()),
                _ => Err(Failure::Kind("a symmetric area")),
            };
            match handle::remove(area, wanted)? {
                Entry::Symmetric(area) => Ok(job.free(area)?),
                _ => Ok(()),
            }
        })
    }

    /// The own memory of an area.
    pub fn hk_local(area: Handle) -> *mut c_void {
        let mut start = std::ptr::null_mut();
        with_port(|_| {
            start = match area.entry()? {
                Entry::Symmetric(area) => area.as_ptr().cast(),
                Entry::Own(OwnArea { memory: OwnMemory::Commands(_), .. }) => {
                    return Err(Failure::Kind("an area with memory of the program; this one is a chain"));
                }
                Entry::Own(area) => area.start.0,
                Entry::Opened(area) => return Err(Error::NotMine { rank: area.rank() }.into()),
                Entry::Several(_) => return Err(Failure::Kind("an area of this rank")),
            };
            Ok(())
        });
        start
    }

    /// A byte of a symmetric area of any rank.
    pub fn hk_address(rank: c_int, area: Handle, offset: usize) -> *mut c_void {
        let mut address = std::ptr::null_mut();
        with_port(|port| {
            address = area.with_bytes(rank as usize, offset, |place| Ok(port.mapped_address(place)?))?.cast();
            Ok(())
        });
        address
    }

    /// The size of an area.
    pub fn hk_area_size(area: Handle, bytes: Out<'_, usize>) -> c_int {
        with_port(|_| {
            bytes.required("the size to be given")?;
            let size = match area.entry()? {
                Entry::Symmetric(area) => area.len(),
                Entry::Own(area) => area.view.len(),
                Entry::Opened(area) => area.bytes.len(),
                Entry::Several(_) => return Err(Failure::Kind("one area; these are of several ranks")),
            };
            bytes.give(size);
            Ok(())
        })
    }

    /// Makes an area of this rank.
    pub fn hk_area_create(id: u32, bytes: usize, memory: Out<'_, *mut c_void>) -> c_int {
        with_port(|port| {
            let area = port.area::<u64>(id, bytes.div_ceil(8))?;
            let start = area.as_ptr().cast();
            handle::insert(Entry::Own(OwnArea::new(port, OwnMemory::Words(area), Address(start))?))?;
            memory.give(start);
            Ok(())
        })
    }

    /// Lets peers reach existing memory.
    pub fn hk_area_register(id: u32, memory: Registered, bytes: usize) -> c_int {
        with_port(|port| {
            let area = match memory.is_words(bytes)? {
                true => OwnMemory::Words(memory.words(port, id, bytes)?),
                false => OwnMemory::Bytes(memory.bytes(port, id, bytes)?),
            };
            handle::insert(Entry::Own(OwnArea::new(port, area, memory.address())?))?;
            Ok(())
        })
    }

    /// Takes an own area away.
    pub fn hk_area_revoke(id: u32) -> c_int {
        with_port(|port| {
            let unknown = || Error::UnknownArea { rank: port.rank(), id };
            let own = handle::find_own(id).ok_or_else(unknown)?;
            if let Entry::Own(area) = own.entry()?
                && let Some(rank) = area.memory.pinned_by()
            {
                return Err(Error::AreaPinned { rank, id }.into());
            }
            let area = handle::remove_own(id).ok_or_else(unknown)?;
            drop(area);
            Ok(())
        })
    }

    /// Asks the owner of a range to keep it.
    pub fn hk_pd_req(rank: c_int, area: Handle, offset: usize, size: usize) -> c_int {
        with_port(|port| area.with_bytes(rank as usize, offset, |place| Ok(port.pin_range(place, size)?)))
    }

    /// Ends a pin.
    pub fn hk_pd_release(rank: c_int, area: Handle) -> c_int {
        with_port(|port| area.with_bytes(rank as usize, 0, |place| Ok(port.release_range(place)?)))
    }

    /// Waits until nobody has pinned an own area.
    pub fn hk_area_wait_unpinned(id: u32, timeout_ms: c_int) -> c_int {
        with_port(|port| with_own(port, id, |area| Ok(area.wait_unpinned(port, timeout(timeout_ms))?)))
    }

    /// Ends all pins of an own area.
    pub fn hk_area_unpin(id: u32) -> c_int {
        with_port(|port| {
            with_own(port, id, |area| {
                area.unpin();
                Ok(())
            })
        })
    }

    /// Opens an area.
    pub fn hk_area_open(rank: c_int, id: u32, out: Out<'_, Handle>) -> c_int {
        with_port(|port| {
            out.required("the handle to be given")?;
            let own = if rank as usize == port.rank() { handle::find_own(id) } else { None };
            let handle = match own {
                Some(handle) => handle,
                None => handle::insert(Entry::Opened(OpenedArea::new(port, rank as usize, id)?))?,
            };
            out.give(handle);
            Ok(())
        })
    }

    /// Gives a handle back.
    pub fn hk_area_close(area: Handle) -> c_int {
        with_port(|_| {
            let wanted = |entry: &Entry| match entry {
                Entry::Symmetric(_) => Err(Failure::Kind("an area that was opened; free it by hk_free")),
                _ => Ok(()),
            };
            if let Entry::Own(_) = area.entry()? {
                return Ok(());
            }
            handle::remove(area, wanted).map(drop)
        })
    }
}
