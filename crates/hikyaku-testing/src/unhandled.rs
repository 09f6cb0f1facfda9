//! Programs of two ranks that end before their messages were handled.

use hikyaku::{Job, Result, Until};

/// Such a program, and what is said of it.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// What it is called.
    pub name: &'static str,
    /// The program of a rank.
    pub run: fn(&Job) -> Result<()>,
    /// What is said, up to what to do about it.
    pub said: &'static str,
}

/// All of them.
pub const PROGRAMS: [Program; 2] = [
    Program {
        name: "messages_before_the_end",
        run: messages_before_the_end,
        said: "rank 1 has ended and left 3 messages unhandled: 2 for handler 7 from rank 0, 1 for handler 8 from rank 0. ",
    },
    Program {
        name: "a_handler_that_puts_off",
        run: a_handler_that_puts_off,
        said: "rank 1 has ended and left 1 message unhandled: 1 for handler 7 from rank 0. ",
    },
];

/// Nobody makes sure that they were handled.
fn messages_before_the_end(job: &Job) -> Result<()> {
    let said = job.symmetric::<u64>(1)?;
    for id in [7, 8] {
        job.register_handler(id, |_, _| {})?;
    }
    job.barrier()?;
    if job.rank() == 0 {
        // In the barrier rank 1 would handle them.
        if !job.is_simulated() {
            job.wait(said.here(0), Until::Equal(1))?;
        }
        for id in [7, 8, 7] {
            job.send(1, id, 0, [0; 6], &[])?;
        }
        job.push(said.at(1, 0), &[1])
    } else {
        job.push(said.at(0, 0), &[1])?;
        // No call of the library: handlers do not run. A simulated rank ends before the messages come.
        while said.get(0) == 0 && !job.is_simulated() {
            std::thread::yield_now();
        }
        Ok(())
    }
}

/// A handler that waits for something that never comes.
fn a_handler_that_puts_off(job: &Job) -> Result<()> {
    let word = job.symmetric::<u64>(1)?;
    job.register_handler(7, |context, _| context.retry_later())?;
    job.barrier()?;
    if job.rank() == 0 {
        job.send(1, 7, 0, [0; 6], &[])?;
        job.word(word.at(1, 0), 1)
    } else {
        job.wait(word.here(0), Until::Equal(1)).map(drop)
    }
}
