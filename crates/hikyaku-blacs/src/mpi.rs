//! The MPI library of the process, if one is loaded and was initialised: it is asked which processes a communicator means, and makes
//! communicators of grids. Nothing of it is linked; a program that uses the BLACS alone needs no MPI.
//!
//! Communicators and groups are pointers in Open MPI and integers in MPICH; both travel as words here.

use crate::error::{Outcome, Trouble};
use crate::object;
use std::ffi::{CStr, c_int, c_void};

/// What is needed of an MPI library.
#[derive(Debug)]
pub struct Mpi {
    initialized: unsafe extern "C" fn(*mut c_int) -> c_int,
    finalized: unsafe extern "C" fn(*mut c_int) -> c_int,
    finalize: unsafe extern "C" fn() -> c_int,
    comm_group: unsafe extern "C" fn(usize, *mut usize) -> c_int,
    group_size: unsafe extern "C" fn(usize, *mut c_int) -> c_int,
    group_rank: unsafe extern "C" fn(usize, *mut c_int) -> c_int,
    group_free: unsafe extern "C" fn(*mut usize) -> c_int,
    group_translate_ranks: unsafe extern "C" fn(usize, c_int, *const c_int, usize, *mut c_int) -> c_int,
    group_incl: unsafe extern "C" fn(usize, c_int, *const c_int, *mut usize) -> c_int,
    comm_create_group: unsafe extern "C" fn(usize, usize, c_int, *mut usize) -> c_int,
    comm_free: unsafe extern "C" fn(*mut usize) -> c_int,
    /// Open MPI has functions for them; in MPICH both are the same.
    comm_f2c: Option<unsafe extern "C" fn(c_int) -> usize>,
    comm_c2f: Option<unsafe extern "C" fn(usize) -> c_int>,
    world: usize,
    null: usize,
}

/// Every library has it.
const SIGN: &CStr = c"MPI_Initialized";

/// What tells the making of communicators of grids from that of others.
const TAG: c_int = 9977;

/// `MPI_COMM_WORLD` and `MPI_COMM_NULL` of MPICH, whose ABI fixes them.
const MPICH_WORLD: usize = 0x4400_0000;
const MPICH_NULL: usize = 0x0400_0000;

/// The library, if there is one that can be asked.
#[allow(clippy::missing_transmute_annotations)]
pub fn find() -> Option<Mpi> {
    let symbol = lookup()?;
    let (open_world, open_null) = (symbol(c"ompi_mpi_comm_world"), symbol(c"ompi_mpi_comm_null"));
    let (world, null) = match (open_world, open_null) {
        (Some(world), Some(null)) => (world as usize, null as usize),
        _ => (MPICH_WORLD, MPICH_NULL),
    };
    macro_rules! function {
        ($name:literal) => {
            // SAFETY: a function of that name in an MPI library has the type the standard gives it, with handles as words.
            unsafe { std::mem::transmute::<*mut c_void, _>(symbol($name)?) }
        };
    }
    let mpi = Mpi {
        initialized: function!(c"MPI_Initialized"),
        finalized: function!(c"MPI_Finalized"),
        finalize: function!(c"MPI_Finalize"),
        comm_group: function!(c"MPI_Comm_group"),
        group_size: function!(c"MPI_Group_size"),
        group_rank: function!(c"MPI_Group_rank"),
        group_free: function!(c"MPI_Group_free"),
        group_translate_ranks: function!(c"MPI_Group_translate_ranks"),
        group_incl: function!(c"MPI_Group_incl"),
        comm_create_group: function!(c"MPI_Comm_create_group"),
        comm_free: function!(c"MPI_Comm_free"),
        comm_f2c: match open_world {
            Some(_) => Some(function!(c"MPI_Comm_f2c")),
            None => None,
        },
        comm_c2f: match open_world {
            Some(_) => Some(function!(c"MPI_Comm_c2f")),
            None => None,
        },
        world,
        null,
    };
    let is = |ask: unsafe extern "C" fn(*mut c_int) -> c_int| {
        let mut flag = 0;
        // SAFETY: these two may be called at any time.
        (unsafe { ask(&mut flag) }) == 0 && flag != 0
    };
    (is(mpi.initialized) && !is(mpi.finalized)).then_some(mpi)
}

/// Whether the process has ever initialised an MPI library.
#[allow(clippy::missing_transmute_annotations)]
pub fn was_initialized() -> bool {
    let Some(ask) = lookup().and_then(|symbol| symbol(SIGN)) else { return false };
    // SAFETY: a function of that name has this type, as the standard says.
    let ask: unsafe extern "C" fn(*mut c_int) -> c_int = unsafe { std::mem::transmute(ask) };
    let mut flag = 0;
    // SAFETY: it may be called at any time.
    (unsafe { ask(&mut flag) }) == 0 && flag != 0
}

