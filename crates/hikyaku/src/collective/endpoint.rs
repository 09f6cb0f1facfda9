//! Messages and groups of several threads of a rank: each thread has a port, slots and groups of its own, so none waits for another.

use super::formation::{Formation, FormationChannel};
use super::group::Group;
use crate::error::Result;
use crate::job::Job;
use crate::message::Messages;
use crate::ni::{Port, background};
use crate::planted::{Bug, planted};
use std::cell::OnceCell;
use std::marker::PhantomData;

/// Slots by which a worker forms its groups.
const FORMING_SLOTS: usize = 1;

/// What a thread of a rank needs for messages and groups of its own. [`Job::endpoints`] makes them; one can be sent to the thread that
/// is to use it, but not outlive the job:
///
/// ```compile_fail,E0521
/// # hikyaku::local(1, |job| {
/// for endpoint in job.endpoints(1, 1)? {
///     std::thread::spawn(move || endpoint.run(|worker| worker.rank())); // not a scoped thread
/// }
/// # hikyaku::Result::Ok(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct Endpoint<'j> {
    pub(super) port: Port,
    pub(super) areas: Areas,
    /// The job stays until the thread is done.
    job: PhantomData<&'j ()>,
}

/// The memory of an endpoint.
#[derive(Clone, Copy, Debug)]
pub(super) struct Areas {
    slots: usize,
    /// Where the slots for messages begin in everybody's heap, and those for forming groups.
    messages: usize,
    channel: usize,
}

/// One thread of a rank at work: messages, groups and remote operations that no other thread uses.
///
/// Ranks mean the workers of the endpoint with the same number: worker 2 of rank 0 sends to worker 2 of rank 1. It is a [`Port`] too.
#[derive(Debug)]
pub struct Worker<'e> {
    world: OnceCell<Formation<'e>>,
    channel: FormationChannel<'e>,
    messages: Messages<'e>,
    port: &'e Port,
}

impl Job {
    /// Prepares `count` threads of every rank for messages and groups of their own, with `slots` slots between every two ranks each. All
    /// ranks call it together, with the same numbers.
    ///
    /// Thread `i` of a rank talks with threads `i` of the other ranks. No lock is shared: threads do not wait for each other. A simulated
    /// rank has one thread, on which its endpoints run one after the other. They keep their memory until the job ends, also when their
    /// threads have ended: make them once.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// use hikyaku::collective::Sum;
    /// let endpoints = job.endpoints(3, 1)?; // three threads, one slot between every two ranks each
    /// std::thread::scope(|threads| {
    ///     for (number, endpoint) in endpoints.into_iter().enumerate() {
    ///         threads.spawn(move || {
    ///             endpoint.run(|worker| {
    ///                 let (mut got, peer) = ([0], 1 - worker.rank());
    ///                 worker.messages().sendrecv(&[number], peer, 0, &mut got, peer, 0)?;
    ///                 assert_eq!(got, [number]); // from the same thread of the other rank
    ///                 let mut sum = [number as u64];
    ///                 worker.world()?.allreduce(&mut sum, Sum)?;
    ///                 assert_eq!(sum, [2 * number as u64]);
    ///                 hikyaku::Result::Ok(())
    ///             })
    ///             .unwrap()
    ///         });
    ///     }
    /// });
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    ///
    /// # Errors
    /// If there are not enough ports (`HIKYAKU_PORTS`) or not enough memory on some rank: then on all.
    pub fn endpoints(&self, count: usize, slots: usize) -> Result<Vec<Endpoint<'_>>> {
        (0..count).map(|_| self.endpoint(slots)).collect()
    }

    fn endpoint(&self, slots: usize) -> Result<Endpoint<'_>> {
        // A rank that has no port left takes part all the same: the others must not wait for it.
        let port = self.open();
        let messages = match &port {
            Ok(_) => self.messages_area(slots, |bytes| self.symmetric_for_endpoint(Some(bytes))),
            Err(_) => self.symmetric_for_endpoint(None).map(|area| area.start),
        };
        let (port, messages) = (port?, messages?);
        let channel = self.messages_area(FORMING_SLOTS, |bytes| self.symmetric_for_channel(bytes))?;
        let messages = if planted(Bug::EndpointsShared) { channel } else { messages };
        Ok(Endpoint { port, areas: Areas { slots, messages, channel }, job: PhantomData })
    }
}

impl Endpoint<'_> {
    /// Does `work` on the calling thread, which can use messages and groups meanwhile.
    ///
    /// When it returns, messages that the worker still has to deliver are waited for, as when [`Messages`] are dropped. See
    /// [`Job::endpoints`] for an example.
    pub fn run<R>(self, work: impl FnOnce(&Worker<'_>) -> R) -> R {
        // Last of all, also after a panic: this thread has nothing under way any more.
        let _vacates = Vacates(&self.port);
        work(&Worker::new(&self.port, self.areas))
    }
}

/// When this is dropped, its thread is done with the rank.
struct Vacates<'p>(&'p Port);

impl Drop for Vacates<'_> {
    fn drop(&mut self) {
        background::vacate(&self.0.ni().workplaces);
    }
}

impl<'e> Worker<'e> {
    pub(super) fn new(port: &'e Port, areas: Areas) -> Worker<'e> {
        Worker {
            world: OnceCell::new(),
            channel: FormationChannel::over(Messages::of_all(port, FORMING_SLOTS, areas.channel)),
            messages: Messages::of_all(port, areas.slots, areas.messages),
            port,
        }
    }

    /// Slots between this worker and those of the other ranks.
    pub fn messages(&self) -> &Messages<'e> {
        &self.messages
    }

    /// The group of this worker and those of all other ranks. The first call makes it: all of them make that together.
    pub fn world(&self) -> Result<&Group<'e>> {
        if let Some(world) = self.world.get() {
            return Ok(world.all());
        }
        let members: Vec<usize> = (0..self.port.size()).collect();
        let world = Formation::new(&self.channel, 0, &members, &[], 1)?;
        Ok(self.world.get_or_init(|| world).all())
    }
}

impl std::ops::Deref for Worker<'_> {
    type Target = Port;
    fn deref(&self) -> &Port {
        self.port
    }
}
