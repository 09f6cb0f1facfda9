//! The cases, one file per theme. Each is entered in [`crate::for_each_case`].

pub mod areas;
pub mod arguments;
pub mod atomics;
pub mod calls;
pub mod columns;
pub mod event;
pub mod fork;
pub mod handlers;
pub mod layers;
pub mod memory;
pub mod messages;
pub mod ni_thread;
pub mod notification;
pub mod operations;
pub mod ports;
pub mod pressure;
pub mod registered;
pub mod status;
pub mod waiting;
