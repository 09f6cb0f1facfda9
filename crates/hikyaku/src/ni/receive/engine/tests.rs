//! Packets that a peer may write: anything that fits a ring.

use super::*;
use crate::fuzz::{self, Reader};
use crate::ni::interface::Ni;
use crate::ni::wire::token;
use crate::transport::packet::verb;
use crate::{Commands, Register, Stride};
use std::cell::RefCell;
use std::sync::Arc;

/// In place of numbers that are known only when a job runs.
const SYMBOLS: u64 = 0xabcd_0000;
const BYTES: usize = 1000;
const GUARD: usize = 64;

/// A packet as an input has it: head, address, arguments, and the bytes that follow.
fn sample(handler: u16, kind: u8, address: u64, arguments: [u64; 6], payload: &[u8]) -> Vec<u8> {
    let head = [&handler.to_le_bytes()[..], &[kind, payload.len() as u8, 0, 0, 0, 0]].concat();
    let words = arguments.iter().flat_map(|word| word.to_le_bytes());
    let mut bytes = [&head[..], &address.to_le_bytes()].concat();
    bytes.extend(words);
    bytes.extend_from_slice(payload);
    bytes
}

/// The owner serves its peers from a registered area with guards on both sides, a mapped one, windows and its heap.
#[test]
fn fuzz_packets() {
    let result = crate::local(1, |job| {
        let ni: &Arc<Ni> = &job.ni;
        let mut memory = vec![0xAAu8; BYTES + 2 * GUARD];
        // SAFETY: it outlives the area, and is looked at through this pointer alone meanwhile.
        let private = unsafe { job.register_raw(3, memory.as_mut_ptr().add(GUARD), BYTES)? };
        let mapped = job.area::<u64>(4, 100)?;
        let table = job.symmetric::<u64>(50)?;
        let keys = [3, 4].map(|id| ni.look_up(0, id).unwrap().key);
        let heap_bytes = ni.memory.layout.heap_bytes() as u64;
        let aim = crate::Pointer::to(private.at(8))?;
        job.set_register(0, aim)?;
        let segment_bytes = ni.memory.segment.bytes() as u64;
        let symbols = [keys[0], keys[1], 0, heap_bytes, table.start as u64, segment_bytes, aim.word()];
        job.register_handler(0, |_, message| assert!(message.payload.len() <= PAYLOAD_MAX))?;
        job.register_handler(1, |context, message| drop(context.reply(message.arguments)))?;
        job.register_handler(2, |context, message| {
            drop(context.send(0, 0, message.address, message.arguments, message.payload));
        })?;
        let port = ni.take_port()?;
        let lane = RefCell::new(ni.take_lane(port));
        let [register, pointed, heap_id, window, meeting] = [1, 2, 3, 4, 5];
        let routed = |verb, arguments, payload: &[u8]| {
            sample(verb, kind::ROUTED, token::counted(0, 1, false), arguments, payload)
        };
        let samples = [
            sample(0, kind::USER, 7, [1; 6], b"payload"),
            sample(1, kind::CALL, token::called(0, 1), [1; 6], b""),
            sample(2, kind::USER, 7, [1; 6], b"payload"),
            sample(0, kind::ANSWER, token::called(1, 1), [1; 6], b"payload"),
            sample(0, kind::REFUSED, token::counted(1, 0, false), [2, kind::ROUTED as u64, 0, 0, 0, 0], b""),
            routed(verb::PUSH, [9, SYMBOLS, 8, 0, 0, 0], &[1; 40]),
            routed(verb::PUSH, [10, SYMBOLS + 1, 8, 0, 0, 0], &[1; 40]),
            routed(verb::PULL, [9, SYMBOLS, 8, 900, 0, 0], b""),
            routed(verb::PUSH, [heap_id, SYMBOLS + 2, SYMBOLS + 4, 0, 0, 0], &[1; 40]),
            routed(verb::PUSH, [meeting, SYMBOLS + 2, 64, 0, 0, 0], &[1; 40]),
            routed(verb::PUSH_THEN, [meeting, SYMBOLS + 2, 64, 64, 2, 0], &[1; 16]),
            routed(verb::PUSH_THEN, [heap_id, SYMBOLS + 2, 64, 128, 2, 0], &[1; 40]),
            routed(verb::PUSH_THEN, [window, 1 << 24, 0, SYMBOLS + 4, 1, 0], &[1; 40]),
            routed(verb::WORD, [10, SYMBOLS + 1, 16, 5, 0, 0], b""),
            routed(verb::COMPARE_SWAP, [9, SYMBOLS, 16, 5, 6, 0], b""),
            routed(verb::OPEN, [9, 0, 0, 0, 0, 0], b""),
            routed(verb::PUSH_THROUGH, [register, SYMBOLS + 2, 0, 4, 0, 0], &[1; 40]),
            routed(verb::PULL_THROUGH, [pointed, SYMBOLS + 2, SYMBOLS + 6, 40, 4, 0], b""),
        ];
        fuzz::run("packets", &samples, |input| {
            let mut input = Reader(input);
            let symbol = |word: u64| symbols.get((word ^ SYMBOLS) as usize).copied().unwrap_or(word);
            for _ in 0..4 {
                let head = input.word().to_le_bytes();
                let address = input.word();
                let arguments = std::array::from_fn(|_| symbol(input.word()));
                let payload = input.take(head[3] as usize);
                let packet = Packet {
                    handler: u16::from_le_bytes([head[0], head[1]]),
                    kind: head[2],
                    payload_bytes: payload.len() as u16,
                    address,
                    arguments,
                };
                let _ = lane.borrow_mut().try_send(ni, 0, &packet, payload);
            }
            assert!((0..100).any(|_| ni.progress() == Some(false)), "work without end");
            let _ = (job.sync(), job.flush(0));
            // SAFETY: beside the area, where nobody else writes.
            let guard = |at: usize| unsafe { private.as_ptr().wrapping_sub(GUARD).add(at).read() };
            let guards = (0..GUARD).chain(GUARD + BYTES..BYTES + 2 * GUARD);
            assert!(guards.into_iter().all(|at| guard(at) == 0xAA), "written beside an area");
        });
        // The areas are still there, and taken away in the end.
        assert_eq!(mapped.len(), 100);
        drop(private);
        assert!(memory[..GUARD].iter().all(|byte| *byte == 0xAA));
        crate::Result::Ok(())
    });
    result.unwrap().into_iter().for_each(|result| result.unwrap());
}

