//! What a thread's calls rest on: the job, on the thread that called `fmpl_init`, or an endpoint of it.

use super::error::{Outcome, Trouble};
use core_hikyaku::ffi::OpenEndpoint;
use core_hikyaku::{Group, Job, Port};

pub enum Origin {
    Job(&'static Job),
    Thread(Box<OpenEndpoint>),
}

impl Origin {
    /// The job, which only the thread that called `fmpl_init` may have.
    pub fn job(&self, call: &'static str) -> Outcome<&'static Job> {
        match self {
            Origin::Job(job) => Ok(job),
            Origin::Thread(_) => Err(Trouble::OnlyInit(call)),
        }
    }

    pub fn port(&self) -> &Port {
        match self {
            Origin::Job(job) => job,
            Origin::Thread(worker) => worker.as_ref(),
        }
    }

    /// A new group of those that join. All ranks call it together.
    pub fn group(&self, joins: bool) -> Outcome<Option<Group<'static>>> {
        match self {
            Origin::Job(job) => Ok(job.group(joins)?),
            // Of the worker's own world: `FMPL_COMM_WORLD` may have calls under way.
            Origin::Thread(worker) => Ok(worker.world()?.split(joins.then_some(0), 0)?),
        }
    }
}
