//! The same for C. Each tile is `order * order` numbers; the one that is written is no other.

use ndarray::{ArrayView2, ArrayViewMut2};

/// # Safety
/// A tile is there, which nobody writes meanwhile.
unsafe fn tile<'a>(order: usize, values: *const f64) -> ArrayView2<'a, f64> {
    // SAFETY: the caller's promise.
    unsafe { ArrayView2::from_shape_ptr((order, order), values) }
}

/// # Safety
/// A tile is there, which nobody else uses meanwhile.
unsafe fn tile_mut<'a>(order: usize, values: *mut f64) -> ArrayViewMut2<'a, f64> {
    // SAFETY: the caller's promise.
    unsafe { ArrayViewMut2::from_shape_ptr((order, order), values) }
}

/// [`super::factor`].
///
/// # Safety
/// `a` is a tile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hikyaku_tile_factor(order: usize, a: *mut f64) {
    // SAFETY: the caller's promise.
    super::factor(unsafe { tile_mut(order, a) });
}

/// [`super::solve`].
///
/// # Safety
/// Both are tiles, and not the same.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hikyaku_tile_solve(order: usize, l: *const f64, x: *mut f64) {
    // SAFETY: the caller's promise.
    unsafe { super::solve(tile(order, l), tile_mut(order, x)) };
}

/// [`super::subtract`].
///
/// # Safety
/// All are tiles, and `from` is neither of the others.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hikyaku_tile_subtract(order: usize, left: *const f64, right: *const f64, from: *mut f64) {
    // SAFETY: the caller's promise.
    unsafe { super::subtract(tile(order, left), tile(order, right), tile_mut(order, from)) };
}
