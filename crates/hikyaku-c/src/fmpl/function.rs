//! What reductions combine by: the library's functions, which are data of the shared library, and the program's.

use super::entry::with_fmpl;
use super::error::{Outcome, Trouble};
use super::job::Fmpl;
use crate::error::Failure;
use crate::function::{Combine, Function};
use crate::given::{self, InOut, Out, exported, exported_constants};
use core_hikyaku::collective::{
    AbsMax, AbsMin, And, BitAnd, BitOr, BitXor, Complex32, Complex64, Max, Min, Or, Product, Sum, Xor,
};
use std::ffi::c_int;

/// `fmpl_func`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Handle {
    pub id: c_int,
}

/// Names none.
const NO_FUNC: Handle = Handle { id: 0 };
/// Functions of the program have numbers from here on.
const FIRST_OWN: c_int = 1 << 30;

macro_rules! functions {
    ($($id:literal $name:ident $type:ty, $operation:ident;)*) => {
        exported_constants! { $($name: Handle = Handle { id: $id };)* }

        fn known(id: c_int) -> Option<Function> {
            Some(match id {
                $($id => Function::known::<$type, $operation>(),)*
                _ => return None,
            })
        }
    };
}

// The numbers are those of `fmplf.h`; a test compares them.
functions! {
    1 fmpl_isum i32, Sum;
    2 fmpl_ssum f32, Sum;
    3 fmpl_dsum f64, Sum;
    4 fmpl_csum Complex32, Sum;
    5 fmpl_zsum Complex64, Sum;
    6 fmpl_lsum i64, Sum;
    11 fmpl_imax i32, AbsMax;
    12 fmpl_smax f32, AbsMax;
    13 fmpl_dmax f64, AbsMax;
    14 fmpl_cmax Complex32, AbsMax;
    15 fmpl_zmax Complex64, AbsMax;
    16 fmpl_lmax i64, AbsMax;
    21 fmpl_imin i32, AbsMin;
    22 fmpl_smin f32, AbsMin;
    23 fmpl_dmin f64, AbsMin;
    24 fmpl_cmin Complex32, AbsMin;
    25 fmpl_zmin Complex64, AbsMin;
    26 fmpl_lmin i64, AbsMin;
    31 fmpl_ipmax i32, Max;
    32 fmpl_spmax f32, Max;
    33 fmpl_dpmax f64, Max;
    36 fmpl_lpmax i64, Max;
    41 fmpl_ipmin i32, Min;
    42 fmpl_spmin f32, Min;
    43 fmpl_dpmin f64, Min;
    46 fmpl_lpmin i64, Min;
    51 fmpl_iprod i32, Product;
    52 fmpl_sprod f32, Product;
    53 fmpl_dprod f64, Product;
    54 fmpl_cprod Complex32, Product;
    55 fmpl_zprod Complex64, Product;
    56 fmpl_lprod i64, Product;
    61 fmpl_iland i32, And;
    66 fmpl_lland i64, And;
    71 fmpl_ilor i32, Or;
    76 fmpl_llor i64, Or;
    81 fmpl_ilxor i32, Xor;
    86 fmpl_llxor i64, Xor;
    91 fmpl_iband i32, BitAnd;
    96 fmpl_lband i64, BitAnd;
    101 fmpl_ibor i32, BitOr;
    106 fmpl_lbor i64, BitOr;
    111 fmpl_ibxor i32, BitXor;
    116 fmpl_lbxor i64, BitXor;
}

impl Fmpl {
    /// The function of a handle.
    pub fn function(&self, func: Handle) -> Outcome<Function> {
        let found = match func.id < FIRST_OWN {
            true => known(func.id),
            false => self.functions.borrow().get(func.id - FIRST_OWN).copied(),
        };
        found.ok_or(Trouble::Func(func.id))
    }

    /// Enters a function of the program.
    pub fn add_function(&self, combine: Combine, element: usize) -> Outcome<Handle> {
        if element == 0 {
            return Err(Failure::Size(0).into());
        }
        let added = self.functions.borrow_mut().add(Function::new(element, combine));
        added.map(|number| Handle { id: FIRST_OWN + number }).ok_or(Trouble::Full("functions"))
    }
}

exported! {
    /// Enters a function of the program.
    pub fn fmpl_func_create(
        combine: Option<given::Combine>,
        elem_size: usize,
        func: Out<'_, Handle>,
    ) -> c_int {
        with_fmpl(|fmpl| {
            func.required("the function handle to be given")?;
            let combine = combine.ok_or(Failure::Null("the function"))?;
            let handle = fmpl.add_function(Combine::C(combine), elem_size)?;
            func.give(handle);
            Ok(())
        })
    }

    /// Forgets a function of the program.
    pub fn fmpl_func_free(func: InOut<'_, Handle>) -> c_int {
        with_fmpl(|fmpl| {
            let id = func.read("the function handle")?.id;
            let own = if id >= FIRST_OWN { fmpl.functions.borrow_mut().remove(id - FIRST_OWN) } else { None };
            own.ok_or(Trouble::Func(id))?;
            func.give(NO_FUNC);
            Ok(())
        })
    }
}
