//! Attacks on whoever gives a buffer up: the attacker says that somebody is at it. The victim comes out nevertheless, though the one
//! who is said to be at it lives and knows nothing of it.

use super::{BYTES, Scene};
use hikyaku::{Error, Result};
use hikyaku_testing::segment::Segment;
use std::sync::atomic::Ordering;

/// A deal of the first message of a slot, of which nothing was claimed; and the same for what was copied of it.
const OPEN: u64 = 1 << 32;
/// It was closed by its receiver.
const CLOSED: u64 = 1 << 31;
/// One chunk was claimed by the sender; by the receiver.
const FRONT: u64 = 1;
const BACK: u64 = 1 << 16;
const HANDLER: u16 = 1;

/// Where deals of these words are: claimed, copied, and nothing of refused, spoiled, lost.
fn find_deals(segment: &Segment, claimed: u64, copied: u64) -> Vec<usize> {
    let deals = segment.search(|deal: [u64; 5]| deal == [claimed, copied, 0, 0, 0]);
    assert!(!deals.is_empty(), "the deal is nowhere");
    deals
}

impl Scene<'_> {
    /// The victim gives up a receive from itself, and a send to itself, and the attacker says that somebody is copying.
    pub fn claimed(&self) -> Result<()> {
        let mut deals = Vec::new();
        let mut receive = self.messages.prepare_recv(vec![0u8; BYTES], 0, 0)?;
        if self.is_victim {
            receive.start()?;
        }
        self.attack(|segment, _| {
            // Claimed, copied, refused, spoiled, lost.
            deals = segment.search(|deal: [u64; 5]| deal == [OPEN, OPEN, 0, 0, 0]);
            assert!(!deals.is_empty(), "the deal is nowhere");
            deals.iter().for_each(|deal| segment.word(*deal).store(OPEN + 1, Ordering::SeqCst));
        })?;
        drop(receive);
        let mut send = self.messages.prepare_send(vec![0u8; BYTES], 0, 0)?;
        if self.is_victim {
            send.start()?;
        }
        self.attack(|segment, _| {
            for deal in &deals {
                segment.word(*deal).store(OPEN + 1, Ordering::SeqCst);
                segment.word(deal + 8).store(OPEN, Ordering::SeqCst);
            }
        })?;
        drop(send);
        Ok(())
    }

    /// The victim gives up a receive from a third rank, which is said to be copying. The attacker, which calls the victim meanwhile,
    /// is served, and says in the end that nobody copies. The victim may have left a buffer behind by then: so the deal must be closed,
    /// or the third rank takes it for one that is open and copies there.
    pub fn receiving(&self) -> Result<()> {
        let (rank, mut deals) = (self.job.rank(), Vec::new());
        self.job.register_handler(HANDLER, |context, message| drop(context.reply(message.arguments)))?;
        let mut receive = self.messages.prepare_recv(vec![0u8; BYTES], 2, 0)?;
        if self.is_victim {
            receive.start()?;
        }
        self.attack(|segment, _| {
            deals = find_deals(segment, OPEN, OPEN);
            deals.iter().for_each(|deal| segment.word(*deal).store(OPEN + FRONT, Ordering::SeqCst));
        })?;
        if rank == 1 {
            assert_eq!(self.job.call(0, HANDLER, [7; 6], &[])?, [7; 6]);
            let segment = Segment::find();
            deals.iter().for_each(|deal| segment.word(*deal).store(OPEN | CLOSED, Ordering::SeqCst));
        }
        drop(receive);
        self.job.barrier()?;
        match rank {
            0 => {
                let mut into = vec![0u8; BYTES];
                assert_eq!(self.messages.recv(&mut into, 2, 0)?, BYTES);
                assert_eq!(into, [3; BYTES]);
            }
            2 => self.messages.send(&[3u8; BYTES], 0, 0)?,
            _ => {}
        }
        Ok(())
    }

    /// The victim gives up a send to a third rank, which is said to be copying: the message goes on from a copy, or the third rank is
    /// told that there is none.
    pub fn sending(&self) -> Result<()> {
        let (rank, mut deals, mut into) = (self.job.rank(), Vec::new(), vec![0u8; BYTES]);
        let mut receive = self.messages.prepare_recv(vec![0u8; BYTES], 0, 0)?;
        if rank == 2 {
            receive.start()?;
        }
        // Withdrawn: so there is a deal to be found.
        drop(receive);
        let mut send = self.messages.prepare_send(vec![1u8; BYTES], 2, 0)?;
        self.job.barrier()?;
        if self.is_victim {
            send.start()?;
        }
        self.attack(|segment, _| {
            deals = find_deals(segment, OPEN | CLOSED, OPEN);
            deals.iter().for_each(|deal| segment.word(*deal).store(OPEN + BACK, Ordering::SeqCst));
        })?;
        drop(send);
        self.attack(|segment, _| {
            deals.iter().for_each(|deal| segment.word(deal + 8).store(OPEN + 1, Ordering::SeqCst));
        })?;
        match rank {
            0 => self.messages.send(&[2u8; BYTES], 2, 0)?,
            2 => {
                match self.messages.recv(&mut into, 0, 0) {
                    Ok(bytes) => assert_eq!((bytes, &into[..]), (BYTES, &[1u8; BYTES][..])),
                    Err(error) => assert!(matches!(error, Error::Refused { rank: 0, .. }), "{error}"),
                }
                assert_eq!(self.messages.recv(&mut into, 0, 0)?, BYTES);
                assert_eq!(into, [2; BYTES]);
            }
            _ => {}
        }
        Ok(())
    }

    /// The victim takes areas away, in one of which a third rank is said to be inside. What it gets back is its own, and the third
    /// rank goes on.
    pub fn inside(&self) -> Result<()> {
        const PUSHES: u64 = 5501;
        let rank = self.job.rank();
        let mapped = self.is_victim.then(|| self.job.area::<u64>(5, 1)).transpose()?;
        let vector = self.is_victim.then(|| self.job.register(6, vec![4u64; 100])).transpose()?;
        self.job.barrier()?;
        if rank == 2 {
            let opened = self.job.open_area::<u64>(0, 5)?;
            (0..PUSHES).try_for_each(|number| self.job.push(opened.at(0), &[number]))?;
        }
        self.attack(|segment, _| {
            // In and out are one each; nothing else is that high.
            let guards = segment.search(|[count]: [u64; 1]| (2 * PUSHES..2 * PUSHES + 8).contains(&count));
            assert!(!guards.is_empty(), "the guard is nowhere");
            guards.iter().for_each(|guard| _ = segment.word(*guard).fetch_or(1, Ordering::SeqCst));
        })?;
        drop(mapped);
        assert!(vector.is_none_or(|area| area.into_vec() == [4; 100]));
        self.job.barrier()?;
        let again = self.is_victim.then(|| self.job.area::<u64>(5, 1)).transpose()?;
        self.job.barrier()?;
        if rank == 2 {
            self.job.push(self.job.open_area::<u64>(0, 5)?.at(0), &[9])?;
        }
        self.job.barrier()?;
        assert!(again.is_none_or(|area| area.into_vec() == [9]));
        Ok(())
    }
}
