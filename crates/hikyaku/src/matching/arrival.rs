//! Messages that wait for their receives.

use super::wire::Offer;

/// What is known of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Envelope {
    pub source: usize,
    pub key: u64,
    pub bytes: usize,
}

/// A message that waits for its receive.
#[derive(Debug)]
pub(super) struct Arrival {
    pub source: u32,
    pub key: u64,
    pub content: Content,
}

#[derive(Debug)]
pub(super) enum Content {
    Short(u8, [u8; SHORT_MAX]),
    Long(Box<[u8]>),
    Offered(Offer),
}

const SHORT_MAX: usize = 32;

impl Content {
    pub fn of(data: &[u8]) -> Content {
        if data.len() > SHORT_MAX {
            return Content::Long(data.into());
        }
        let mut bytes = [0; SHORT_MAX];
        bytes[..data.len()].copy_from_slice(data);
        Content::Short(data.len() as u8, bytes)
    }
}

impl Arrival {
    pub fn envelope(&self) -> Envelope {
        let bytes = match &self.content {
            Content::Short(bytes, _) => *bytes as usize,
            Content::Long(data) => data.len(),
            Content::Offered(offer) => offer.bytes,
        };
        Envelope { source: self.source as usize, key: self.key, bytes }
    }
}
