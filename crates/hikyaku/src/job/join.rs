//! This process as one rank: started by a launcher, or alone.

use super::neighborhood::Neighborhood;
use super::pmi::Protocol;
use super::topology::own_cores;
use super::watch::Watch;
use super::wire::{self, DOOR_VARIABLE, HOSTS_VARIABLE, Hello, SOCKET_VARIABLE, Welcome};
use super::{Config, Job, address, exit, inherited, rendezvous};
use crate::error::{Error, Result};
use crate::memory::segment::Segment;
use crate::ni::{By, Ni, Routes, Service, Settings, Wait, random};
use crate::sync::fence::Fences;
use crate::transport::core::Transport;
use crate::transport::endpoints::Endpoints;
use crate::transport::hosts::Hosts;
use crate::transport::shm::cross;
use crate::transport::shm::layout::{FORMAT, JobMemory, Layout, Local, State};
use rustix::io::FdFlags;
use rustix::process::PidfdFlags;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Whether this process has joined the job it was started in.
static JOINED: AtomicBool = AtomicBool::new(false);

impl Job {
    /// Joins the job that this process was started in, and waits until all its ranks have joined. Jobs are started by `hikyaku run` on
    /// one or several hosts, or by launchers that speak PMIx or PMI-1: `mpirun` of Open MPI or MPICH, and Slurm's `srun`. A program that was started alone is a job of one rank.
    ///
    /// Under `mpirun` every rank must call it, while no other thread is inside an MPI call. If the program uses MPI as well,
    /// call it after `MPI_Init`: Open MPI since version 5 fails if PMIx was used in the process before.
    pub fn start() -> Result<Job> {
        crate::settings::check()?;
        if let Ok(socket) = std::env::var(SOCKET_VARIABLE) {
            return join(&socket);
        }
        if std::env::var_os("HIKYAKU_ALONE").is_some_and(|value| value == "1") {
            return alone();
        }
        match Protocol::of_launcher() {
            Some(protocol) => join_among(protocol),
            None => {
                refuse_foreign_launchers()?;
                alone()
            }
        }
    }
}

/// A job of one.
fn alone() -> Result<Job> {
    let config = Config::default();
    let layout = Layout::new(1, config.ports, config.heap_bytes)?;
    let memory = Arc::new(JobMemory::create(layout, config.choices.words())?);
    let routes = Routes::from(&Hosts::one(1), 0, &memory);
    let (job, fences) = (random()?, Fences::for_threads());
    let settings = Settings {
        rank: 0,
        job,
        fences,
        crowded: false,
        cores: own_cores(1),
        threads: false,
        routes,
        far: None,
        hardware: None,
        environment: None,
    };
    let job = Job::new(Ni::new(memory, settings)?, None, None)?;
    job.announce();
    Ok(job)
}

/// A process is one rank of the job it was started in.
fn join_once() -> Result<()> {
    if JOINED.swap(true, Ordering::SeqCst) {
        return Err(Error::Launcher { reason: "this process has joined its job already; one job per process".into() });
    }
    Ok(())
}

/// Joins the job of our own launcher.
fn join(socket: &str) -> Result<Job> {
    join_once()?;
    let socket = find_launcher(socket)?;
    wire::check_user(&socket)?;
    let over_hosts = std::env::var(HOSTS_VARIABLE).is_ok_and(|hosts| hosts != "1");
    let open = if over_hosts { Some(open_endpoints()?) } else { None };
    let (welcome, memory, neighborhood) = introduce(&socket, open.as_ref())?;
    let layout = welcome.layout()?;
    let memory = JobMemory { segment: Segment::open(memory, layout.total_bytes())?, layout };
    await_welcomed(&socket, &memory.block(Local(welcome.local as u32)).life.welcomed)?;
    end_with_launcher(&socket)?;
    let far = neighborhood.zip(open).map(|(neighborhood, open)| connect(open, welcome.rank as usize, &neighborhood));
    let job = enter(&welcome, memory, Some(socket), far.transpose()?)?;
    exit::note_under_wrapper(&job.ni, welcome.launcher)?;
    Ok(job)
}

