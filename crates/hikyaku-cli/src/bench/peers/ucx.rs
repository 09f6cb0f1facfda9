//! UCX as a peer, through `ucx_perftest`: a server and a client on two processors of this machine,
//! joined by shared memory. The pair meets over a TCP port, then measures and prints a table.
//!
//! It checks no data, and it uses one and the same buffer for every message. For large messages
//! that makes its work easier than anybody's real work, because the data never leave the caches;
//! its bandwidth of two-sided messages is therefore not taken.

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use super::machine::Machine;
use super::process::{self, Finished, LIMIT, Running};
use super::{Request, Test, neighbour, version_after};

/// How long the server may take until it listens, and how often the client knocks.
const LISTEN_LIMIT: Duration = Duration::from_secs(3);
const KNOCK_PAUSE: Duration = Duration::from_millis(20);

/// The time that one repetition is meant to take.
const REPETITION_NS: f64 = 40e6;

/// Name and version. The version comes from a second command, which may be missing.
pub(super) fn name(perftest: &Path, folder: &Path) -> String {
    let mut command = Command::new(neighbour(perftest, "ucx_info"));
    let text = process::run(command.arg("-v"), "the version", folder).map_or(String::new(), |finished| finished.output);
    parse_version(&text).map_or("UCX".to_owned(), |version| format!("UCX {version}"))
}

/// The version in what `ucx_info -v` prints, in its older or its newer words.
pub(super) fn parse_version(text: &str) -> Option<&str> {
    version_after(text, "# Library version:").or_else(|| version_after(text, "# Version"))
}

/// Whether it does the same work as the others: data of a put longer than a word it never looks at.
pub(super) fn supports(test: Test, bytes: usize) -> bool {
    test_name(test).is_some() && (test != Test::Put || bytes == 8)
}

/// What `ucx_perftest` calls a test.
fn test_name(test: Test) -> Option<&'static str> {
    match test {
        Test::Send => Some("tag_lat"),
        Test::ActiveMessage => Some("ucp_am_lat"),
        Test::Put => Some("ucp_put_lat"),
        Test::Get => Some("ucp_get"),
        Test::FetchAdd => Some("ucp_fadd"),
        Test::Rate => Some("tag_bw"),
        Test::PutBandwidth => Some("ucp_put_bw"),
        _ => None,
    }
}

/// Runs one repetition of a test.
pub(super) fn measure(
    perftest: &Path,
    Request { test, bytes, .. }: Request,
    machine: &Machine,
    folder: &Path,
) -> Result<f64, String> {
    let step = format!("the {} test", test.name());
    let port = free_port().map_err(|e| format!("{step} found no free port: {e}"))?;
    let command = |cpu: usize| {
        let mut command = Command::new(perftest);
        command.env("UCX_TLS", "posix,cma,self");
        command.arg("-c").arg(machine.cpus[cpu].to_string()).arg("-p").arg(port.to_string());
        command
    };
    let server = Running::start(&mut command(0), folder)?;
    let mut client = command(1);
    client.arg("127.0.0.1").args(options(test, bytes));
    let answer = knock(&mut client, folder).and_then(|finished| finished.success("its client"));
    let finished = match answer {
        Ok(finished) => finished,
        Err(e) => {
            // The client often knows only that the server is gone; the server knows why.
            let server = server.finish(Duration::ZERO).last_lines();
            return Err(format!("{step}: {e} (the server: {server})"));
        }
    };
    server.finish(LIMIT).success(&format!("{step}: the server"))?;
    parse_table(&finished.output, test).ok_or_else(|| format!("{step} gave no figures; {}", finished.last_lines()))
}

/// The client gives up at once when nobody listens yet, so it is started until somebody does.
fn knock(client: &mut Command, folder: &Path) -> Result<Finished, String> {
    let begin = Instant::now();
    loop {
        let finished = Running::start(client, folder)?.finish(LIMIT);
        let refused = [&finished.errors, &finished.output].iter().any(|it| it.contains("refused"));
        if !refused || begin.elapsed() > LISTEN_LIMIT {
            return Ok(finished);
        }
        thread::sleep(KNOCK_PAUSE);
    }
}

/// A port that was free a moment ago: the system hands out different ones in turn, so that it
/// stays free for long enough.
fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

fn options(test: Test, bytes: usize) -> Vec<String> {
    // The count has to be given beforehand, so it rests on what such machines do: some time per
    // operation, and 10 GB/s.
    let operation_ns = match test {
        Test::Get => 40.0,
        Test::FetchAdd => 100.0,
        Test::Put | Test::Rate => 200.0,
        _ => 500.0,
    };
    let count = (REPETITION_NS / (operation_ns + 0.1 * bytes as f64)).clamp(10.0, 1e6) as u64;
    let mut options = vec!["-t", test_name(test).unwrap_or_default()];
    if test == Test::Rate {
        options.extend(["-O", "64"]);
    }
    let mut options: Vec<String> = options.into_iter().map(str::to_owned).collect();
    for (option, value) in [("-s", bytes as u64), ("-n", count), ("-w", count / 10 + 1)] {
        options.extend([option.to_owned(), value.to_string()]);
    }
    options
}

/// The value in the last row of the table, over the whole run. Its columns are the number of
/// operations; latency: percentile, average, overall (µs); bandwidth: average, overall (2^20
/// bytes/s); operations per second: average, overall. Times are taken from the last column, which
/// has more digits than the latency. In ping-pongs it counts single ways, as the latency does.
pub(super) fn parse_table(text: &str, test: Test) -> Option<f64> {
    let row = text.lines().rev().find_map(|line| line.trim().strip_prefix("Final:"))?;
    let columns: Vec<f64> = row.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    let &[_, _, _, _, _, mega_bytes, _, operations] = columns.as_slice() else {
        return None;
    };
    let value = match test {
        Test::PutBandwidth => mega_bytes * 1_048_576.0 / 1e9,
        Test::Rate => operations / 1e6,
        _ => 1e9 / operations,
    };
    value.is_finite().then_some(value)
}
