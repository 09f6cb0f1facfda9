//! Promises of the transport between network namespaces joined by virtual cables: what real paths do that `lo` does not. They need
//! to be root, and say so otherwise.

use super::tests::{Taken, bytes, plain, post};
use super::*;
use crate::transport::core::{Loss, Posted, Token, Transport};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, mpsc};
use std::time::Instant;

const PATIENCE: Duration = Duration::from_secs(60);

/// Two hosts with a router between them; gone when dropped.
struct Hosts {
    /// Namespaces: the hosts, and the router.
    names: [String; 3],
}

impl Hosts {
    /// `None` where this user may not make namespaces.
    fn new() -> Option<Hosts> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let id = format!("{}x{}", std::process::id() % 100_000, COUNT.fetch_add(1, Ordering::Relaxed));
        let hosts = Hosts { names: ["a", "b", "r"].map(|name| format!("hk{name}{id}")) };
        if !hosts.names.iter().all(|name| ip(&["netns", "add", name])) {
            eprintln!("not root, or no ip command: nothing was tested");
            return None;
        }
        for (host, subnet) in [(0, "10.99.1"), (1, "10.99.2")] {
            let (name, router) = (&hosts.names[host], &hosts.names[2]);
            let (here, there) = (format!("v{name}"), format!("w{name}"));
            let made = ip(&["link", "add", &here, "netns", name, "type", "veth", "peer", &there, "netns", router])
                && ip(&["-n", name, "addr", "add", &format!("{subnet}.1/24"), "dev", &here])
                && ip(&["-n", router, "addr", "add", &format!("{subnet}.2/24"), "dev", &there])
                && ip(&["-n", name, "link", "set", &here, "up"])
                && ip(&["-n", router, "link", "set", &there, "up"])
                && ip(&["-n", name, "route", "add", "default", "via", &format!("{subnet}.2")]);
            assert!(made, "cables");
        }
        assert!(ip(&["netns", "exec", &hosts.names[2], "sysctl", "-qw", "net.ipv4.ip_forward=1"]));
        Some(hosts)
    }

    /// Sets what the cable of a host takes, seen from the router and from the host.
    fn set_mtu(&self, host: usize, router_side: u32, host_side: u32) {
        let name = &self.names[host];
        assert!(ip(&["-n", &self.names[2], "link", "set", &format!("w{name}"), "mtu", &router_side.to_string()]));
        assert!(ip(&["-n", name, "link", "set", &format!("v{name}"), "mtu", &host_side.to_string()]));
    }

    fn cut(&self, host: usize) {
        assert!(ip(&["-n", &self.names[2], "link", "set", &format!("w{}", self.names[host]), "down"]));
    }

    /// Runs `act` on both hosts, each in a thread of its own with its endpoint.
    fn run(&self, config: &Config, act: impl Fn(usize, &Endpoint) + Sync) {
        let ready = Barrier::new(2);
        let (telling, told): (Vec<_>, Vec<_>) = (0..2).map(|_| mpsc::channel()).unzip();
        std::thread::scope(|scope| {
            for (host, (other, told)) in telling.into_iter().rev().zip(told).enumerate() {
                let (act, ready) = (&act, &ready);
                scope.spawn(move || {
                    enter(&self.names[host]);
                    let bind = format!("10.99.{}.1:0", host + 1).parse().unwrap();
                    let bound = Bound::new(Config { bind, ..config.clone() }).unwrap();
                    let mine = bound.address().unwrap();
                    other.send(mine).unwrap();
                    let mut addresses = [Some(mine), Some(told.recv().unwrap())];
                    addresses.rotate_right(host);
                    let end = bound.start(host, addresses.to_vec()).unwrap();
                    ready.wait();
                    act(host, &end);
                });
            }
        });
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for name in &self.names {
            ip(&["netns", "del", name]);
        }
    }
}

fn ip(arguments: &[&str]) -> bool {
    let output = Command::new("ip").args(arguments).output();
    output.is_ok_and(|output| output.status.success())
}

