//! The group of all ranks, which a job makes once and keeps.

use super::group::Group;
use crate::error::Result;
use crate::job::Job;
use crate::job::keep::Keepsake;

impl Job {
    /// The group of all ranks. The first call makes it, and all ranks call it together; from then on it is there at once, however often it
    /// is called.
    ///
    /// The group is always the same one. If collective calls on it did not fit together, it is of no use any more; [`Job::new_world`]
    /// makes another one. A job that was moved to another thread makes a new one there, once more together with all ranks.
    ///
    /// ```
    /// # hikyaku::local(4, |job| {
    /// let mut sum = [job.rank() as u64];
    /// job.world()?.allreduce(&mut sum, hikyaku::collective::Sum)?;
    /// assert_eq!(sum, [6]);
    /// for _ in 0..100 {
    ///     job.world()?.barrier()?; // nothing is made any more
    /// }
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    ///
    /// It goes with the job.
    ///
    /// ```compile_fail,E0505
    /// # use hikyaku::Job;
    /// fn end(job: Job) -> hikyaku::Result<()> {
    ///     let world = job.world()?;
    ///     drop(job);
    ///     world.barrier()
    /// }
    /// ```
    pub fn world(&self) -> Result<&Group<'_>> {
        self.ni.check_rank(self.rank())?;
        if let Some(world) = self.kept::<Group<'static>>() {
            return Ok(world);
        }
        let world = self.new_world()?;
        // SAFETY: only the lifetime changes. The group knows the port of the job by anchors, and otherwise memory that the job keeps mapped; it is
        // given out for as long as the job is borrowed.
        Ok(unsafe { self.keep(std::mem::transmute::<Group<'_>, Group<'static>>(world)) })
    }

    /// A new group of all ranks, beside [`Job::world`]: calls on one do not meet those on the other. All ranks call it together.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// let mine = job.new_world()?; // for a library that is not to meet the program's own calls
    /// mine.barrier()?;
    /// mine.free()?;
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    pub fn new_world(&self) -> Result<Group<'_>> {
        Ok(self.group(true)?.expect("this rank joins"))
    }
}

impl Keepsake for Group<'static> {
    unsafe fn aim(&self, job: &Job) {
        // SAFETY: the caller's promise, for both.
        unsafe {
            self.port.aim(job);
            if let Some(messages) = self.slots.get() {
                messages.aim(job);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Job;
    use crate::collective::Sum;

    fn check(job: &Job) {
        let mut sum = [3u64];
        job.world().unwrap().allreduce(&mut sum, Sum).unwrap();
        job.world().unwrap().barrier().unwrap();
        assert_eq!(sum, [3]);
    }

    /// Wherever a job is moved to, it has its group; on another thread it has another one.
    #[test]
    fn a_job_is_moved_with_its_world() {
        crate::local(1, check).unwrap();
        let job = Job::start().expect("a job of one");
        check(&job);
        let address = std::ptr::from_ref(job.world().unwrap()).addr();
        let boxed = Box::new([job]);
        check(&boxed[0]);
        let [job] = *boxed;
        check(&job);
        assert_eq!(std::ptr::from_ref(job.world().unwrap()).addr(), address, "it is the same one");
        let job = std::thread::spawn(move || {
            assert_ne!(std::ptr::from_ref(job.world().unwrap()).addr(), address, "the other one is of another thread");
            check(&job);
            job
        });
        // What that thread made, it took along.
        let job = job.join().unwrap();
        check(&job);
        drop(job);
    }

    /// Two jobs change places: each has its own group, though that was made for a job where the other one is now.
    #[test]
    fn jobs_are_swapped_with_their_worlds() {
        let [mut one, mut other] = [(); 2].map(|()| Job::start().expect("a job of one"));
        check(&one);
        check(&other);
        // Its messages go on by themselves, whoever has their port's place.
        std::mem::forget(one.world().unwrap().messages(1).unwrap());
        let address = |job: &Job| std::ptr::from_ref(job.world().unwrap()).addr();
        let before = [address(&one), address(&other)];
        std::mem::swap(&mut one, &mut other);
        check(&other);
        drop(other);
        check(&one);
        assert_eq!(address(&one), before[1], "it went along");
    }
}
