//! A program or shared library as the loader has mapped it: which functions it has for others.
//!
//! Read from the tables that the loader itself looks names up in, without a call that allocates or locks: this runs inside
//! `dlsym`, which programs call from anywhere.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ops::ControlFlow;

/// One of them.
#[derive(Clone, Copy, Debug)]
pub struct Object {
    /// What is added to its addresses.
    base: usize,
    /// Where its memory ends.
    end: usize,
    /// Its file; empty for the program itself.
    pub name: &'static CStr,
    symbols: *const Symbol,
    strings: *const c_char,
    hashes: Hashes,
}

/// A function of an object.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// The name others know it by.
    pub name: &'static CStr,
    /// Its first instruction.
    pub address: usize,
    /// Its bytes.
    pub size: usize,
}

/// The table `DT_GNU_HASH`: a filter, buckets of symbol numbers, and the hash of each symbol from `first` on, whose lowest bit says
/// that its bucket ends.
#[derive(Clone, Copy, Debug)]
struct Hashes {
    first: u32,
    filter: &'static [usize],
    filter_shift: u32,
    buckets: &'static [u32],
    chains: *const u32,
}

/// An entry of a symbol table of 64 bits.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Symbol {
    name: u32,
    info: u8,
    other: u8,
    section: u16,
    value: u64,
    size: u64,
}

/// An entry of the dynamic section.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Dynamic {
    tag: i64,
    value: usize,
}

const STRINGS: i64 = 5;
const SYMBOLS: i64 = 6;
const GNU_HASH: i64 = 0x6fff_fef5;
const UNDEFINED: u16 = 0;
const IS_FUNCTION: u8 = 2;

/// How many objects have ever been loaded into this process.
pub fn loads() -> u64 {
    let mut loads = 0;
    each_header(&mut |header| {
        loads = header.dlpi_adds;
        ControlFlow::Break(())
    });
    loads
}

/// Shows all objects of this process.
pub fn each(visit: &mut dyn FnMut(Object)) {
    each_header(&mut |header| {
        // SAFETY: the loader's own description of something that is loaded and, while it is shown, stays so.
        if let Some(object) = unsafe { Object::of(header) } {
            visit(object);
        }
        ControlFlow::Continue(())
    });
}

type Visit<'v> = &'v mut dyn FnMut(&libc::dl_phdr_info) -> ControlFlow<()>;

