//! Multicast. The header has the full description of each.

use crate::entry::with_port;
use crate::error::Failure;
use crate::given::{In, Out, Source, Target, exported};
use crate::handle::{self, Entry, Handle, Outcome};
use crate::partial::CStride;
use core_hikyaku::ffi::{ByteParts, Units};
use core_hikyaku::{Common, Error, Port, Recipients};
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::{Arc, Mutex, MutexGuard};

/// `hk_recipients`: 0 for none, and no number is used twice.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Pattern(u64);

struct Table {
    last: u64,
    patterns: BTreeMap<u64, Arc<Recipients>>,
}

static TABLE: Mutex<Table> = Mutex::new(Table { last: 0, patterns: BTreeMap::new() });

fn table() -> MutexGuard<'static, Table> {
    TABLE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// All name nothing any more: their job ends.
pub fn clear() {
    table().patterns.clear();
}

impl Pattern {
    fn find(self) -> Outcome<Arc<Recipients>> {
        table().patterns.get(&self.0).cloned().ok_or(Failure::Recipients(self.0))
    }
}

/// Those of a list.
fn listed(port: &Port, ranks: In<'_, c_int>, count: usize) -> Outcome<Recipients> {
    let size = port.size();
    if count > size {
        return Err(Error::Invalid(format!("{count} ranks of a job of {size}")).into());
    }
    let ranks: &[c_int] = if count == 0 { &[] } else { ranks.slice(count, "the ranks")? };
    Ok(port.recipients(&ranks.iter().map(|rank| *rank as usize).collect::<Vec<_>>())?)
}

/// What all ranks have alike, or areas of several.
fn common<'a>(area: Handle) -> Outcome<&'a dyn Common<u8>> {
    match area.entry()? {
        Entry::Symmetric(area) => Ok(area),
        Entry::Several(areas) => Ok(areas),
        _ => Err(Failure::Kind("a symmetric area, nor areas of several ranks")),
    }
}

/// Multicasts of each form, to recipients that are given in one of two ways.
macro_rules! forms {
    ($(($plain:ident, $plain_notify:ident, $stride:ident, $stride_notify:ident, $bitmap:ident, $bitmap_notify:ident,
        $diff:ident, $diff_notify:ident): ($($name:ident: $type:ty),*) => $find:expr;)*) => {
        $(exported! {
            /// Writes the same to several ranks.
            pub fn $plain(my_addr: Source<'_>, $($name: $type,)* area: Handle, offset: usize, size: usize) -> c_int {
                with_port(|port| {
                    let (to, at) = (&*$find(port, $($name),*)?, (common(area)?, offset));
                    my_addr.multicast(port, to, at, size, None)
                })
            }

            /// And then a word of each.
            pub fn $plain_notify(
                my_addr: Source<'_>,
                $($name: $type,)*
                area: Handle,
                offset: usize,
                size: usize,
                flag: Handle,
                flag_offset: usize,
                value: u64,

            ) -> c_int {
                with_port(|port| {
                    let (to, at) = (&*$find(port, $($name),*)?, (common(area)?, offset));
                    let word = Some((common(flag)?, flag_offset, value));
                    my_addr.multicast(port, to, at, size, word)
                })
            }

            /// Blocks.
            pub fn $stride(my_addr: Source<'_>, $($name: $type,)* area: Handle, offset: usize, stride: CStride) -> c_int {
                with_port(|port| {
                    let (to, at) = (&*$find(port, $($name),*)?, (common(area)?, offset));
                    my_addr.multicast_parts(port, to, at, ByteParts::Stride(stride.into()), None)
                })
            }

            /// And then a word of each.
            pub fn $stride_notify(
                my_addr: Source<'_>,
                $($name: $type,)*
                area: Handle,
                offset: usize,
                stride: CStride,
                flag: Handle,
                flag_offset: usize,
                value: u64,

            ) -> c_int {
                with_port(|port| {
                    let (to, at) = (&*$find(port, $($name),*)?, (common(area)?, offset));
                    let word = Some((common(flag)?, flag_offset, value));
                    my_addr.multicast_parts(port, to, at, ByteParts::Stride(stride.into()), word)
                })
            }

            /// Marked units.
            pub fn $bitmap(my_addr: Source<'_>, $($name: $type,)* area: Handle, offset: usize, bitmap: In<'_, u64>, unit: usize, units: usize) -> c_int {
                with_port(|port| {
                    let (to, at) = (&*$find(port, $($name),*)?, (common(area)?, offset));
                    let words = &bitmap.bitmap(unit, units)?;
                    my_addr.multicast_parts(port, to, at, ByteParts::Marked(Units { unit, units, words }), None)
                })
            }

            /// And then a word of each.
            pub fn $bitmap_notify(
                my_addr: Source<'_>,
                $($name: $type,)*
                area: Handle,
                offset: usize,
                bitmap: In<'_, u64>, unit: usize, units: usize,
                flag: Handle,
                flag_offset: usize,
                value: u64,

            ) -> c_int {
                with_port(|port| {
                    let (to, at) = (&*$find(port, $($name),*)?, (common(area)?, offset));
                    let word = Some((common(flag)?, flag_offset, value));
                    let words = &bitmap.bitmap(unit, units)?;
                    my_addr.multicast_parts(port, to, at, ByteParts::Marked(Units { unit, units, words }), word)
                })
            }

            /// What differs from a twin.
            pub fn $diff(my_addr: Source<'_>, $($name: $type,)* area: Handle, offset: usize, size: usize, twin: Target<'_>, unit: usize, pushed: Out<'_, usize>) -> c_int {
                with_port(|port| {
                    let (to, at) = (&*$find(port, $($name),*)?, (common(area)?, offset));
                    pushed.give(my_addr.multicast_diff(port, to, at, size, (twin, unit), None)?);
                    Ok(())
                })
            }

            /// And then a word of each.
            pub fn $diff_notify(
                my_addr: Source<'_>,
                $($name: $type,)*
                area: Handle,
                offset: usize,
                size: usize, twin: Target<'_>, unit: usize,
                flag: Handle,
                flag_offset: usize,
                value: u64,
pushed: Out<'_, usize>
            ) -> c_int {
                with_port(|port| {
                    let (to, at) = (&*$find(port, $($name),*)?, (common(area)?, offset));
                    let word = Some((common(flag)?, flag_offset, value));
                    pushed.give(my_addr.multicast_diff(port, to, at, size, (twin, unit), word)?);
                    Ok(())
                })
            }
        })*
    };
}

