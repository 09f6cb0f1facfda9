//! Who is where in a job over several hosts, and how each is reached: what every rank is told with its welcome.
//!
//! It travels as a file without a name that is sealed against every change, one per host: 4,096 ranks fit, and a rank reads
//! what nobody can alter meanwhile.

use super::bytes::{Reader, Writer};
use super::wire::ENDPOINT_BYTES_MAX;
use crate::error::{Error, Result};
use crate::ni::random;
use rustix::fs::{MemfdFlags, SealFlags};
use std::os::fd::{AsFd, OwnedFd};

/// The most ranks a job has.
pub const RANK_COUNT_MAX: usize = 1 << 16;

const MAGIC: u64 = u64::from_be_bytes(*b"hikyakuN");
const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::WRITE).union(SealFlags::SEAL);
/// The largest file that says it.
const BYTES_MAX: u64 = (64 + RANK_COUNT_MAX * (2 * size_of::<u32>() + ENDPOINT_BYTES_MAX)) as u64;

/// What only the ranks of one job know. Its bytes are wiped when it is dropped, and never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret([u8; 32]);

impl Secret {
    /// A new one.
    pub fn random() -> Result<Secret> {
        let mut secret = Secret([0; 32]);
        for word in secret.0.chunks_exact_mut(8) {
            word.copy_from_slice(&random()?.to_ne_bytes());
        }
        Ok(secret)
    }

    /// One that came from elsewhere.
    pub fn from_bytes(bytes: [u8; 32]) -> Secret {
        Secret(bytes)
    }

    /// Its bytes, to be given to those who may know them and to nobody else.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        wipe(&mut self.0);
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// Overwrites bytes that nobody will read any more, which a compiler would leave out.
pub fn wipe(bytes: &mut [u8]) {
    bytes.fill(0);
    std::hint::black_box(bytes);
}

/// Who is where, and how each is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighborhood {
    /// The host of each rank, counted from 0.
    pub host_of: Vec<u32>,
    /// How the transport of each rank is reached, in the transport's own words; empty if it has none.
    pub endpoints: Vec<Box<[u8]>>,
    /// What proves that somebody belongs to the job.
    pub secret: Secret,
}

impl Neighborhood {
    /// How many hosts there are.
    pub fn host_count(&self) -> usize {
        self.host_of.iter().max().map_or(0, |last| *last as usize + 1)
    }

