//! Endpoints for languages that cannot lend a worker to a closure: opened by one call, closed by another.

use super::endpoint::{Endpoint, Worker};
use crate::ni::{Port, background};
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::rc::Rc;

/// An endpoint at work, on the thread that has opened it, until it is dropped there.
#[derive(Debug)]
pub struct OpenEndpoint {
    /// Refers to the port, so it goes first.
    worker: ManuallyDrop<Worker<'static>>,
    /// Stays where it is when this moves. Not to be sent: the worker belongs to this thread.
    port: Rc<Port>,
}

impl OpenEndpoint {
    /// Opens an endpoint on the calling thread.
    ///
    /// # Safety
    /// The job ends after this was dropped. What comes from the worker, such as groups and their messages, is dropped before.
    pub unsafe fn new(endpoint: Endpoint<'_>) -> OpenEndpoint {
        let Endpoint { port, areas, .. } = endpoint;
        let port = Rc::new(port);
        // SAFETY: the worker goes before the port, as the caller has promised of what else refers to it.
        let lasting: &'static Port = unsafe { &*Rc::as_ptr(&port) };
        OpenEndpoint { worker: ManuallyDrop::new(Worker::new(lasting, areas)), port }
    }
}

impl Deref for OpenEndpoint {
    type Target = Worker<'static>;
    fn deref(&self) -> &Worker<'static> {
        &self.worker
    }
}

impl Drop for OpenEndpoint {
    fn drop(&mut self) {
        // SAFETY: once, and nobody uses it afterwards.
        unsafe { ManuallyDrop::drop(&mut self.worker) };
        // This thread has nothing under way any more.
        background::vacate(&self.port.ni().workplaces);
    }
}
