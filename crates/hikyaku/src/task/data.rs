//! A datum that tasks name.

use super::access::{Access, Part};
use super::cell::make_ready;
use super::queue::{Node, Queue};
use std::cell::UnsafeCell;
use std::fmt::{Debug, Formatter};
use std::sync::Arc;

/// A value that tasks read and write, in the order in which they were submitted. It is a handle: clones mean the same value.
///
/// A task names what it uses by [`Data::read`] and [`Data::write`], and gets `&T` and `&mut T`. Tasks that only read run side by side.
///
/// ```
/// use hikyaku::task::Data;
///
/// hikyaku::local(1, |job| {
///     let (a, b) = (Data::new(1), Data::new(0));
///     job.tasks(2, |tasks| {
///         tasks.task(a.write(), |_, a| Ok(*a += 1))?;
///         tasks.task((a.read(), b.write()), |_, (a, b)| Ok(*b = 10 * *a))?; // sees what the first has written
///         tasks.task(a.write(), |_, a| Ok(*a = 0)) // and this one comes after both
///     })?;
///     assert_eq!((a.into_inner().unwrap(), b.into_inner().unwrap()), (0, 20));
///     hikyaku::Result::Ok(())
/// })
/// .unwrap();
/// ```
pub struct Data<T>(Arc<Shared<T>>);

struct Shared<T> {
    queue: Queue,
    value: UnsafeCell<T>,
}

// SAFETY: the queue admits one writer or several readers at a time, which may be on other threads: hence both bounds.
unsafe impl<T: Send + Sync> Sync for Shared<T> {}
// SAFETY: likewise.
unsafe impl<T: Send + Sync> Send for Shared<T> {}

impl<T> Clone for Data<T> {
    fn clone(&self) -> Data<T> {
        Data(self.0.clone())
    }
}

impl<T> Debug for Data<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Data").finish_non_exhaustive()
    }
}

/// A datum that a task reads: see [`Data::read`].
pub struct Read<T> {
    node: Node,
    data: Arc<Shared<T>>,
}

/// A datum that a task writes: see [`Data::write`].
pub struct Write<T> {
    node: Node,
    data: Arc<Shared<T>>,
}

impl<T: Send + Sync + 'static> Data<T> {
    /// A datum with this value, which any scope may use.
    pub fn new(value: T) -> Data<T> {
        Data(Arc::new(Shared { queue: Queue::new(), value: UnsafeCell::new(value) }))
    }

    /// For a task that reads it: after all tasks before that write it.
    #[inline]
    pub fn read(&self) -> Read<T> {
        Read { node: Node::new(&self.0.queue, false), data: self.0.clone() }
    }

    /// For a task that writes it: after all tasks before that name it.
    #[inline]
    pub fn write(&self) -> Write<T> {
        Write { node: Node::new(&self.0.queue, true), data: self.0.clone() }
    }

    /// Looks at the value outside of tasks; `None` if a task is going to write it, or does.
    ///
    /// ```
    /// # use hikyaku::task::Data;
    /// let datum = Data::new(5);
    /// assert_eq!(datum.look(|value| *value + 1), Some(6));
    /// ```
    pub fn look<R>(&self, look: impl FnOnce(&T) -> R) -> Option<R> {
        struct Leaves<'q>(&'q Queue);
        impl Drop for Leaves<'_> {
            fn drop(&mut self) {
                // SAFETY: a place was taken below; who is granted by this may be of any scope.
                self.0.leave(false, |task| unsafe { make_ready(task) });
            }
        }
        let queue = &self.0.queue;
        queue.try_read().then(|| {
            let _leaves = Leaves(queue);
            // SAFETY: nobody writes until the place is given back.
            look(unsafe { &*self.0.value.get() })
        })
    }

    /// The value, if this is the only handle and no task names it; otherwise the handle again.
    pub fn into_inner(self) -> Result<T, Data<T>> {
        Arc::try_unwrap(self.0).map(|shared| shared.value.into_inner()).map_err(Data)
    }

    /// The value, if this is the only handle and no task names it.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        Arc::get_mut(&mut self.0).map(|shared| shared.value.get_mut())
    }
}

// SAFETY: it tells of its one node, and gives what the queue of that node guards.
unsafe impl<T: Send + Sync + 'static> Access for Read<T> {
    type Given<'t> = &'t T;

    #[inline]
    fn each<'a>(&'a self, part: &mut impl FnMut(Part<'a>)) {
        part(Part::Datum(&self.node));
    }

    #[inline]
    unsafe fn give<'t>(&self) -> &'t T {
        // SAFETY: the caller's promise: the queue has granted it.
        unsafe { &*self.data.value.get() }
    }
}

// SAFETY: it tells of its one node, and gives what the queue of that node guards.
unsafe impl<T: Send + Sync + 'static> Access for Write<T> {
    type Given<'t> = &'t mut T;

    #[inline]
    fn each<'a>(&'a self, part: &mut impl FnMut(Part<'a>)) {
        part(Part::Datum(&self.node));
    }

    #[inline]
    #[allow(clippy::mut_from_ref, reason = "the queue grants it to one at a time")]
    unsafe fn give<'t>(&self) -> &'t mut T {
        // SAFETY: the caller's promise: the queue has granted it, and this is called once.
        unsafe { &mut *self.data.value.get() }
    }
}
