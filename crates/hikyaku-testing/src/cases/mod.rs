//! The cases, one file per theme. Those of the conformance suite are entered in [`crate::for_each_case`], those of messages and
//! collectives in the lists of their folders.

pub mod areas;
pub mod arguments;
pub mod atomics;
pub mod calls;
pub mod collective;
pub mod columns;
pub mod copies;
pub mod counting;
pub mod endpoints;
pub mod event;
pub mod fork;
pub mod handled;
pub mod handlers;
pub mod layers;
pub mod locks;
pub mod matched_parts;
pub mod matching;
pub mod memory;
pub mod message;
pub mod messages;
pub mod multicast;
pub mod ni_thread;
pub mod notification;
pub mod operations;
pub mod partial;
pub mod ports;
pub mod pressure;
pub mod regions;
pub mod registered;
pub mod status;
pub mod transfers;
pub mod waiting;