/// How ranks of several hosts reach each other.
struct Far {
    hosts: Hosts,
    transport: Arc<dyn Transport>,
}

/// Opens this rank's endpoints in the networks that the job may use between hosts.
fn open_endpoints() -> Result<Endpoints> {
    Endpoints::open(address::of_this_host()?)
}

/// Joins the network of the job's ranks.
fn connect(endpoints: Endpoints, rank: usize, neighborhood: &Neighborhood) -> Result<Far> {
    let Neighborhood { host_of, endpoints: names, secret } = neighborhood;
    let is_near = |other: usize| host_of[other] == host_of[rank];
    Ok(Far { hosts: Hosts::new(host_of)?, transport: endpoints.connect(rank, names, is_near, secret.bytes())? })
}

/// Joins the job of a launcher of another library, without help of which the ranks notice each other's end.
fn join_among(protocol: Protocol) -> Result<Job> {
    join_once()?;
    let launcher = exit::say_goodbye_to(protocol.open()?)?;
    let open = if launcher.spans_hosts()? { Some(open_endpoints()?) } else { None };
    let endpoint = open.as_ref().map(Endpoints::name).transpose()?;
    let (welcome, memory, neighborhood) = rendezvous::meet(launcher, &Config::default(), endpoint.as_deref())?;
    let far = neighborhood.zip(open).map(|(neighborhood, open)| connect(open, welcome.rank as usize, &neighborhood));
    let mut job = enter(&welcome, memory, None, far.transpose()?)?;
    exit::leave(&job.ni);
    job.watch = Some(Watch::start(&job.ni)?);
    // Everyone who comes to the second barrier has lived until all were watched: no number was that of a later process.
    job.barrier()?;
    job.barrier()?;
    Ok(job)
}

/// Takes part: from here on it makes no difference who has started the job.
fn enter(welcome: &Welcome, memory: JobMemory, launcher: Option<OwnedFd>, far: Option<Far>) -> Result<Job> {
    let memory = Arc::new(memory);
    let fences = Fences::from_u32(welcome.fences as u32).unwrap_or(Fences::Symmetric);
    fences.register().map_err(|e| Error::Launcher {
        reason: format!("membarrier works for whoever made the job's memory but not here: {e}"),
    })?;
    cross::allow(welcome.launcher as i32);

    let (rank, crowded) = (welcome.rank as usize, welcome.crowded != 0);
    let probe = Box::new(random()?);
    let life = &memory.block(Local(welcome.local as u32)).life;
    life.process.store(std::process::id() as u64, Ordering::Relaxed);
    life.probe_address.store(&*probe as *const u64 as u64, Ordering::Relaxed);
    life.probe_value.store(*probe, Ordering::Relaxed);
    let (hosts, far) = match far {
        Some(Far { hosts, transport }) => (hosts, Some(transport)),
        None => (Hosts::one(memory.layout.size), None),
    };
    let routes = Routes::from(&hosts, hosts.host_of(rank), &memory);
    let settings = Settings {
        rank,
        job: welcome.job,
        fences,
        crowded,
        cores: own_cores(memory.layout.count),
        threads: false,
        routes,
        far,
        hardware: None,
        environment: None,
    };
    let mut job = Job::new(Ni::new(memory, settings)?, launcher, Some(probe))?;
    if job.ni.far.is_some() {
        job.service = Some(Service::start(&job.ni)?);
    }
    job.announce();
    job.await_everyone(Duration::from_millis(welcome.start_timeout_ms))?;
    Ok(job)
}

/// The way to the launcher: the inherited descriptor, or a new one if a wrapper has closed it, or if another program has joined by it
/// before, which would end with whatever is said there. It is closed to programs this process may start.
fn find_launcher(number: &str) -> Result<OwnedFd> {
    let inherited = match take_socket(number) {
        Ok(socket) if !inherited::is_used(&socket) => return Ok(socket),
        Ok(_) => Error::Launcher { reason: "another program of this rank has joined the job before".into() },
        Err(error) => error,
    };
    let Ok(door) = std::env::var(DOOR_VARIABLE) else { return Err(inherited) };
    wire::call(&door).map_err(|error| Error::Launcher {
        reason: format!(
            "`hikyaku run` started this program, but whatever stands between them has closed descriptor {number} \
             ({SOCKET_VARIABLE}) or used it before, and the launcher does not answer at its door ({error}); let descriptors be passed \
             on (in Python: close_fds=False), or unset {SOCKET_VARIABLE} to run the program alone or under another launcher"
        ),
    })
}