/// How names of the library are looked up. A program in Python, say, opens it without showing its names to other libraries.
fn lookup() -> Option<impl Fn(&CStr) -> Option<*mut c_void>> {
    let shown = |name: &CStr| {
        // SAFETY: looks a name up.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
        (!found.is_null()).then_some(found)
    };
    let mut library = None;
    if shown(SIGN).is_none() {
        object::each(&mut |object| library = library.or(object.address(SIGN).map(|_| object)));
        library?;
    }
    Some(move |name: &CStr| match library {
        Some(library) => library.address(name).map(|address| address as *mut c_void),
        None => shown(name),
    })
}

impl Mpi {
    /// A communicator, as Fortran knows it.
    pub fn communicator_of(&self, communicator: c_int) -> usize {
        match self.comm_f2c {
            // SAFETY: the function of the library.
            Some(translate) => unsafe { translate(communicator) },
            None => communicator as u32 as usize,
        }
    }

    /// A communicator, as C knows it, by the number that Fortran has for it.
    pub fn number_of(&self, communicator: usize) -> c_int {
        match self.comm_c2f {
            // SAFETY: the function of the library.
            Some(translate) => unsafe { translate(communicator) },
            None => communicator as c_int,
        }
    }

    /// A new communicator of some processes, in this order; all of them call it, and nobody else.
    pub fn communicator(&self, ranks: &[usize]) -> Outcome<usize> {
        let ranks: Vec<c_int> = ranks.iter().map(|rank| *rank as c_int).collect();
        let (mut world, mut group, mut made) = (0, 0, 0);
        // SAFETY: functions of the library with arguments as the standard says.
        let is_made = unsafe {
            let begun = (self.comm_group)(self.world, &mut world) == 0
                && (self.group_incl)(world, ranks.len() as c_int, ranks.as_ptr(), &mut group) == 0;
            let is_made = begun && (self.comm_create_group)(self.world, group, TAG, &mut made) == 0;
            (self.group_free)(&mut world);
            if begun {
                (self.group_free)(&mut group);
            }
            is_made
        };
        if is_made { Ok(made) } else { Err(Trouble::Communicator("MPI makes no communicator of the grid")) }
    }

    /// Gives back a communicator that was made here.
    pub fn free(&self, mut communicator: usize) {
        // SAFETY: the function of the library; nobody uses it any more.
        unsafe { (self.comm_free)(&mut communicator) };
    }

    /// This process's rank among all that MPI has started, and their number.
    pub fn place(&self) -> Option<(usize, usize)> {
        let (mut world, mut rank, mut size) = (0, -1, -1);
        // SAFETY: functions of the library with arguments as the standard says.
        unsafe {
            if (self.comm_group)(self.world, &mut world) != 0 {
                return None;
            }
            // What fails leaves its -1.
            (self.group_rank)(world, &mut rank);
            (self.group_size)(world, &mut size);
            (self.group_free)(&mut world);
        }
        Some((rank.try_into().ok()?, size.try_into().ok()?))
    }

    /// The ranks in the world of the processes of a communicator.
    pub fn ranks(&self, communicator: usize) -> Outcome<Vec<usize>> {
        let failed = || Trouble::Communicator("MPI does not know the communicator");
        if communicator == self.null {
            return Err(Trouble::Communicator("it would be based on MPI_COMM_NULL"));
        }
        let (mut group, mut world, mut size) = (0, 0, 0);
        // SAFETY: functions of the library with arguments as the standard says.
        unsafe {
            let made = (self.comm_group)(communicator, &mut group) == 0
                && (self.comm_group)(self.world, &mut world) == 0
                && (self.group_size)(group, &mut size) == 0;
            if !made {
                return Err(failed());
            }
            let own: Vec<c_int> = (0..size).collect();
            let mut ranks = vec![-1; own.len()];
            let translated = (self.group_translate_ranks)(group, size, own.as_ptr(), world, ranks.as_mut_ptr()) == 0;
            (self.group_free)(&mut group);
            (self.group_free)(&mut world);
            let ranks = ranks.into_iter().map(usize::try_from).collect::<Result<Vec<_>, _>>();
            ranks.ok().filter(|_| translated).ok_or_else(failed)
        }
    }

    /// Ends MPI in this process.
    pub fn finalize(&self) {
        // SAFETY: it was initialised and not finalised when it was found.
        unsafe { (self.finalize)() };
    }

    /// The communicator of all processes.
    pub fn world(&self) -> usize {
        self.world
    }
}
