//! Saying what is wrong, and ending the job.

use crate::blacs::Blacs;
use crate::error::Trouble;
use crate::process;
use hikyaku::Error;
use std::ffi::c_int;

/// Where a process is, as messages tell it: (row, column, context).
fn place(blacs: Option<&Blacs<'_>>, context: Option<i32>) -> (i32, i32, i32) {
    let position = blacs.zip(context).and_then(|(blacs, context)| Some(blacs.grid(context).ok()?.position));
    let (row, column) = position.map_or((-1, -1), |position| (position.row as i32, position.column as i32));
    (row, column, context.unwrap_or(-1))
}

fn print(kind: &str, text: &str, context: Option<i32>, routine: &str) {
    let rank = process::known_rank().map_or(-1, |rank| rank as i32);
    let known = process::known_rank().is_some();
    let (row, column, context) = match known {
        true => process::with(|blacs| Ok(place(Some(blacs), context))).unwrap_or((-1, -1, -1)),
        false => place(None, context),
    };
    eprint!("BLACS {kind} '{text}'\nfrom {{{row},{column}}}, pnum={rank}, Contxt={context}, in {routine}.\n\n");
}

/// Prints what is wrong.
pub fn print_error(trouble: &Trouble, context: Option<i32>, routine: &str) {
    print("ERROR", &trouble.to_string(), context, routine);
}

/// Prints what may be wrong.
pub fn warn(text: &str, context: Option<i32>, routine: &str) {
    print("WARNING", text, context, routine);
}

/// Prints what is wrong and ends the job.
#[cold]
pub fn fail(trouble: &Trouble, context: Option<i32>, routine: &str) -> ! {
    // Whoever died has said why; this process only ends with it.
    if !matches!(trouble, Trouble::Library(Error::PeerDead { .. })) {
        print_error(trouble, context, routine);
    }
    end(1)
}

/// Ends the job because the program says so.
pub fn abort(context: i32, number: c_int) -> ! {
    let rank = process::known_rank().map_or(-1, |rank| rank as i32);
    let (row, column, _) = process::with(|blacs| Ok(place(Some(blacs), Some(context)))).unwrap_or((-1, -1, context));
    eprint!("{{{row},{column}}}, pnum={rank}, Contxt={context}, killed other procs, exiting with error #{number}.\n\n");
    end(number)
}

/// Ends this process as a failed one, upon which the launcher ends the others. What the program has printed and not yet
/// written out is: this is the C library's exit.
fn end(number: c_int) -> ! {
    let status = if number & 0xff == 0 { 1 } else { number };
    // SAFETY: ends the process.
    unsafe { libc::exit(status) }
}