/// The inherited descriptor, if it is one, now closed to programs this process may start.
fn take_socket(text: &str) -> Result<OwnedFd> {
    let unusable = |why: String| Error::Launcher {
        reason: format!(
            "{SOCKET_VARIABLE}={text} is set, so a launcher started this program, but {why}; \
                         start it with `hikyaku run`, or unset the variable to run it alone"
        ),
    };
    let number: i32 = text.parse().map_err(|_| unusable("that is no descriptor".into()))?;
    if number <= 2 {
        return Err(unusable("that is no descriptor of a launcher".into()));
    }
    let socket =
        inherited::take_socket(number).map_err(|error| unusable(format!("the descriptor cannot be used ({error})")))?;
    rustix::io::fcntl_setfd(&socket, FdFlags::CLOEXEC).map_err(|error| unusable(error.to_string()))?;
    Ok(socket)
}

/// Says hello, and hears the place of this rank in its job; with more than one host also who is where.
fn introduce(socket: &OwnedFd, open: Option<&Endpoints>) -> Result<(Welcome, OwnedFd, Option<Neighborhood>)> {
    let gone = || Error::Launcher { reason: "the launcher has ended".into() };
    let hello = match open {
        Some(open) => Hello::reached_by(&open.name()?)?,
        None => Hello::new(),
    };
    // If a wrapper has started this process, the launcher sees its end by a descriptor, in whichever namespace it is.
    let launcher = inherited::peer(socket.as_fd()).map_or(0, |(process, _)| process);
    let parent = rustix::process::getppid().map(|parent| parent.as_raw_nonzero().get());
    let own = || rustix::process::pidfd_open(rustix::process::getpid(), PidfdFlags::empty()).ok();
    let process = if parent == Some(launcher) { None } else { own() };
    wire::send(socket.as_fd(), &hello, process.as_ref().map(AsFd::as_fd)).map_err(|_| gone())?;
    let (welcome, descriptor) = wire::receive::<Welcome>(socket.as_fd())?.ok_or_else(gone)?;
    if !welcome.is_valid() || welcome.format != FORMAT {
        return Err(wire::other_format("the launcher", welcome.format));
    }
    if let Some(error) = welcome.refused() {
        return Err(error);
    }
    let Some(memory) = descriptor else {
        return Err(Error::Launcher {
            reason: "another program of this rank has joined the job and has not left it, or has died; each rank is one program at a \
                     time, and over several hosts one program in all"
                .into(),
        });
    };
    if welcome.hosts <= 1 {
        return Ok((welcome, memory, None));
    }
    let (hosts, table) = wire::receive::<wire::Hosts>(socket.as_fd())?.ok_or_else(gone)?;
    let table = table.filter(|_| hosts.is_valid()).ok_or_else(impossible_hosts)?;
    let neighborhood = Neighborhood::from_file(table)?;
    if !agree(&welcome, &neighborhood) {
        return Err(impossible_hosts());
    }
    Ok((welcome, memory, Some(neighborhood)))
}

/// Whether the welcome of a rank and the table of all say the same.
pub(super) fn agree(welcome: &Welcome, neighborhood: &Neighborhood) -> bool {
    let size = neighborhood.host_of.len() as u64;
    if welcome.size != size || welcome.rank >= size || welcome.hosts != neighborhood.host_count() as u64 {
        return false;
    }
    let (near, local) = neighborhood.near(welcome.rank as usize);
    (welcome.near, welcome.local) == (near as u64, local as u64)
}

fn impossible_hosts() -> Error {
    Error::Launcher { reason: "the launcher describes impossible hosts".into() }
}

