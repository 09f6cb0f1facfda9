//! Opening an endpoint for transfers by a thread of its own: that takes long, and the program goes on by packets meanwhile.

use crate::object::Device;
use crate::reach::Reach;
use crate::sleep::Sleep;
use hikyaku::spi::without_signals;
use hikyaku::{Error, Result};
use std::sync::Arc;
use std::thread::JoinHandle;

/// One that is being opened.
pub struct Opening {
    thread: Option<JoinHandle<Result<Reach>>>,
    process: u32,
}

impl Opening {
    /// Begins.
    ///
    /// # Errors
    /// When the system has no thread left.
    pub fn start(device: Arc<Device>, sleep: Arc<Sleep>) -> Result<Opening> {
        let thread = std::thread::Builder::new().name("hikyaku-ofi-open".into());
        let thread = without_signals(|| thread.spawn(move || Reach::open(device, sleep)));
        let thread = thread.map_err(|error| Error::Invalid(format!("starting a thread failed: {error}")))?;
        Ok(Opening { thread: Some(thread), process: std::process::id() })
    }

    /// What has become of it; `None` while nobody knows.
    pub fn end(&mut self) -> Option<Result<Reach>> {
        let thread = self.thread.take_if(|thread| thread.is_finished())?;
        Some(thread.join().unwrap_or_else(|_| Err(Error::Invalid("libfabric has panicked".into()))))
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        if self.process == std::process::id() {
            let _ = thread.join();
        } else {
            // A forked child has a copy of this, but not of the thread.
            std::mem::forget(thread);
        }
    }
}