/// Commands that anybody may write, followed by their reader itself and by their owner's interface.
#[test]
fn fuzz_chains() {
    let result = crate::local(1, |job| {
        let ni: &Arc<Ni> = &job.ni;
        let mut memory = vec![0xAAu8; BYTES + 2 * GUARD];
        // SAFETY: it outlives the area, and is looked at through this pointer alone meanwhile.
        let private = unsafe { job.register_raw(3, memory.as_mut_ptr().add(GUARD), BYTES)? };
        let mapped = job.area::<u8>(4, 100)?;
        let list = Commands::new()
            .write(private.at(0), 40)?
            .write_blocks(mapped.at(3), Stride::new(2, 7, 10))?
            .read(private.at(900), 100)?
            .write_blocks(private.at(100), Stride::new(9, 30, 30))?
            .read_blocks(mapped.at(0), Stride::new(1, 3, 33))?;
        let chain = job.chain(6, &list)?;
        job.set_register(0, chain.pointer())?;
        let words = job.open_area::<u64>(0, 6)?;
        let mut original = vec![0u64; words.len()];
        job.pull(words.at(0), &mut original)?;
        let port = ni.take_port()?;
        let lane = RefCell::new(ni.take_lane(port));
        fuzz::run("chains", &[bytemuck::cast_slice(&original).to_vec()], |input| {
            let mut commands = original.clone();
            let given = input.len().min(size_of_val(&original[..]));
            bytemuck::cast_slice_mut::<u64, u8>(&mut commands)[..given].copy_from_slice(&input[..given]);
            job.push(words.at(0), &commands).unwrap();
            let register = Register { rank: 0, number: 0 };
            let _ = job.push_indirect(register, &[1u8; 300]);
            let _ = job.pull_indirect(register, &mut [0u8; 130]);
            let arguments = [1, 0, 0, 11, 0, 0];
            let packet =
                Packet { handler: verb::PUSH_THROUGH, kind: kind::ROUTED, payload_bytes: 90, address: 0, arguments };
            let _ = lane.borrow_mut().try_send(ni, 0, &packet, &[2; 90]);
            assert!((0..100).any(|_| ni.progress() == Some(false)), "work without end");
            // SAFETY: beside the area, where nobody else writes.
            let guard = |at: usize| unsafe { private.as_ptr().wrapping_sub(GUARD).add(at).read() };
            let guards = (0..GUARD).chain(GUARD + BYTES..BYTES + 2 * GUARD);
            assert!(guards.into_iter().all(|at| guard(at) == 0xAA), "written beside an area");
        });
        drop((chain, private, mapped));
        assert!(memory[..GUARD].iter().all(|byte| *byte == 0xAA));
        crate::Result::Ok(())
    });
    result.unwrap().into_iter().for_each(|result| result.unwrap());
}
