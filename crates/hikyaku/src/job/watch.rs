//! Noticing the end of peers where no launcher of ours does it: a thread that sleeps until a process ends.
//!
//! Every rank watches every other of its host, so no death leaves the rest unwatched. The kernel wakes the thread; until then it
//! costs nothing. It also ends this process with the one that started it, as under our own launcher, and tells other hosts
//! ([`News`]).

use super::news::News;
use crate::error::{Error, Result};
use crate::ni::Ni;
use crate::sync::signals::without_signals;
use crate::transport::shm::layout::{JobMemory, Local, State};
use rustix::event::{EventfdFlags, PollFd, PollFlags};
use rustix::fs::Timespec;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal};
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;

/// The thread; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct Watch {
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
    /// The process whose thread it is.
    process: u32,
}

/// Who is watched.
#[derive(Clone, Copy, Debug)]
enum Who {
    Launcher,
    Rank(Local),
}

impl Watch {
    /// Watches all other ranks of this host, which must have joined: their process numbers are read now.
    pub fn start(ni: &Arc<Ni>) -> Result<Watch> {
        let (memory, own) = (ni.memory.clone(), ni.local);
        let mut watched = Vec::with_capacity(memory.layout.count);
        for peer in memory.layout.locals().filter(|peer| *peer != own) {
            let process = memory.block(peer).life.process.load(Ordering::Relaxed);
            // Any rank may have written there.
            let process = i32::try_from(process).ok().filter(|process| *process > 0).and_then(Pid::from_raw);
            match process.map(descriptor) {
                Some(Ok(process)) => watched.push((Who::Rank(peer), process)),
                Some(Err(Errno::SRCH)) | None => note_end(&memory, peer),
                Some(Err(error)) => return Err(Error::system("pidfd_open", error)),
            }
        }
        // The first process of a container is started by nobody, and ends everything with it.
        if let Some(launcher) = rustix::process::getppid().filter(|process| !process.is_init()) {
            let process = descriptor(launcher).map_err(|e| Error::system("pidfd_open", e))?;
            watched.push((Who::Launcher, process));
        }
        let stop = rustix::event::eventfd(0, EventfdFlags::CLOEXEC).map_err(|e| Error::system("eventfd", e))?;
        let stop = Arc::new(stop);
        let stopping = stop.clone();
        // Not the interface itself, which lives as long as its job does.
        let told = ni.far.as_ref().map(|_| (Arc::downgrade(ni), News::new(ni)));
        let thread = without_signals(|| {
            let thread = std::thread::Builder::new().name("hikyaku-watch".into());
            thread.spawn(move || watch(&memory, watched, told, &stopping)).map_err(|error| Error::thread(&error))
        })?;
        Ok(Watch { stop, thread: Some(thread), process: std::process::id() })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        if std::process::id() != self.process {
            // A forked child has a copy of this, but not of the thread.
            std::mem::forget(thread);
            return;
        }
        // Fails only if the counter were full.
        let _ = rustix::io::write(&*self.stop, &1u64.to_ne_bytes());
        let _ = thread.join();
    }
}

fn watch(memory: &JobMemory, mut watched: Vec<(Who, OwnedFd)>, mut told: Option<(Weak<Ni>, News)>, stop: &OwnedFd) {
    loop {
        let again = told.as_mut().and_then(|(ni, news)| news.look(&*ni.upgrade()?));
        let again = again.map(|time| Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() });
        let descriptors = std::iter::once(stop).chain(watched.iter().map(|(_, process)| process));
        let mut polled: Vec<PollFd<'_>> = descriptors.map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        match rustix::event::poll(&mut polled, again.as_ref()) {
            Ok(_) => {}
            Err(Errno::INTR | Errno::NOMEM) => continue,
            Err(_) => return,
        }
        let ready: Vec<bool> = polled.iter().map(|fd| !fd.revents().is_empty()).collect();
        if ready[0] {
            return;
        }
        let mut ended = ready[1..].iter();
        watched.retain(|(who, _)| {
            let ended = *ended.next().expect("one per descriptor");
            if ended {
                notice(memory, *who);
            }
            !ended
        });
    }
}

fn notice(memory: &JobMemory, who: Who) {
    match who {
        Who::Rank(rank) => note_end(memory, rank),
        Who::Launcher => {
            let _ = rustix::process::kill_process(rustix::process::getpid(), Signal::KILL);
        }
    }
}

/// The process is gone. Whoever has neither left nor said that it would is dead.
fn note_end(memory: &JobMemory, rank: Local) {
    let life = &memory.block(rank).life;
    if !life.state().is_over() {
        let meant_well = life.farewell.load(Ordering::SeqCst) != 0;
        memory.mark_departed(rank, if meant_well { State::Left } else { State::Dead });
    }
}

fn descriptor(process: Pid) -> rustix::io::Result<OwnedFd> {
    rustix::process::pidfd_open(process, PidfdFlags::empty())
}