/// Moves this thread into a network namespace.
fn enter(name: &str) {
    let file = std::fs::File::open(format!("/run/netns/{name}")).unwrap();
    rustix::thread::move_into_link_name_space(
        std::os::fd::AsFd::as_fd(&file),
        Some(rustix::thread::LinkNameSpaceType::Network),
    )
    .unwrap();
}

/// Sends and takes `count` messages each way, and calls `between` when half have been taken. Goes on until both ends are `finished`.
fn exchange(host: usize, end: &Endpoint, count: u64, finished: &AtomicUsize, between: impl Fn()) {
    let bodies: Vec<Vec<u8>> =
        (0..count).map(|number| bytes(number, [8, 1400, 9000, 57_344][number as usize % 4])).collect();
    let (mut taken, mut sent, mut lent) = (Taken::default(), 0, 0);
    let mut is_half = false;
    let start = Instant::now();
    while sent < count || taken.messages.len() < count as usize || taken.completed.len() < lent || !end.drained() {
        while sent < count && sent <= taken.messages.len() as u64 + 200 {
            match post(end, 1 - host, sent, &bodies[sent as usize], (sent % 2 == 1).then_some(Token(sent))) {
                Posted::Busy => break,
                Posted::Posted => lent += 1,
                Posted::Done => (),
            }
            sent += 1;
        }
        end.poll(&mut taken);
        if !is_half && taken.messages.len() as u64 >= count / 2 {
            is_half = true;
            between();
        }
        assert!(start.elapsed() < PATIENCE && taken.lost.is_empty(), "{:?} {:?}", taken.lost, end.counters());
    }
    for (number, (message, body)) in taken.messages.iter().zip(&bodies).enumerate() {
        assert_eq!((message.0, message.1), (1 - host, number as u64));
        assert!(message.2 == *body, "message {number}");
    }
    // The other may still want an answer.
    finished.fetch_add(1, Ordering::SeqCst);
    while finished.load(Ordering::SeqCst) < 2 {
        end.poll(&mut taken);
        assert!(start.elapsed() < PATIENCE, "{:?} {:?}", taken.lost, end.counters());
    }
}

#[test]
fn messages_cross_a_router() {
    let Some(hosts) = Hosts::new() else { return };
    let finished = AtomicUsize::new(0);
    hosts.run(&plain(), |host, end| exchange(host, end, 300, &finished, || ()));
}

#[test]
fn a_path_that_takes_less_than_its_first_cable_is_found_out() {
    let Some(hosts) = Hosts::new() else { return };
    let finished = AtomicUsize::new(0);
    hosts.set_mtu(1, 900, 900);
    hosts.run(&plain(), |host, end| exchange(host, end, 200, &finished, || ()));
}

#[test]
fn a_cable_that_takes_less_than_before_is_found_out() {
    let Some(hosts) = Hosts::new() else { return };
    let finished = AtomicUsize::new(0);
    hosts.run(&plain(), |host, end| {
        exchange(host, end, 300, &finished, || {
            if host == 0 {
                hosts.set_mtu(0, 600, 600);
            }
        });
    });
}

#[test]
fn a_cut_cable_is_noticed_at_both_ends_within_the_bound() {
    let Some(hosts) = Hosts::new() else { return };
    let config = Config { silence: Duration::from_secs(1), ..plain() };
    hosts.run(&config, |host, end| {
        let mut taken = Taken::default();
        let start = Instant::now();
        post(end, 1 - host, 1, &[], None);
        while taken.messages.is_empty() {
            end.poll(&mut taken);
            assert!(start.elapsed() < PATIENCE);
        }
        if host == 0 {
            hosts.cut(1);
        }
        while taken.lost.is_empty() {
            end.poll(&mut taken);
            assert!(start.elapsed() < PATIENCE);
        }
        assert!(matches!(&taken.lost[..], [(rank, Loss::Unreachable(tried))] if *rank == 1 - host && tried.contains("10.99.")));
    });
}