forms! {
    (hk_mcast_a, hk_mcast_a_notify, hk_mcast_a_stride, hk_mcast_a_stride_notify, hk_mcast_a_bitmap, hk_mcast_a_bitmap_notify,
        hk_mcast_a_diff, hk_mcast_a_diff_notify):
        (to: Pattern) => |_: &Port, to: Pattern| to.find();
    (hk_mcast_b, hk_mcast_b_notify, hk_mcast_b_stride, hk_mcast_b_stride_notify, hk_mcast_b_bitmap, hk_mcast_b_bitmap_notify,
        hk_mcast_b_diff, hk_mcast_b_diff_notify):
        (ranks: In<'_, c_int>, count: usize) => |port: &Port, ranks, count| listed(port, ranks, count).map(Box::new);
}

exported! {
    /// Names ranks for multicasts.
    pub fn hk_recipients_create(ranks: In<'_, c_int>, count: usize, recipients: Out<'_, Pattern>) -> c_int {
        with_port(|port| {
            recipients.required("the recipients to be given")?;
            let made = Arc::new(listed(port, ranks, count)?);
            let mut table = table();
            table.last += 1;
            let number = table.last;
            table.patterns.insert(number, made);
            recipients.give(Pattern(number));
            Ok(())
        })
    }

    /// Opens an area of each of several ranks.
    pub fn hk_areas_open(recipients: Pattern, id: u32, out: Out<'_, Handle>) -> c_int {
        with_port(|port| {
            out.required("the handle to be given")?;
            let areas = port.open_areas(&*recipients.find()?, id)?;
            out.give(handle::insert(Entry::Several(areas))?);
            Ok(())
        })
    }

    /// Frees them.
    pub fn hk_recipients_free(recipients: Pattern) -> c_int {
        with_port(|_| match table().patterns.remove(&recipients.0) {
            Some(_) => Ok(()),
            None => Err(Failure::Recipients(recipients.0)),
        })
    }
}
