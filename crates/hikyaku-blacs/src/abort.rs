//! Saying what is wrong, and ending the job.

use crate::blacs::NOT_IN_CONTEXT;
use crate::error::Trouble;
use crate::process;
use hikyaku::Error;
use std::ffi::c_int;

/// Where this process is, as messages tell it: (row, column, rank in the job).
fn place(context: c_int) -> (c_int, c_int, c_int) {
    let blacs = process::known();
    let [_, _, row, column] = blacs.map_or([-1; 4], |blacs| blacs.position(context));
    (row, column, blacs.map_or(-1, |blacs| blacs.rank() as c_int))
}

fn print(kind: &str, text: &str, context: Option<c_int>, routine: &str) {
    let context = context.unwrap_or(NOT_IN_CONTEXT);
    let (row, column, rank) = place(context);
    eprint!("BLACS {kind} '{text}'\nfrom {{{row},{column}}}, pnum={rank}, Contxt={context}, in {routine}.\n\n");
}

/// Prints what may be wrong.
pub fn warn(text: &str, context: Option<c_int>, routine: &str) {
    print("WARNING", text, context, routine);
}

/// Prints what is wrong and ends the job.
#[cold]
pub fn fail(trouble: &Trouble, context: Option<c_int>, routine: &str) -> ! {
    // Whoever died has said why; this process only ends with it. One that cannot be reached has said nothing: each process tells
    // what it has tried.
    if !matches!(trouble, Trouble::Library(Error::PeerDead { .. })) {
        print("ERROR", &trouble.to_string(), context, routine);
    }
    end(1)
}

/// Ends the job because the program says so.
pub fn abort(context: c_int, number: c_int) -> ! {
    let (row, column, rank) = place(context);
    eprint!("{{{row},{column}}}, pnum={rank}, Contxt={context}, killed other procs, exiting with error #{number}.\n\n");
    end(number)
}

/// Ends this process as a failed one, upon which the launcher ends the others. What the program has printed and not yet
/// written out is: this is the C library's exit.
fn end(number: c_int) -> ! {
    let status = if number & 0xff == 0 { 1 } else { number };
    std::process::exit(status)
}
