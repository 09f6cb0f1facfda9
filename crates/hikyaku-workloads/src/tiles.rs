//! What the Cholesky factorisation of a matrix by tiles does with a tile. Tiles are square, and lie in one piece, row by row.
//!
//! The example of it runs on tasks, and a program of MPI and threads beside it: both call this, so that what they differ in is who sends
//! what, and who runs when. A C program calls it by `libhikyaku_workloads.so`; see [`mod@c`].

pub mod c;

use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2, Axis, s};

/// Below this, plain loops.
const SMALL: usize = 16;

/// The lower triangle of a factor, in place of the matrix.
pub fn factor(mut a: ArrayViewMut2<'_, f64>) {
    let order = a.nrows();
    if order > SMALL {
        let half = order / 2;
        let (top, bottom) = a.split_at(Axis(0), half);
        let (mut first, _) = top.split_at(Axis(1), half);
        let (mut below, mut last) = bottom.split_at(Axis(1), half);
        factor(first.view_mut());
        solve(first.view(), below.view_mut());
        subtract(below.view(), below.view(), last.view_mut());
        return factor(last);
    }
    for j in 0..order {
        for i in j..order {
            let sum: f64 = (0..j).map(|k| a[[i, k]] * a[[j, k]]).sum();
            let rest = a[[i, j]] - sum;
            a[[i, j]] = if i == j { rest.sqrt() } else { rest / a[[j, j]] };
        }
    }
}

/// `x` times the inverse of the transpose of a lower triangle.
pub fn solve(l: ArrayView2<'_, f64>, mut x: ArrayViewMut2<'_, f64>) {
    let order = l.nrows();
    if order > SMALL {
        let half = order / 2;
        let (mut first, mut last) = x.split_at(Axis(1), half);
        solve(l.slice(s![..half, ..half]), first.view_mut());
        subtract(first.view(), l.slice(s![half.., ..half]), last.view_mut());
        return solve(l.slice(s![half.., half..]), last);
    }
    for mut row in x.rows_mut() {
        for j in 0..order {
            let sum: f64 = (0..j).map(|k| row[k] * l[[j, k]]).sum();
            row[j] = (row[j] - sum) / l[[j, j]];
        }
    }
}

/// Takes a product off, of a matrix and the transpose of another.
pub fn subtract(left: ArrayView2<'_, f64>, right: ArrayView2<'_, f64>, mut from: ArrayViewMut2<'_, f64>) {
    general_mat_mul(-1.0, &left, &right.t(), 1.0, &mut from);
}

/// An element of the matrix that is factored, of this order: it is symmetric and positive definite.
pub fn element(order: usize, i: usize, j: usize) -> f64 {
    let off = 1.0 / (1 + i.abs_diff(j)) as f64 + ((i * j) % 7) as f64 * 0.01;
    if i == j { order as f64 + off } else { off }
}