    /// How many ranks are on the host of `rank`, and how many of them come before it.
    pub fn near(&self, rank: usize) -> (usize, usize) {
        let is_near = |other: &u32| *other == self.host_of[rank];
        let before = self.host_of[..rank].iter().filter(|other| is_near(other)).count();
        (self.host_of.iter().filter(|other| is_near(other)).count(), before)
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.u64(MAGIC).raw(self.secret.bytes()).count(self.host_of.len());
        for (host, endpoint) in self.host_of.iter().zip(&self.endpoints) {
            writer.u32(*host).bytes(endpoint);
        }
        writer.finish()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Neighborhood> {
        let mut reader = Reader::new(bytes);
        if reader.u64()? != MAGIC {
            return None;
        }
        let secret = Secret::from_bytes(reader.array()?);
        let entry = |reader: &mut Reader<'_>| Some((reader.u32()?, reader.bytes(ENDPOINT_BYTES_MAX)?.into()));
        let (host_of, endpoints): (Vec<u32>, Vec<Box<[u8]>>) = reader.list(RANK_COUNT_MAX, entry)?.into_iter().unzip();
        are_hosts(&host_of).then_some(())?;
        reader.end(Neighborhood { host_of, endpoints, secret })
    }

    /// A file that says all this and that nobody can change.
    pub fn to_file(&self) -> Result<OwnedFd> {
        let file = rustix::fs::memfd_create("hikyaku-hosts", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)
            .map_err(|e| Error::system("memfd_create", e))?;
        let mut bytes = self.to_bytes();
        let written = write_all(&file, &bytes);
        wipe(&mut bytes);
        written?;
        rustix::fs::fcntl_add_seals(&file, SEALS).map_err(|e| Error::system("fcntl(F_ADD_SEALS)", e))?;
        Ok(file)
    }

    /// Reads such a file, after checking that nobody can change it.
    pub fn from_file(file: impl AsFd) -> Result<Neighborhood> {
        let strange = || Error::Launcher { reason: "what the launcher says of the hosts makes no sense".into() };
        let file = file.as_fd();
        let seals = rustix::fs::fcntl_get_seals(file).map_err(|e| Error::system("fcntl(F_GET_SEALS)", e))?;
        let size = rustix::fs::fstat(file).map_err(|e| Error::system("fstat", e))?.st_size as u64;
        if !seals.contains(SEALS) || size > BYTES_MAX {
            return Err(strange());
        }
        let mut bytes = vec![0; size as usize];
        let mut filled = 0;
        while filled < bytes.len() {
            match rustix::io::pread(file, &mut bytes[filled..], filled as u64) {
                Ok(0) => return Err(strange()),
                Ok(count) => filled += count,
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(Error::system("pread", error)),
            }
        }
        let found = Neighborhood::from_bytes(&bytes);
        wipe(&mut bytes);
        found.ok_or_else(strange)
    }
}

/// Whether these can be the hosts of ranks: every host from 0 to the last has one.
pub fn are_hosts(host_of: &[u32]) -> bool {
    let mut seen = vec![false; host_of.len()];
    host_of.iter().all(|host| seen.get_mut(*host as usize).map(|seen| *seen = true).is_some())
        && !host_of.is_empty()
        && seen.iter().skip_while(|seen| **seen).all(|seen| !seen)
}

fn write_all(file: &OwnedFd, mut bytes: &[u8]) -> Result<()> {
    while !bytes.is_empty() {
        match rustix::io::write(file, bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(Error::system("write", error)),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(size: usize) -> Neighborhood {
        let endpoints = (0..size).map(|rank| vec![rank as u8; rank % (ENDPOINT_BYTES_MAX + 1)].into()).collect();
        let host_of = (0..size).map(|rank| rank as u32 % 3).collect();
        Neighborhood { host_of, endpoints, secret: Secret::random().unwrap() }
    }

    #[test]
    fn many_ranks_fit() {
        let sample = sample(4096);
        assert_eq!(Neighborhood::from_file(sample.to_file().unwrap()).unwrap(), sample);
        assert_eq!(sample.host_count(), 3);
        assert_eq!(sample.near(4), (1365, 1), "of the ranks 1, 4, 7, ...");
    }

    #[test]
    fn a_file_that_can_be_changed_is_refused() {
        let file = rustix::fs::memfd_create("x", MemfdFlags::ALLOW_SEALING).unwrap();
        write_all(&file, &sample(4).to_bytes()).unwrap();
        assert!(Neighborhood::from_file(&file).is_err());
        rustix::fs::fcntl_add_seals(&file, SEALS).unwrap();
        assert!(Neighborhood::from_file(&file).is_ok());
        assert!(rustix::io::write(&file, b"more").is_err());
    }

    #[test]
    fn layouts_that_cannot_be_are_refused() {
        assert!(are_hosts(&[0]) && are_hosts(&[1, 0, 1]) && are_hosts(&[0, 1, 2]));
        for wrong in [&[] as &[u32], &[1], &[0, 2], &[0, u32::MAX]] {
            assert!(!are_hosts(wrong), "{wrong:?}");
        }
    }

    #[test]
    fn the_secret_is_not_shown() {
        assert_eq!(format!("{:?}", Secret::from_bytes([7; 32])), "Secret(..)");
        assert_ne!(Secret::random().unwrap(), Secret::random().unwrap());
    }

    #[test]
    fn fuzz_neighborhood() {
        let samples = [sample(3).to_bytes(), sample(1).to_bytes(), sample(40).to_bytes()];
        crate::fuzz::run("neighborhood", &samples, |input| {
            if let Some(read) = Neighborhood::from_bytes(input) {
                assert_eq!(read.to_bytes(), input);
                assert!(read.host_count() <= read.host_of.len() && read.endpoints.len() == read.host_of.len());
            }
        });
    }
}