fn each_header(mut visit: Visit<'_>) {
    extern "C" fn show(header: *mut libc::dl_phdr_info, _: usize, visit: *mut c_void) -> c_int {
        // SAFETY: the pointer passed below, and what the loader shows.
        let (visit, header) = unsafe { (&mut *visit.cast::<Visit<'_>>(), &*header) };
        c_int::from(visit(header).is_break())
    }
    // SAFETY: calls the function with the pointer, before it returns.
    unsafe { libc::dl_iterate_phdr(Some(show), (&raw mut visit).cast()) };
}

impl Object {
    /// # Safety
    /// What the loader shows, while the object is loaded.
    unsafe fn of(header: &libc::dl_phdr_info) -> Option<Object> {
        let base = header.dlpi_addr as usize;
        // SAFETY: as many headers as the loader says.
        let segments = unsafe { std::slice::from_raw_parts(header.dlpi_phdr, header.dlpi_phnum as usize) };
        let dynamic = segments.iter().find(|segment| segment.p_type == libc::PT_DYNAMIC)?;
        let ends = segments.iter().map(|segment| base + (segment.p_vaddr + segment.p_memsz) as usize);
        let end = ends.max()?;
        let (mut strings, mut symbols, mut hashes) = (None, None, None);
        let mut entry = (base + dynamic.p_vaddr as usize) as *const Dynamic;
        // SAFETY: the dynamic section ends with an entry of tag 0.
        while let Dynamic { tag: 1.., value } = unsafe { *entry } {
            // The loader has added the base already, but not in what the kernel has loaded.
            let address = if value < base { base + value } else { value };
            // SAFETY: as above.
            match unsafe { (*entry).tag } {
                STRINGS => strings = Some(address as *const c_char),
                SYMBOLS => symbols = Some(address as *const Symbol),
                // SAFETY: where the loader finds the table.
                GNU_HASH => hashes = Some(unsafe { Hashes::at(address as *const u32) }),
                _ => {}
            }
            // SAFETY: not the last one.
            entry = unsafe { entry.add(1) };
        }
        // SAFETY: null or a string that is there as long as the object.
        let name = unsafe { header.dlpi_name.as_ref().map_or(c"", |name| CStr::from_ptr(name)) };
        Some(Object { base, end, name, symbols: symbols?, strings: strings?, hashes: hashes? })
    }

    /// Whether something is in it.
    pub fn contains(&self, address: usize) -> bool {
        (self.base..self.end).contains(&address)
    }

    /// The function that others find by a name.
    pub fn find(&self, name: &CStr) -> Option<Function> {
        let hash = hash(name);
        self.hashes.candidates(hash).filter_map(|index| self.function(index)).find(|function| function.name == name)
    }

    /// Where the function or variable is that others find by a name.
    pub fn address(&self, name: &CStr) -> Option<usize> {
        let mut found = self.hashes.candidates(hash(name)).map(|index| self.symbol(index));
        let found = found.find(|symbol| symbol.section != UNDEFINED && self.name_of(symbol) == name);
        found.map(|symbol| self.base + symbol.value as usize)
    }

    /// All functions that others can find.
    pub fn functions(&self) -> impl Iterator<Item = Function> + use<> {
        let object = *self;
        (object.hashes.first..object.hashes.end()).filter_map(move |index| object.function(index))
    }

    fn function(&self, index: u32) -> Option<Function> {
        let symbol = self.symbol(index);
        let is_function = symbol.info & 0xf == IS_FUNCTION && symbol.section != UNDEFINED;
        is_function.then(|| Function {
            name: self.name_of(&symbol),
            address: self.base + symbol.value as usize,
            size: symbol.size as usize,
        })
    }

    fn symbol(&self, index: u32) -> Symbol {
        // SAFETY: indices come from the table of hashes, which has them of this table.
        unsafe { *self.symbols.add(index as usize) }
    }

    fn name_of(&self, symbol: &Symbol) -> &'static CStr {
        // SAFETY: names are terminated strings in the table of strings.
        unsafe { CStr::from_ptr(self.strings.add(symbol.name as usize)) }
    }
}

impl Hashes {
    /// # Safety
    /// Such a table is there, and stays.
    unsafe fn at(table: *const u32) -> Hashes {
        // SAFETY: four words, then the filter, the buckets and the chains.
        unsafe {
            let [buckets, first, filter_words, filter_shift] = *table.cast::<[u32; 4]>();
            let filter = table.add(4).cast::<usize>();
            let bucket = filter.add(filter_words as usize).cast::<u32>();
            Hashes {
                first,
                filter: std::slice::from_raw_parts(filter, filter_words as usize),
                filter_shift,
                buckets: std::slice::from_raw_parts(bucket, buckets as usize),
                chains: bucket.add(buckets as usize),
            }
        }
    }

    /// The symbols with a hash.
    fn candidates(self, hash: u32) -> impl Iterator<Item = u32> {
        let bits = |shift: u32| 1 << ((hash >> shift) as usize % usize::BITS as usize);
        let word = (hash / usize::BITS) as usize % self.filter.len().max(1);
        let mask = bits(0) | bits(self.filter_shift);
        let passes = self.filter.get(word).is_some_and(|filter| filter & mask == mask);
        let bucket = if passes { self.buckets.get(hash as usize % self.buckets.len().max(1)) } else { None };
        let start = bucket.copied().filter(|start| *start >= self.first);
        self.chain(start).filter(move |(_, other)| other | 1 == hash | 1).map(|(index, _)| index)
    }

    /// The symbols of a bucket, with their hashes.
    fn chain(self, start: Option<u32>) -> impl Iterator<Item = (u32, u32)> {
        let mut next = start;
        std::iter::from_fn(move || {
            let index = next?;
            // SAFETY: each symbol from the first one on has a word.
            let hash = unsafe { *self.chains.add((index - self.first) as usize) };
            next = (hash & 1 == 0).then_some(index + 1);
            Some((index, hash))
        })
    }

    /// The number of symbols: the last one is at the end of a bucket.
    fn end(self) -> u32 {
        let last = self.buckets.iter().copied().max().filter(|last| *last >= self.first);
        self.chain(last).last().map_or(self.first, |(index, _)| index + 1)
    }
}

fn hash(name: &CStr) -> u32 {
    name.to_bytes().iter().fold(5381, |hash: u32, byte| hash.wrapping_mul(33).wrapping_add(u32::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_the_c_library_are_where_the_loader_finds_them() {
        assert!(loads() > 0);
        let (mut by_name, mut listed) = (None, None);
        each(&mut |object| {
            by_name = by_name.or_else(|| object.find(c"fclose"));
            listed = listed.or_else(|| object.functions().find(|function| function.name == c"fclose"));
            assert!(object.find(c"no_library_has_this_name").is_none());
        });
        let addresses = [by_name, listed].map(|found| found.unwrap().address);
        assert_eq!(addresses, [libc::fclose as *const () as usize; 2]);
    }
}
