//! Taking an area away from the peers.

use super::rest::Rest;
use crate::ni::interface::Ni;
use crate::ni::reach::opened::Opened;
use rustix::event::{PollFd, PollFlags};
use rustix::fs::Timespec;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags};

impl Ni {
    /// Takes an area away; when this gives true, nobody is inside an operation on it. False: that took long (see below), and the
    /// caller can do without; its memory must stay.
    ///
    /// This wait is not one of [`super::wait`], and need not be: whoever is inside comes out without this rank's help. It
    /// copies, by itself or by one system call, or performs what a message asks for in this rank's own interface; it runs
    /// nothing of the program, and waits for nobody before it is out. And it should not be: areas are taken away by
    /// destructors, where a program does not expect its handlers to run, perhaps with a lock that they take.
    ///
    /// It takes long if a process is stopped inside, which may go on copying, and if a hostile rank has written that one is
    /// inside which is not. Memory that can stay behind is left there then. Memory that somebody else owns cannot: it is waited
    /// for, asleep, until the process is out or has ended.
    pub(crate) fn revoke(&self, area: &Opened, may_stay: bool) -> bool {
        // In a forked child the table belongs to the parent.
        if self.size() == 0 {
            return true;
        }
        let is_first = self.own_areas.revoke(area.id, area.key);
        // Whoever asks for a pin from now on finds no area.
        self.pins.forget(area.key);
        // Done before, perhaps, and another thread has entered a new area under this id since.
        if !is_first {
            return true;
        }
        self.mine().areas[area.id as usize].revoke(area.key);
        self.fences.heavy();
        self.own_areas.await_left(|| self.relax());
        self.direct.iter().for_each(|direct| direct.take_back(area.key));
        let mut rest = Rest::new(self);
        // Far ranks operate through this rank's own interface, or by a key that was taken back.
        for (local, rank) in self.memory.layout.locals().zip(self.routes.near()).filter(|(_, rank)| **rank != self.rank)
        {
            for guard in &self.memory.block(local).guards[..self.memory.layout.ports] {
                let Some(number) = guard.occupied() else { continue };
                while !guard.left(number) && !self.is_gone(*rank) {
                    if rest.wait() && may_stay {
                        return false;
                    }
                }
            }
        }
        true
    }

    /// Whether no thread of `rank` can be inside an operation any more. Having left or being called dead is not
    /// enough: other threads of that rank may still run.
    fn is_gone(&self, rank: usize) -> bool {
        if !self.state_of(rank).is_over() {
            return false;
        }
        if self.environment.is_some() {
            // A simulated rank has one thread, which does not run on after its end, wherever it was killed.
            return true;
        }
        if self.threads {
            return false;
        }
        rustix::process::Pid::from_raw(self.process_of(rank)).is_none_or(has_ended)
    }
}

/// Whether a process has ended, with all its threads. Its launcher may not have reaped it: then it can still be signalled.
fn has_ended(process: Pid) -> bool {
    match rustix::process::pidfd_open(process, PidfdFlags::empty()) {
        Ok(descriptor) => {
            let mut polled = [PollFd::new(&descriptor, PollFlags::IN)];
            rustix::event::poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) == Ok(1)
        }
        Err(Errno::SRCH) => true,
        // No descriptor is to be had: whether it is there at all.
        Err(_) => rustix::process::test_kill_process(process) == Err(Errno::SRCH),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_ended_before_anybody_asks_for_its_status() {
        let pid = |number: u32| Pid::from_raw(number as i32).unwrap();
        assert!(!has_ended(pid(std::process::id())));
        let mut child = std::process::Command::new("true").spawn().unwrap();
        while !has_ended(pid(child.id())) {
            std::thread::yield_now();
        }
        assert!(child.wait().unwrap().success());
        assert!(has_ended(pid(child.id())));
    }
}