/// Waits until the launcher's call that has sent the welcome is over. A message can be read before the kernel signals that it
/// has come: that signal must not be the one that ends this process.
fn await_welcomed(socket: &OwnedFd, welcomed: &AtomicU64) -> Result<()> {
    const STEP: Duration = Duration::from_micros(100);
    while welcomed.load(Ordering::Acquire) == 0 {
        let mut polled = [rustix::event::PollFd::new(socket, rustix::event::PollFlags::IN)];
        if wire::await_input(&mut polled, Instant::now() + STEP)? {
            return Err(Error::Launcher { reason: "the launcher has ended".into() });
        }
    }
    Ok(())
}

/// Has the kernel end this process when the launcher's end of the socket closes, without a signal handler or a
/// thread: the socket's input signal is SIGKILL, and nothing is ever sent after the welcome.
fn end_with_launcher(socket: &OwnedFd) -> Result<()> {
    inherited::end_with(socket)
        .map_err(|error| Error::System { call: "fcntl", errno: error.raw_os_error().unwrap_or(0) })?;
    // It may have died before the last step.
    let mut polled = [rustix::event::PollFd::new(socket, rustix::event::PollFlags::IN)];
    match rustix::event::poll(&mut polled, Some(&rustix::fs::Timespec { tv_sec: 0, tv_nsec: 0 })) {
        Ok(0) | Err(_) => Ok(()),
        Ok(_) => Err(Error::Launcher { reason: "the launcher has ended".into() }),
    }
}

impl Job {
    /// Waits until every rank has joined, so that errors at the start are found at the start.
    fn await_everyone(&self, timeout: Duration) -> Result<()> {
        let missing = || (0..self.size()).filter(|rank| self.ni.state_of(*rank) == State::Starting);
        let all = || missing().next().is_none().then_some(());
        let waited = self.wait_until(Wait::on(By::Barrier(0)).at_most(Some(timeout)), all);
        waited.map_err(|error| match error {
            Error::Timeout { after } => Error::StartTimeout { missing: missing().collect(), after },
            other => other,
        })?;
        self.ni.note_processes();
        // A rank that died before it joined is not awaited any more, but must not go unnoticed.
        self.ni.check_departed(By::Barrier(0))
    }
}

/// Under another launcher a program would become as many jobs of one as there are processes, silently.
fn refuse_foreign_launchers() -> Result<()> {
    const FOREIGN: [(&str, &str); 5] = [
        ("OMPI_COMM_WORLD_SIZE", "Open MPI's mpirun"),
        ("PMI_SIZE", "an MPI launcher (PMI)"),
        ("PMIX_RANK", "a PMIx launcher"),
        ("MV2_COMM_WORLD_SIZE", "MVAPICH2's launcher"),
        ("SLURM_STEP_NUM_TASKS", "Slurm's srun"),
    ];
    for (variable, launcher) in FOREIGN {
        let Ok(value) = std::env::var(variable) else { continue };
        if value.trim() != "1" || variable == "PMIX_RANK" {
            return Err(Error::Launcher {
                reason: format!(
                    "this program was started by {launcher} ({variable}={value}), which hikyaku cannot talk to; \
                     start it with `hikyaku run -n N`, or set HIKYAKU_ALONE=1 if each process shall be a job of its own"
                ),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

    fn pair() -> (OwnedFd, OwnedFd) {
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap()
    }

    #[test]
    fn a_rank_waits_until_the_launcher_is_done_with_its_socket() {
        let ((ours, _theirs), welcomed, is_over) = (pair(), AtomicU64::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(30));
                is_over.store(true, Ordering::Relaxed);
                welcomed.store(1, Ordering::Release);
            });
            await_welcomed(&ours, &welcomed).unwrap();
            assert!(is_over.load(Ordering::Relaxed), "before the launcher had said so");
        });
    }

    #[test]
    fn a_rank_whose_launcher_ends_meanwhile_does_not_wait() {
        let (ours, theirs) = pair();
        drop(theirs);
        assert!(matches!(await_welcomed(&ours, &AtomicU64::new(0)), Err(Error::Launcher { .. })));
    }
}
