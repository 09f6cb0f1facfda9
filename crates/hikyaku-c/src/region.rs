//! Shared regions. The header has the full description of each.
//!
//! They are of the init thread alone, which keeps them in a table.

use crate::entry::with_everyone;
use crate::error::Failure;
use crate::given::{In, Out, Several, Source, Target, exported};
use crate::numbered::Numbered;
use core_hikyaku::ffi::{RawRegion, Units};
use std::cell::RefCell;
use std::ffi::c_int;
use std::rc::Rc;

/// `hk_region`
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Region(u64);

thread_local! {
    static TABLE: RefCell<Numbered<RawRegion>> = const { RefCell::new(Numbered::new()) };
}

/// Those of this thread name nothing any more: their job ends.
pub fn clear() {
    TABLE.with_borrow_mut(Numbered::clear);
}

fn find(region: Region) -> Result<Rc<RawRegion>, Failure> {
    TABLE.with_borrow(|table| table.get(region.0)).ok_or(Failure::Region(region.0))
}

exported! {
    /// Makes a region.
    pub fn hk_region_create(home: c_int, size: usize, region: Out<'_, Region>) -> c_int {
        with_everyone(|job| {
            region.required("the region to be given")?;
            let made = RawRegion::new(job, home as usize, size)?;
            let number = TABLE.with_borrow_mut(|table| table.add(made));
            region.give(Region(number));
            Ok(())
        })
    }

    /// Frees a region.
    pub fn hk_region_free(region: Region) -> c_int {
        with_everyone(|job| {
            let taken = TABLE.with_borrow_mut(|table| table.take(region.0));
            Ok(taken.ok_or(Failure::Region(region.0))??.free(job)?)
        })
    }

    /// Gets a copy.
    pub fn hk_subscribe(region: Region) -> c_int {
        with_everyone(|job| Ok(find(region)?.subscribe(job)?))
    }

    /// Gives it up.
    pub fn hk_unsubscribe(region: Region) -> c_int {
        with_everyone(|job| Ok(find(region)?.unsubscribe(job)?))
    }

    /// Copies bytes of this rank's copy out.
    pub fn hk_region_read(my_addr: Target<'_>, region: Region, offset: usize, size: usize) -> c_int {
        with_everyone(|job| Ok(find(region)?.read(job, offset, my_addr.bytes(size)?)?))
    }

    /// Copies all of it out, and keeps a twin.
    pub fn hk_region_read_twin(my_addr: Target<'_>, region: Region, twin: Target<'_>) -> c_int {
        with_everyone(|job| {
            let region = find(region)?;
            let (data, twin) = my_addr.with_twin(&region, twin)?;
            region.read(job, 0, data)?;
            twin.copy_from_slice(data);
            Ok(())
        })
    }

    /// Writes bytes to all copies.
    pub fn hk_region_write(my_addr: Source<'_>, region: Region, offset: usize, size: usize) -> c_int {
        with_everyone(|job| {
            let region = find(region)?;
            my_addr.write_region(job, &region, offset, size)
        })
    }

    /// Writes marked units to all copies.
    pub fn hk_region_write_bitmap(
        my_addr: Source<'_>,
        region: Region,
        offset: usize,
        bitmap: In<'_, u64>,
        unit: usize,
        units: usize,
    ) -> c_int {
        with_everyone(|job| {
            let (region, words) = (find(region)?, &bitmap.bitmap(unit, units)?);
            my_addr.write_region_marked(job, &region, offset, Units { unit, units, words })
        })
    }

    /// Who shares it.
    pub fn hk_region_sharers(region: Region, ranks: Several<'_, c_int>, max: usize, count: Out<'_, usize>) -> c_int {
        with_everyone(|job| {
            let sharers = find(region)?.sharers(job)?;
            let listed = sharers.len().min(max);
            ranks.required(listed, "the ranks to be given")?;
            (0..listed).for_each(|index| ranks.give(index, listed, sharers[index] as c_int));
            count.give(sharers.len());
            Ok(())
        })
    }

    /// Writes what differs from a twin to all copies.
    pub fn hk_region_write_diff(
        my_addr: Source<'_>,
        region: Region,
        twin: Target<'_>,
        unit: usize,
        written: Out<'_, usize>,
    ) -> c_int {
        with_everyone(|job| {
            let region = find(region)?;
            written.give(my_addr.write_region_diff(job, &region, twin, unit)?);
            Ok(())
        })
    }

    /// Takes over what others have written.
    pub fn hk_region_refresh(
        my_addr: Target<'_>,
        region: Region,
        twin: Target<'_>,
        unit: usize,
        changed: Out<'_, usize>,
    ) -> c_int {
        with_everyone(|job| {
            let region = find(region)?;
            let (data, twin) = my_addr.with_twin(&region, twin)?;
            changed.give(region.refresh(job, data, twin, unit)?);
            Ok(())
        })
    }
}
