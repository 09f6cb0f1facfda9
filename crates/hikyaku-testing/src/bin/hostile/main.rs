//! A job in which rank 1 attacks rank 0: it writes into the job's shared memory, behind the library's back, what no rank of
//! ours writes. Each role is one attack of `tests/hostile.rs`, and rank 0 panics if it has succeeded.

mod waits;

use hikyaku::message::Messages;
use hikyaku::{Error, Job, Result, Symmetric};
use hikyaku_testing::reach;
use hikyaku_testing::segment::Segment;
use std::sync::atomic::Ordering;

/// Bytes of what is attacked: a number that no other buffer has, and long enough to be offered.
const BYTES: usize = 30_000;
/// What must stay as it is.
const CALM: u8 = 0xAA;
/// What the attacker would have written.
const SPOILT: u8 = 0xEE;

fn main() {
    hikyaku_testing::watchdog::watch_process();
    let role = std::env::args().nth(1).unwrap_or_default();
    let job = Job::start().unwrap();
    let scene = Scene::new(&job).unwrap();
    match role.as_str() {
        "served" => scene.served(),
        "opened" => scene.opened(),
        "revoked" => scene.revoked(),
        "freed" => scene.freed(),
        "offer" => scene.offer(),
        "want" => scene.want(),
        "process" => scene.process(),
        "nothing" => scene.nothing(),
        "group" => scene.group(),
        "lent" => scene.lent(),
        "third" => scene.third(),
        "claimed" => scene.claimed(),
        "receiving" => scene.receiving(),
        "sending" => scene.sending(),
        "inside" => scene.inside(),
        other => panic!("no such role: {other}"),
    }
    .unwrap();
    scene.job.barrier().unwrap();
    println!("unharmed");
}

/// What both ranks need.
struct Scene<'j> {
    job: &'j Job,
    messages: Messages<'j>,
    is_victim: bool,
    /// Private memory of the victim that nobody was told of, but the attacker, to make the attack worth its while.
    canary: Vec<u8>,
    told: Symmetric<u64>,
}

