//! `hikyaku sim timeline`: who sent what to whom, and when.

use super::Place;
use super::trace::trace;
use hikyaku::Job;
use hikyaku::collective::Sum;
use hikyaku::sim::Sim;
use std::path::PathBuf;

/// Write a trace of a small program: each packet at its sender and at its receiver, and an arrow between them.
///
/// Open it in https://ui.perfetto.dev, or in chrome://tracing. There is one track per rank; the trace begins with the start
/// of the job.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    place: Place,

    /// The program
    #[arg(value_enum, default_value_t = Program::Barrier)]
    program: Program,

    /// Where to write the trace
    #[arg(short, long, value_name = "FILE", default_value = "trace.json")]
    out: PathBuf,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Program {
    /// All ranks wait for each other
    Barrier,
    /// A message of 8 KB goes around
    Ring,
    /// 64 KB from rank 0 to all
    Broadcast,
    /// The sum of 8 bytes of all ranks at all ranks
    Allreduce,
    /// Every rank calls a handler of the next one
    Call,
}

pub fn run(Arguments { place, program, out }: Arguments) -> Result<(), String> {
    let sim = Sim::new((*place.machine).clone(), place.ranks, place.seed).trace(true);
    let run = sim.run(|job| program.run(job)).map_err(|error| error.to_string())?;
    run.results.into_iter().collect::<hikyaku::Result<()>>().map_err(|error| error.to_string())?;
    let title = format!("{}, {} ranks", place.machine.name, place.ranks);
    std::fs::write(&out, trace(&title, place.ranks, &run.passages).to_string())
        .map_err(|error| format!("cannot write {}: {error}", out.display()))?;
    let last = run.passages.iter().map(|passage| passage.arrived).max().unwrap_or_default();
    say!("{} packets in {last:?} of virtual time: {}", run.passages.len(), out.display());
    say!("open it in https://ui.perfetto.dev");
    Ok(())
}

impl Program {
    fn run(self, job: &Job) -> hikyaku::Result<()> {
        let (rank, size) = (job.rank(), job.size());
        match self {
            Program::Barrier => job.barrier(),
            Program::Ring => {
                let (messages, mut data) = (job.messages(1)?, [rank as u64; 1024]);
                if rank == 0 {
                    messages.send(&data, 1, 0)?;
                }
                messages.recv(&mut data, (rank + size - 1) % size, 0)?;
                if rank != 0 {
                    messages.send(&data, (rank + 1) % size, 0)?;
                }
                assert_eq!(data, [0; 1024], "what rank 0 sent");
                Ok(())
            }
            Program::Broadcast => {
                let mut data = vec![rank as u64; 8 << 10];
                job.world()?.broadcast(&mut data, 0)?;
                assert!(data.iter().all(|word| *word == 0), "what rank 0 has");
                Ok(())
            }
            Program::Allreduce => {
                let mut sum = [rank as u64];
                job.world()?.allreduce(&mut sum, Sum)?;
                assert_eq!(sum, [(size * (size - 1) / 2) as u64], "the sum of all ranks");
                Ok(())
            }
            Program::Call => {
                const HANDLER: u16 = 1;
                job.register_handler(HANDLER, |context, message| {
                    let _ = context.reply(message.arguments);
                })?;
                job.barrier()?;
                assert_eq!(job.call((rank + 1) % size, HANDLER, [7; 6], &[])?, [7; 6], "the reply");
                job.barrier()
            }
        }
    }
}
