//! Pushes whose description never changes: set up once, started many times by the cheapest possible kick (F16).

use super::port::Port;
use crate::error::{Error, Result};
use crate::memory::span::Span;
use crate::ni::reach::place::Place;
use bytemuck::Pod;
use std::sync::atomic::{AtomicU64, Ordering};

/// A push that can be started again and again; see [`Port::prepare_push`].
pub struct PreparedPush<'a, T: Pod> {
    port: &'a Port,
    data: Box<[T]>,
    to: Place<'a, T>,
    flag: Option<Place<'a, u64>>,
    /// Where both are, if they are mapped.
    mapped: Option<(Span<'a>, Option<&'a AtomicU64>)>,
    starts: u64,
}

impl<T: Pod> std::fmt::Debug for PreparedPush<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PreparedPush").field("to", &self.to).field("starts", &self.starts).finish_non_exhaustive()
    }
}

impl Port {
    /// Prepares pushes of `data`, which may change between them, to a place; with a flag on the same rank, each of them is
    /// followed by a word that counts them: 1, 2, and so on.
    ///
    /// ```
    /// use hikyaku::Until;
    ///
    /// hikyaku::local(2, |job| {
    ///     let (cells, flag) = (job.symmetric::<f64>(100)?, job.symmetric::<u64>(1)?);
    ///     if job.rank() == 0 {
    ///         let mut push = job.prepare_push(cells.at(1, 0), vec![0.0; 100], Some(flag.at(1, 0)))?;
    ///         for step in 1..=10 {
    ///             push.data_mut().fill(step as f64);
    ///             push.start()?;
    ///         }
    ///     } else {
    ///         job.wait(flag.here(0), Until::AtLeast(10))?;
    ///         assert_eq!(cells.get(99), 10.0);
    ///     }
    ///     job.barrier()
    /// })
    /// .unwrap();
    /// ```
    pub fn prepare_push<'a, T: Pod>(
        &'a self,
        to: Place<'a, T>,
        data: impl Into<Box<[T]>>,
        flag: Option<Place<'a, u64>>,
    ) -> Result<PreparedPush<'a, T>> {
        let data = data.into();
        if let Some(flag) = flag.filter(|flag| flag.rank != to.rank) {
            return Err(Error::NotAtTarget { rank: flag.rank, target: to.rank });
        }
        // What is checked here stays true: the places borrow their areas.
        self.initiator.ni.resolve(to, data.len())?;
        flag.map(|flag| self.initiator.ni.resolve(flag, 1)).transpose()?;
        let word = flag.map(|flag| self.initiator.word_to(&flag));
        let mapped = match (self.initiator.span_to(&to, data.len()), word) {
            (Some(target), None) => Some((target, None)),
            (Some(target), Some(Some(word))) => Some((target, Some(word))),
            _ => None,
        };
        Ok(PreparedPush { port: self, data, to, flag, mapped, starts: 0 })
    }
}

impl<T: Pod> PreparedPush<'_, T> {
    /// Pushes once more. The data may be changed when the call returns.
    #[inline]
    pub fn start(&mut self) -> Result<()> {
        let (port, rank) = (self.port, self.to.rank);
        self.starts += 1;
        let Some((target, word)) = self.mapped.filter(|_| !port.initiator.has_routed()) else {
            return self.start_routed();
        };
        port.initiator.tick();
        // In a forked child there is no such rank.
        port.initiator.ni.check_rank(rank)?;
        target.send_in(bytemuck::cast_slice(&self.data));
        if let Some(word) = word {
            word.store(self.starts, Ordering::Release);
            port.initiator.ni.notify(rank, port.initiator.ni.watch_of(word.as_ptr().cast()));
        }
        Ok(())
    }

    #[cold]
    fn start_routed(&mut self) -> Result<()> {
        match self.flag {
            Some(flag) => self.port.push_notify(self.to, &self.data, flag, self.starts),
            None => self.port.push(self.to, &self.data),
        }
    }

    /// How many times it was started.
    pub fn starts(&self) -> u64 {
        self.starts
    }

    /// What is pushed.
    pub fn data(&self) -> &[T] {
        &self.data
    }

    /// What is pushed, to change it.
    pub fn data_mut(&mut self) -> &mut [T] {
        &mut self.data
    }
}
