//! Between two hosts by libfabric: ours, its own ping-pong of the same provider, Open MPI over TCP and MPICH over the
//! same provider take turns.

use super::hosts::{Place, ROUNDS, Turns, ours, place};
use super::part::Part;
use super::peers::Peer;
use super::plan::{Figure, Kind};
use super::{Results, step};
use hikyaku_workloads::netns::Network;
use indicatif::ProgressBar;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The provider that is measured, where none is named: the one that is everywhere.
const PROVIDER: &str = "tcp;ofi_rxm";
/// What is measured by libfabric's own program: bytes and round trips.
const PINGPONG: [(Kind, usize, usize); 2] =
    [(Kind::FabricLimit, 8, 10_000), (Kind::FabricLimitBandwidth, 1 << 20, 200)];
/// How often it is tried to connect to a program that has just begun, and how long it may take in all.
const ATTEMPTS: usize = 50;
const PINGPONG_MAX: Duration = Duration::from_secs(60);

/// As [`super::hosts::measure`].
pub fn measure(
    results: &mut Results,
    peers: &mut [Peer],
    named: Option<(&str, Option<&str>)>,
    progress: &ProgressBar,
) -> Result<(), String> {
    let place = place(results, named)?;
    let provider = std::env::var("HIKYAKU_OFI_PROVIDER").unwrap_or_else(|_| PROVIDER.to_owned());
    let mut turns = Turns::new(results, peers, &place, Some(&provider));
    progress.inc_length((ROUNDS * (2 + turns.len())) as u64);
    for round in 1..=ROUNDS {
        step(progress, &format!("hikyaku: between two hosts by libfabric, round {round} of {ROUNDS}"));
        ours(&place, Part::Fabric, ("HIKYAKU_TRANSPORT", "ofi"))?.0.into_iter().for_each(|it| results.ours.add(it));
        step(progress, &format!("fi_pingpong: between two hosts, round {round} of {ROUNDS}"));
        match pingpong(&place, &provider) {
            Ok(figures) => figures.into_iter().for_each(|it| results.ours.add(it)),
            Err(why) if round == 1 => results.notes.push(format!("fi_pingpong was not measured: {why}")),
            Err(_) => {}
        }
        turns.take(results, &place, round, progress);
    }
    turns.end(results);
    Ok(())
}

/// What libfabric's own program measures.
fn pingpong(place: &Place, provider: &str) -> Result<Vec<Figure>, String> {
    let Some(network) = &place.network else { return Err("it is between namespaces of this machine only".into()) };
    let one = |(kind, bytes, round_trips): (Kind, usize, usize)| {
        let micros = between(network, provider, bytes, round_trips)?;
        let value = if kind == Kind::FabricLimit { micros * 1e3 } else { bytes as f64 / micros / 1e3 };
        Ok(Figure { kind, bytes, ranks: 2, values: vec![value] })
    };
    PINGPONG.into_iter().map(one).collect()
}

/// A program that is ended when it is not needed any more.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // It has ended already, or is of no use.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// One way, us. Each host has a core of its own, as the hosts of the others have.
fn between(network: &Network, provider: &str, bytes: usize, round_trips: usize) -> Result<f64, String> {
    let cores = hikyaku::launch::facts().cores;
    let command = |host: usize| {
        let core = cores.get(host).or(cores.first()).map_or("0".into(), ToString::to_string);
        let mut command = Command::new("taskset");
        command.args(["-c", &core, "nsenter"]);
        command.arg(format!("--net=/run/netns/{}", network.host(host))).arg("fi_pingpong");
        command.args(["-p", provider, "-e", "rdm", "-I", &round_trips.to_string(), "-S", &bytes.to_string()]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let text = |error: std::io::Error| error.to_string();
    let _server = Server(command(0).spawn().map_err(text)?);
    let begin = Instant::now();
    for _ in 0..ATTEMPTS {
        let mut client = command(1);
        let mut client = client.arg(network.address(0).to_string()).stdout(Stdio::piped()).spawn().map_err(text)?;
        while client.try_wait().map_err(text)?.is_none() {
            if begin.elapsed() > PINGPONG_MAX {
                drop(Server(client));
                return Err("it does not end".into());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let output = client.wait_with_output().map_err(text)?;
        if let Some(micros) = micros(&String::from_utf8_lossy(&output.stdout)) {
            return Ok(micros);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Err(format!("it printed no figures; is there `fi_pingpong`, and the provider {provider}?"))
}

/// Reads the column of microseconds per transfer.
fn micros(printed: &str) -> Option<f64> {
    let (head, values) = (printed.lines().find(|line| line.starts_with("bytes"))?, printed.lines().last()?);
    let at = head.split_whitespace().position(|name| name == "usec/xfer")?;
    // Two words of the head are one column of values, and the total time is told with its unit.
    let words: Vec<&str> = values.split_whitespace().collect();
    let from_end = head.split_whitespace().count() - at;
    words.get(words.len().checked_sub(from_end)?)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::micros;

    #[test]
    fn figures_are_read() {
        let printed = "bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec\n\
                       8       10k     =10k     156k        0.13s      1.20       6.67       0.15\n";
        assert_eq!(micros(printed), Some(6.67));
        assert_eq!(micros(""), None);
        assert_eq!(micros("bytes usec/xfer\nnothing else\n"), None);
    }
}
