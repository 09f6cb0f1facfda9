//! All that one task names.

use super::flag::Flag;
use super::queue::Node;

/// What a task can name: [`Data::read`](super::Data::read), [`Data::write`](super::Data::write), [`when`](super::when), and tuples, arrays
/// and vectors of these. No two of them may be of the same datum.
///
/// ```
/// # hikyaku::local(1, |job| {
/// use hikyaku::task::Data;
/// let parts: Vec<_> = (1..=4).map(Data::new).collect();
/// let sum = Data::new(0);
/// job.tasks(1, |tasks| {
///     let all: Vec<_> = parts.iter().map(Data::read).collect();
///     tasks.task((all, sum.write()), |_, (parts, sum)| Ok(*sum = parts.into_iter().sum()))
/// })?;
/// assert_eq!(sum.look(|sum| *sum), Some(10));
/// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
/// ```
///
/// # Safety
/// The library alone implements it: what is told by `each` is always the same, and `give` gives nothing else.
pub unsafe trait Access: Send {
    /// What the task's function gets: `&T`, `&mut T`, the value of a word, and tuples and vectors of these.
    type Given<'t>;

    /// Tells of every datum and every flag.
    #[doc(hidden)]
    fn each<'a>(&'a self, part: &mut impl FnMut(Part<'a>));

    /// # Safety
    /// Everything named was granted, and neither given back nor freed before `'t` ends. It is called once.
    #[doc(hidden)]
    unsafe fn give<'t>(&self) -> Self::Given<'t>;
}

/// One thing that a task names.
#[doc(hidden)]
pub enum Part<'a> {
    Datum(&'a Node),
    Flag(&'a Flag<'a>),
}

// SAFETY: as its elements do.
unsafe impl<A: Access> Access for Vec<A> {
    type Given<'t> = Vec<A::Given<'t>>;

    fn each<'a>(&'a self, part: &mut impl FnMut(Part<'a>)) {
        self.iter().for_each(|one| one.each(part));
    }

    unsafe fn give<'t>(&self) -> Self::Given<'t> {
        // SAFETY: the caller's promise.
        self.iter().map(|one| unsafe { one.give() }).collect()
    }
}

// SAFETY: as its elements do.
unsafe impl<A: Access, const N: usize> Access for [A; N] {
    type Given<'t> = [A::Given<'t>; N];

    fn each<'a>(&'a self, part: &mut impl FnMut(Part<'a>)) {
        self.iter().for_each(|one| one.each(part));
    }

    unsafe fn give<'t>(&self) -> Self::Given<'t> {
        // SAFETY: the caller's promise.
        std::array::from_fn(|index| unsafe { self[index].give() })
    }
}

macro_rules! tuples {
    ($($name:ident)*) => {
        // SAFETY: as its elements do.
        unsafe impl<$($name: Access),*> Access for ($($name,)*) {
            type Given<'t> = ($($name::Given<'t>,)*);

            #[inline]
            #[allow(non_snake_case, unused_variables)]
            fn each<'a>(&'a self, part: &mut impl FnMut(Part<'a>)) {
                let ($($name,)*) = self;
                $($name.each(part);)*
            }

            #[inline]
            #[allow(non_snake_case, clippy::unused_unit)]
            unsafe fn give<'t>(&self) -> Self::Given<'t> {
                let ($($name,)*) = self;
                // SAFETY: the caller's promise.
                #[allow(unused_unsafe)]
                unsafe { ($($name.give(),)*) }
            }
        }
    };
}

tuples!();
tuples!(A);
tuples!(A B);
tuples!(A B C);
tuples!(A B C D);
tuples!(A B C D E);
tuples!(A B C D E F);
tuples!(A B C D E F G);
tuples!(A B C D E F G H);
