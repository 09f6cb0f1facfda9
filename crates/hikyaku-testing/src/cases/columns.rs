//! Messages from and into columns: what arrives is the stream of bytes, whatever the shape on either side.

use crate::os;
use crate::support::{bytes, expect_error};
use hikyaku::message::{EAGER_MAX, Messages, Mode};
use hikyaku::{Error, Job};
use std::time::Duration;

/// A message so long after the start means that something is lost.
const LONG: Duration = Duration::from_secs(1000);
/// What lies between columns, and must stay.
const GAP: u8 = 0xEE;

/// Memory with columns in it.
struct Field {
    data: Vec<u8>,
    column: usize,
    pitch: usize,
    bytes: usize,
}

impl Field {
    fn new(column: usize, pitch: usize, bytes: usize) -> Field {
        Field { data: vec![GAP; bytes.div_ceil(column) * pitch + 64], column, pitch, bytes }
    }

    fn holding(column: usize, pitch: usize, stream: &[u8]) -> Field {
        let mut field = Field::new(column, pitch, stream.len());
        for (part, target) in stream.chunks(column).zip(field.data.chunks_mut(pitch)) {
            target[..part.len()].copy_from_slice(part);
        }
        field
    }

    fn columns(&self) -> [usize; 3] {
        [self.bytes, self.column, self.pitch]
    }

    fn receive(&mut self, messages: &Messages<'_>, rank: usize) -> hikyaku::Result<usize> {
        let columns = self.columns();
        os::recv_columns(messages, &mut self.data, columns, rank)
    }

    fn send(&mut self, messages: &Messages<'_>, rank: usize, patience: Duration) -> hikyaku::Result<bool> {
        let columns = self.columns();
        os::send_columns(messages, &mut self.data, columns, rank, patience)
    }

    /// Whether the stream, and nothing else, is in it.
    fn holds(&self, stream: &[u8]) -> bool {
        let mut expected = Field::holding(self.column, self.pitch, stream).data;
        expected.resize(self.data.len(), GAP);
        expected == self.data
    }
}

pub fn columns_of_any_shape_meet(job: &Job) {
    let messages = job.messages(1).unwrap();
    if !messages.takes_columns(1 - job.rank()) {
        return far_members_take_none(job, &messages);
    }
    let shapes = [(3, 5), (1000, 1000), (4096, 8192), (8000, 8001), (70_000, 100_000)];
    for len in [EAGER_MAX + 1, 64 << 10, 300_001] {
        let stream = bytes(len, len);
        for (from, into) in shapes.iter().flat_map(|from| shapes.map(|into| (*from, into))) {
            if job.rank() == 0 {
                let mut field = Field::holding(from.0, from.1, &stream);
                assert!(field.send(&messages, 1, LONG).unwrap());
            } else {
                let mut field = Field::new(into.0, into.1, len);
                assert_eq!(field.receive(&messages, 0).unwrap(), len);
                assert!(field.holds(&stream), "{len} bytes from {from:?} into {into:?}");
            }
        }
    }
    job.barrier().unwrap();
}

fn far_members_take_none(job: &Job, messages: &Messages<'_>) {
    let mut field = Field::holding(100, 200, &bytes(1, 100_000));
    assert!(!field.send(messages, 1 - job.rank(), LONG).unwrap());
    expect_error!(field.receive(messages, 1 - job.rank()), Error::Invalid(_));
    job.barrier().unwrap();
}

pub fn columns_take_messages_of_every_kind(job: &Job) {
    let messages = job.messages(1).unwrap();
    if !messages.takes_columns(1 - job.rank()) {
        return far_members_take_none(job, &messages);
    }
    let streams = [1, 8, 64, 1000, EAGER_MAX, 100_000].map(|len| bytes(len, len));
    if job.rank() == 0 {
        messages.set_spare(1 << 20).unwrap();
        for mode in [Mode::Standard, Mode::Synchronous, Mode::Spool(Duration::ZERO)] {
            messages.set_mode(mode);
            streams.iter().for_each(|stream| messages.send(stream, 1, 0).unwrap());
        }
        streams.iter().for_each(|stream| messages.send_owned(stream.as_slice().into(), 1, 0).unwrap());
        // And columns are received in one piece.
        messages.set_mode(Mode::Standard);
        let mut field = Field::holding(7, 9, &streams[5]);
        assert!(field.send(&messages, 1, LONG).unwrap());
    } else {
        for stream in (0..4).flat_map(|_| &streams) {
            let mut field = Field::new(7, 9, 120_000);
            assert_eq!(field.receive(&messages, 0).unwrap(), stream.len());
            assert!(field.holds(stream), "{} bytes", stream.len());
        }
        let mut got = vec![0u8; 120_000];
        assert_eq!(messages.recv(&mut got, 0, 0).unwrap(), 100_000);
        assert!(got.starts_with(&streams[5]));
    }
    job.barrier().unwrap();
}

pub fn columns_that_nobody_waits_for_are_not_sent(job: &Job) {
    let messages = job.messages(1).unwrap();
    let stream = bytes(3, 100_000);
    if job.rank() == 0 {
        let mut field = Field::holding(1000, 3000, &stream);
        assert!(!field.send(&messages, 1, Duration::from_millis(1)).unwrap());
        assert!(!Field::holding(100, 200, &stream[..EAGER_MAX]).send(&messages, 1, LONG).unwrap(), "too short to wait");
        messages.send(&[7u8], 1, 0).unwrap();
    }
    job.barrier().unwrap();
    if job.rank() == 1 {
        let mut got = vec![0u8; 100_000];
        assert_eq!((messages.recv(&mut got, 0, 0).unwrap(), got[0]), (1, 7), "what was not sent did not come");
    }
    job.barrier().unwrap();
}

pub fn columns_that_do_not_fit_are_refused(job: &Job) {
    let messages = job.messages(1).unwrap();
    if !messages.takes_columns(1 - job.rank()) {
        return far_members_take_none(job, &messages);
    }
    let stream = bytes(5, 100_000);
    if job.rank() == 0 {
        let mut field = Field::holding(1000, 3000, &stream);
        expect_error!(field.send(&messages, 1, LONG), Error::Truncated { bytes: 100_000, .. });
        let mut send = |column, pitch| os::send_columns(&messages, &mut field.data, [100_000, column, pitch], 1, LONG);
        expect_error!(send(0, 10), Error::Invalid(_));
        expect_error!(send(1, usize::MAX), Error::Invalid(_));
    } else {
        let mut field = Field::new(1000, 3000, 99_999);
        expect_error!(field.receive(&messages, 0), Error::Truncated { bytes: 100_000, .. });
        assert!(field.holds(&[]), "nothing was written");
    }
    job.barrier().unwrap();
}
