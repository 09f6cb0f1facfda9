//! Who gets a multicast, and where.

use super::area::RemoteArea;
use super::port::Port;
use super::symmetric::Symmetric;
use crate::error::{Error, Result};
use crate::ni::reach::place::Place;
use crate::ni::state::party::Party;
use bytemuck::Pod;
use std::collections::BTreeMap;

/// Ranks that get the same by a multicast. Made once by [`Port::recipients`], and used any number of times.
#[derive(Clone, Debug)]
pub struct Recipients {
    pub(super) job: u64,
    pub(super) ranks: Vec<usize>,
    pub(super) near: Vec<usize>,
    pub(super) far: Vec<Party>,
}

impl Recipients {
    /// The ranks, in the order of their numbers.
    pub fn ranks(&self) -> &[usize] {
        &self.ranks
    }
}

/// What several ranks have: symmetric memory, or areas of the same number ([`RemoteAreas`]).
pub trait Common<T>: sealed::Sealed {
    /// Element `index` of what a rank has.
    #[doc(hidden)]
    fn part_of(&self, rank: usize, index: usize) -> Result<Place<'_, T>>;
}

impl<T: Pod> Common<T> for Symmetric<T> {
    fn part_of(&self, rank: usize, index: usize) -> Result<Place<'_, T>> {
        Ok(self.at(rank, index))
    }
}

/// The areas that several ranks have registered under one number, wherever each has its own. [`Port::open_areas`] opens them.
#[derive(Debug)]
pub struct RemoteAreas<T> {
    id: u32,
    areas: BTreeMap<usize, RemoteArea<T>>,
}

impl<T> RemoteAreas<T> {
    /// That of a rank, if it was opened.
    pub fn of(&self, rank: usize) -> Option<&RemoteArea<T>> {
        self.areas.get(&rank)
    }
}

impl<T> Common<T> for RemoteAreas<T> {
    fn part_of(&self, rank: usize, index: usize) -> Result<Place<'_, T>> {
        let not_opened = || Error::Invalid(format!("area {} of rank {rank} was not opened with the others", self.id));
        Ok(self.of(rank).ok_or_else(not_opened)?.at(index))
    }
}

impl Port {
    /// Opens area `id` of each of these ranks, as [`Port::open_area`] does. Each has made its own, of any memory, at any address, and of any
    /// length.
    ///
    /// ```
    /// hikyaku::local(3, |job| {
    ///     let area = job.register(4, vec![0u64; 10 + job.rank()])?; // a vector of the program
    ///     job.barrier()?;
    ///     if job.rank() == 0 {
    ///         let others = job.recipients(&[1, 2])?;
    ///         let areas = job.open_areas(&others, 4)?;
    ///         job.multicast(&others, &areas, 8, &[7u64, 8])?;
    ///         job.sync()?;
    ///     }
    ///     job.barrier()?;
    ///     let vector = area.into_vec();
    ///     assert_eq!(vector[9], if job.rank() == 0 { 0 } else { 8 });
    ///     job.barrier()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// When one of them has no such area.
    pub fn open_areas<T: Pod>(&self, ranks: &Recipients, id: u32) -> Result<RemoteAreas<T>> {
        if ranks.job != self.initiator.ni.ground {
            return Err(Error::ForeignArea);
        }
        let opened = ranks.ranks.iter().map(|rank| Ok((*rank, self.open_area(*rank, id)?)));
        Ok(RemoteAreas { id, areas: opened.collect::<Result<_>>()? })
    }

    /// Ranks for a multicast, in any order; this rank may be one of them.
    ///
    /// ```
    /// # hikyaku::local(4, |job| {
    /// let odd = job.recipients(&[3, 1])?;
    /// assert_eq!(odd.ranks(), [1, 3]);
    /// assert!(job.recipients(&[1, 1]).is_err()); // twice
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    pub fn recipients(&self, ranks: &[usize]) -> Result<Recipients> {
        let ni = &self.initiator.ni;
        let mut ranks = ranks.to_vec();
        ranks.sort_unstable();
        if let Some(twice) = ranks.windows(2).find(|two| two[0] == two[1]) {
            return Err(Error::Invalid(format!("rank {} is named twice", twice[0])));
        }
        ranks.iter().try_for_each(|rank| ni.check_rank(*rank))?;
        let near = ranks.iter().copied().filter(|rank| ni.is_near(*rank)).collect();
        let far = Party::all(&ni.routes, |rank| ranks.binary_search(&rank).is_ok());
        Ok(Recipients { job: ni.ground, ranks, near, far })
    }
}

mod sealed {
    pub trait Sealed {}
    impl<T> Sealed for super::Symmetric<T> {}
    impl<T> Sealed for super::RemoteAreas<T> {}
}