impl<'j> Scene<'j> {
    fn new(job: &'j Job) -> Result<Scene<'j>> {
        let canary = vec![CALM; BYTES];
        let told = job.symmetric(1)?;
        told.set(0, canary.as_ptr() as u64);
        Ok(Scene { job, messages: job.messages(2)?, is_victim: job.rank() == 0, canary, told })
    }

    /// Lets the attacker do something while the others stand still.
    fn attack(&self, work: impl FnOnce(&Segment, u64)) -> Result<()> {
        self.job.barrier()?;
        if self.job.rank() == 1 {
            let address = self.job.pull_one(self.told.at(0, 0))?;
            work(&Segment::find(), address);
        }
        self.job.barrier()
    }

    /// Aims the victim's area at the canary.
    fn redirect_area(&self) -> Result<()> {
        self.attack(|segment, address| {
            // Kind (private), start, bytes.
            let found = segment.replace(|[kind, _, bytes]| kind == 2 && bytes == BYTES as u64, 1, address);
            assert!(found > 0, "the victim's area is nowhere");
        })
    }

    fn check(&self) {
        assert!(self.canary.iter().all(|byte| *byte == CALM), "memory that nobody was told of was written");
    }

    /// The victim's own interface serves the attacker's push.
    fn served(&self) -> Result<()> {
        let area = self.is_victim.then(|| self.job.register(5, vec![0u8; BYTES])).transpose()?;
        self.job.barrier()?;
        // Opened before, so that the attacker knows key and size.
        let opened = (!self.is_victim).then(|| self.job.open_area::<u8>(0, 5)).transpose()?;
        self.redirect_area()?;
        if let Some(opened) = opened {
            self.job.push(opened.at(0), &[SPOILT; BYTES])?;
            self.job.flush(0)?;
        }
        self.job.barrier()?;
        self.check();
        // It went where it belongs.
        assert!(area.is_none_or(|area| area.into_vec() == [SPOILT; BYTES]));
        Ok(())
    }

    /// The victim opens its own area, as it would a peer's.
    fn opened(&self) -> Result<()> {
        let area = self.is_victim.then(|| self.job.register(5, vec![0u8; BYTES])).transpose()?;
        self.redirect_area()?;
        if let Some(area) = area {
            let opened = self.job.open_area::<u8>(0, 5)?;
            self.job.push(opened.at(0), &[SPOILT; BYTES])?;
            assert_eq!(area.get(BYTES - 1), SPOILT);
        }
        self.check();
        Ok(())
    }

    /// The attacker brings the key of an area back that the victim has revoked.
    fn revoked(&self) -> Result<()> {
        let area = self.is_victim.then(|| self.job.register(5, vec![CALM; BYTES])).transpose()?;
        let opened = self.is_victim.then(|| self.job.open_area::<u8>(0, 5)).transpose()?;
        let mut entry = None;
        self.attack(|segment, _| {
            let places = segment.search(|[key, kind, _, bytes]| key != 0 && kind == 2 && bytes == BYTES as u64);
            entry = Some((places[0], segment.word(places[0]).load(Ordering::SeqCst)));
        })?;
        let vector = area.map(|area| area.into_vec());
        self.attack(|segment, _| {
            let (place, key) = entry.expect("seen before");
            segment.word(place).store(key, Ordering::SeqCst);
        })?;
        if let (Some(opened), Some(vector)) = (opened, vector) {
            let pushed = self.job.push(opened.at(0), &[SPOILT; BYTES]);
            assert!(matches!(pushed, Err(Error::AreaRevoked { .. })), "{pushed:?}");
            assert_eq!(vector, [CALM; BYTES], "a vector that was given back was written");
            let again = self.job.register(5, vector)?;
            assert_eq!(self.job.pull_one(self.job.open_area::<u8>(0, 5)?.at(7))?, CALM);
            drop(again);
        }
        Ok(())
    }

    /// The attacker takes the key of an area away: its owner must still end what is under way when it revokes the area, and
    /// have its own use of it meanwhile.
    fn freed(&self) -> Result<()> {
        let area = self.is_victim.then(|| self.job.register(5, vec![CALM; BYTES])).transpose()?;
        self.attack(|segment, _| {
            let found = segment.replace(|[_, kind, _, bytes]| kind == 2 && bytes == BYTES as u64, 0, 77);
            assert!(found > 0, "the victim's area is nowhere");
        })?;
        if let Some(area) = area {
            let opened = self.job.open_area::<u8>(0, 5)?;
            self.job.push(opened.at(3), &[1, 2, 3])?;
            assert_eq!(area.into_vec()[2..7], [CALM, 1, 2, 3, CALM]);
            assert!(matches!(self.job.push(opened.at(3), &[4]), Err(Error::AreaRevoked { .. })));
            self.job.register(5, vec![0u8; 8])?;
        }
        Ok(())
    }

    /// Aims what a member has told of a private buffer at the canary. A spot: start, bytes, not mapped, in one piece.
    fn redirect_spot(&self) -> Result<()> {
        self.attack(|segment, address| {
            let is_spot = |[start, bytes, mapped, shape]: [u64; 4]| {
                start != address && bytes == BYTES as u64 && mapped == 0 && shape == (u32::MAX as u64) << 32
            };
            println!("{} spots", segment.replace(is_spot, 0, address));
        })
    }

    /// The attacker offers a long message, and then says that it has no bytes.
    fn nothing(&self) -> Result<()> {
        let (data, mut into) = (vec![1u8; BYTES], vec![CALM; BYTES]);
        self.messages.scope(|scope| {
            let sent = (!self.is_victim).then(|| scope.isend(&data, 0, 0)).transpose()?;
            self.attack(|segment, _| {
                let is_offer = |[_, bytes, mapped, shape]: [u64; 4]| {
                    bytes == BYTES as u64 && mapped <= 1 && shape == (u32::MAX as u64) << 32
                };
                assert!(segment.replace(is_offer, 1, 0) > 0, "the offer is nowhere");
            })?;
            if self.is_victim {
                assert_eq!(self.messages.recv(&mut into, 1, 0)?, 0);
            }
            sent.map_or(Ok(()), |sent| scope.wait_send(sent))
        })?;
        // The attacker's interface may have copied what it really sends, into the buffer that is meant for it and no further.
        assert!(into.iter().all(|byte| [CALM, 1].contains(byte)), "bytes that nobody sent");
        Ok(())
    }

    /// The victim sends to itself, and the attacker changes where from.
    fn offer(&self) -> Result<()> {
        let (data, mut into) = (vec![1u8; BYTES], vec![0u8; BYTES]);
        self.messages.scope(|scope| {
            let sent = self.is_victim.then(|| scope.isend(&data, 0, 0)).transpose()?;
            self.redirect_spot()?;
            if let Some(sent) = sent {
                self.messages.recv(&mut into, 0, 0)?;
                assert!(!into.contains(&CALM), "memory that nobody was told of was read");
                scope.wait_send(sent)?;
            }
            Ok(())
        })
    }

    /// The victim receives from itself, and the attacker changes where to.
    fn want(&self) -> Result<()> {
        let mut into = vec![0u8; BYTES];
        self.messages.scope(|scope| {
            let received = self.is_victim.then(|| scope.irecv(&mut into, 0, 0)).transpose()?;
            self.redirect_spot()?;
            if let Some(received) = received {
                self.messages.send(&[SPOILT; BYTES], 0, 0)?;
                assert_eq!(scope.wait_receive(received)?, BYTES);
            }
            Ok(())
        })?;
        self.check();
        assert!(!self.is_victim || into == [SPOILT; BYTES]);
        Ok(())
    }

    /// The attacker says that it is the victim's process, and that it wants the message where the canary is.
    fn process(&self) -> Result<()> {
        let processes = self.job.symmetric::<u64>(1)?;
        processes.set(0, std::process::id() as u64);
        self.attack(|segment, _| {
            let victim = self.job.pull_one(processes.at(0, 0)).unwrap();
            // State (joined), process, address of a word there, its value.
            let life = |process: u64| segment.search(move |[state, of, ..]: [u64; 4]| state == 1 && of == process)[0];
            let (from, to) = (life(victim), life(std::process::id() as u64));
            (1..4).for_each(|index| {
                let word = segment.word(from + 8 * index).load(Ordering::SeqCst);
                segment.word(to + 8 * index).store(word, Ordering::SeqCst);
            });
        })?;
        let mut into = vec![0u8; BYTES];
        self.messages.scope(|scope| {
            let received = (!self.is_victim).then(|| scope.irecv(&mut into, 0, 0)).transpose()?;
            self.redirect_spot()?;
            match received {
                None => println!("{:?}", self.messages.send(&[SPOILT; BYTES], 1, 0)),
                Some(received) => println!("{:?}", scope.wait_receive(received)),
            }
            Ok(())
        })?;
        self.job.barrier()?;
        self.check();
        Ok(())
    }

    /// The attacker changes where the victim wants its message, and sends it. Its library writes where that is now, as it could
    /// itself; withheld from that, its words do no harm.
    fn lent(&self) -> Result<()> {
        if !self.is_victim {
            reach::withhold();
        }
        let mut into = vec![0u8; BYTES];
        self.messages.scope(|scope| {
            let received = self.is_victim.then(|| scope.irecv(&mut into, 1, 0)).transpose()?;
            self.redirect_spot()?;
            match received {
                None => println!("{:?}", self.messages.send(&[SPOILT; BYTES], 0, 0)),
                Some(received) => println!("{:?}", scope.wait_receive(received)),
            }
            Ok(())
        })?;
        self.check();
        Ok(())
    }

    /// The victim receives from a third rank, which also writes into its area, and the attacker changes where both are.
    fn third(&self) -> Result<()> {
        let (mut into, is_third) = (vec![0u8; BYTES], self.job.rank() == 2);
        let area = self.is_victim.then(|| self.job.register(5, vec![0u8; BYTES])).transpose()?;
        self.redirect_area()?;
        if is_third {
            let opened = self.job.open_area::<u8>(0, 5)?;
            self.job.push(opened.at(0), &[SPOILT; BYTES])?;
            self.job.flush(0)?;
        }
        self.job.barrier()?;
        self.check();
        assert!(area.is_none_or(|area| area.into_vec() == [SPOILT; BYTES]));
        self.messages.scope(|scope| {
            let received = self.is_victim.then(|| scope.irecv(&mut into, 2, 0)).transpose()?;
            self.attack(|segment, address| {
                // Start, bytes, mapped, in one piece.
                let is_want = |[_, bytes, mapped, shape]: [u64; 4]| {
                    bytes == BYTES as u64 && mapped <= 1 && shape == (u32::MAX as u64) << 32
                };
                let places = segment.search(is_want);
                assert!(!places.is_empty(), "the want is nowhere");
                for place in places {
                    segment.word(place).store(address, Ordering::SeqCst);
                    segment.word(place + 16).store(0, Ordering::SeqCst);
                }
            })?;
            if is_third {
                self.messages.send(&[SPOILT; BYTES], 0, 0)?;
            }
            received.map_or(Ok(BYTES), |received| scope.wait_receive(received)).map(drop)
        })?;
        self.check();
        assert!(!self.is_victim || into == [SPOILT; BYTES]);
        Ok(())
    }

    /// The attacker changes what the victim said of itself when a group is made: it belongs to it nevertheless, with its own
    /// memory.
    fn group(&self) -> Result<()> {
        let world = self.job.new_world()?;
        // Asking for the same all the time, a writer of its own.
        let stop = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|threads| {
            if !self.is_victim {
                threads.spawn(|| {
                    let segment = Segment::find();
                    while !stop.load(Ordering::Relaxed) {
                        // Answer (joins), color, key (the rank), start.
                        segment.replace(
                            |[answer, color, key, _]: [u64; 4]| answer == 2 && color == 9 && key == 0,
                            0,
                            1,
                        );
                    }
                });
            }
            for _ in 0..200 {
                match world.split(Some(9), self.job.rank() as i64) {
                    Ok(group) => drop(group.map(|group| group.rank())),
                    Err(error) => println!("{error}"),
                }
            }
            stop.store(true, Ordering::Relaxed);
        });
        Ok(())
    }
}
