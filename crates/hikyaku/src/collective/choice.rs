//! Which version of a call is used: the same at all members, by the table of the job.

use crate::job::choice::{self, Call, Choices, Version};
use crate::ni::Port;

/// What was chosen for a group of this many members.
pub(super) struct Row {
    row: choice::Row,
    /// Where they are on several hosts.
    far: choice::Row,
    /// For a barrier, and for anything else: is any of it a tree?
    any_tree: bool,
    /// A barrier is one counter.
    pub counts: bool,
}

impl Row {
    /// Members of a job with more ranks than cores compete with all its ranks, so its size counts then.
    pub fn of(port: &Port, size: usize, crowded: bool) -> Row {
        let choices = Choices::of(&port.ni().memory);
        let row = choices.row(if crowded { port.size() } else { size });
        // Alone there is nothing to send.
        let any_tree = size > 1 && row.as_flattened().contains(&(Version::Tree as u8));
        Row { row, far: choices.far_row(size), any_tree, counts: choice::counts(&row, size, crowded) }
    }

    #[inline(always)]
    pub fn is_tree(&self, call: Call, bytes: usize) -> bool {
        self.any_tree && choice::chosen(&self.row, call, bytes) == Some(Version::Tree)
    }

    /// What was chosen for a group over several hosts, if anything was.
    pub fn chosen_far(&self, call: Call, bytes: usize) -> Option<Version> {
        choice::chosen(&self.far, call, bytes)
    }

    /// What was chosen, if anything was.
    pub fn chosen(&self, call: Call, bytes: usize) -> Option<Version> {
        choice::chosen(&self.row, call, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use crate::collective::Group;
    use crate::collective::Sum;
    use crate::sim::{Machine, Sim};

    /// What was chosen is not only what the table says, but what is done.
    fn check(
        world: &Group<'_>,
        version: Version,
        versions: fn(Call, usize) -> &'static [Version],
    ) -> crate::Result<()> {
        for (call, bytes) in Call::ALL.into_iter().flat_map(|call| [8, 800_000].map(|bytes| (call, bytes))) {
            let mut data = vec![1u64; bytes / 8];
            world.noted.set(None);
            match call {
                Call::Barrier => world.barrier()?,
                Call::Broadcast => world.broadcast(&mut data, 1)?,
                Call::Reduce => world.reduce(&mut data, Sum, 1)?,
                Call::Allreduce => world.allreduce(&mut data, Sum)?,
            }
            let ran = world.noted.get();
            if versions(call, bytes).contains(&version) {
                assert_eq!(ran, Some(version), "{call:?} of {bytes} bytes");
                assert_eq!(world.version(call, bytes), version, "{call:?} of {bytes} bytes");
            } else {
                assert_ne!(ran, Some(version), "{call:?} of {bytes} bytes");
            }
        }
        Ok(())
    }

    #[test]
    fn the_version_that_was_chosen_is_the_one_that_runs() {
        for version in Version::ALL {
            let config = Config { choices: Choices::all(version), ..Config::default() };
            let results = crate::local_with(3, config, |job| {
                check(&job.new_world()?, version, Call::versions)?;
                job.barrier()
            });
            results.unwrap().into_iter().for_each(|result| result.unwrap());
        }
    }

    #[test]
    fn the_version_that_was_chosen_is_the_one_that_runs_over_hosts() {
        for version in Version::FAR {
            let sim = Sim::new(Machine::plain(), 4, 1).hosts(|rank| rank % 2).choices(Choices::all(version));
            sim.run(|job| check(&job.new_world().unwrap(), version, |call, _| call.far_versions()).unwrap()).unwrap();
        }
    }
}
