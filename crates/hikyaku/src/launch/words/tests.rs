//! What is said comes across; what makes no sense does not.

use super::*;
use crate::launch::order::sample;

fn to_agent() -> Vec<ToAgent> {
    let departure = Departure { state: State::Left, arrivals: 7 };
    vec![
        ToAgent::Order(Box::new(sample())),
        ToAgent::Go(Go { heap_half_bytes: 1 << 30, machine_ranks: 4, machine_ranks_before: 2 }),
        ToAgent::Table { endpoints: vec![b"10.0.0.1:99".as_slice().into(), Box::default()] },
        ToAgent::Refuse { rank: 1, absence: Absence::Left },
        ToAgent::Refuse { rank: 1, absence: Absence::Late(Duration::from_millis(1500)) },
        ToAgent::News { rank: 3, departure },
        ToAgent::News { rank: 4, departure: Departure { state: State::Parted, arrivals: 1 } },
        ToAgent::Signal(15),
        ToAgent::Input(b"text\n".to_vec()),
        ToAgent::Shown(12345),
        ToAgent::Unread { rank: 2, is_error: true },
        ToAgent::Alive,
    ]
}

fn to_launcher() -> Vec<ToLauncher> {
    let departure = Departure { state: State::Dead, arrivals: 0 };
    let blame = Some(Blame { rank: 0, was_dead: true });
    vec![
        ToLauncher::Hi(Hi::here()),
        ToLauncher::Ready { heap_half_bytes: 1 << 30, machine: b"7f3a".as_slice().into() },
        ToLauncher::Started { processes: vec![7, 8] },
        ToLauncher::Failed("no such file".into()),
        ToLauncher::CannotStart { program: "./solve".into(), reason: "no such file".into(), exists: false },
        ToLauncher::Arrived { rank: 1, endpoint: b"name".as_slice().into() },
        ToLauncher::Ended(Ended { rank: 2, ending: Ending::Killed(9), joined: true, departure, blame: None }),
        ToLauncher::Ended(Ended { rank: 2, ending: Ending::Exited(3), joined: false, departure, blame }),
        ToLauncher::Output { rank: 1, is_error: false, bytes: b"line\n".to_vec() },
        ToLauncher::Consumed(5),
        ToLauncher::Deaf,
        ToLauncher::Finished,
        ToLauncher::Alive,
    ]
}

#[test]
fn what_is_said_comes_across() {
    for said in to_agent() {
        let bytes = said.encode();
        assert_eq!(ToAgent::decode(&bytes).map(|heard| heard.encode()), Some(bytes), "{said:?}");
    }
    for said in to_launcher() {
        assert_eq!(ToLauncher::decode(&said.encode()), Some(said));
    }
}

#[test]
fn another_protocol_is_not_taken_for_this_one() {
    let mut bytes = to_agent()[0].encode();
    assert!(ToAgent::decode(&bytes).is_some());
    bytes[9] ^= 1;
    assert!(ToAgent::decode(&bytes).is_none());
}

#[test]
fn a_text_is_cut_and_cleaned() {
    let long = "x".repeat(2 * TEXT_BYTES_MAX);
    let heard = ToLauncher::decode(&ToLauncher::Failed(long).encode());
    assert!(matches!(heard, Some(ToLauncher::Failed(text)) if text.len() == TEXT_BYTES_MAX));
    let heard = ToLauncher::decode(&ToLauncher::Failed("red\x1b[31m\n".into()).encode());
    assert_eq!(heard, Some(ToLauncher::Failed("red[31m\n".into())));
}

#[test]
fn fuzz_agent() {
    let samples: Vec<Vec<u8>> =
        to_agent().iter().map(ToAgent::encode).chain(to_launcher().iter().map(ToLauncher::encode)).collect();
    crate::fuzz::run("agent", &samples, |input| {
        if let Some(heard) = ToAgent::decode(input) {
            assert!(ToAgent::decode(&heard.encode()).is_some());
        }
        if let Some(heard) = ToLauncher::decode(input) {
            assert_eq!(ToLauncher::decode(&heard.encode()), Some(heard));
        }
    });
}
