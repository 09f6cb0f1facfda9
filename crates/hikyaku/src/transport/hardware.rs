//! What some networks do for all ranks of a job at once. The layers above ask for it, and do without where there is none.

use crate::error::Result;
use crate::transport::Parcel;

/// What a network has of this.
pub(crate) trait Hardware: Send + Sync {
    /// How it reaches all ranks at once, if it does.
    fn multicast(&self) -> Option<&dyn Multicast>;

    /// How it finds out that all ranks have come, if it does.
    fn barrier(&self) -> Option<&dyn NetworkBarrier>;
}

/// One packet to all other ranks.
pub(crate) trait Multicast {
    /// Sends a parcel of this rank to all other ranks; false while there is no room. Each of them gets it once, and in order
    /// with everything else that this rank sends to it.
    fn multicast(&self, parcel: &Parcel) -> Result<bool>;

    /// Bytes of one of the static buffers that data go through, if the network says so.
    fn buffer_bytes(&self) -> Option<usize>;
}

/// A barrier of all ranks. Those who name the same color wait for each other.
pub(crate) trait NetworkBarrier {
    /// This rank has come. It comes again only after it has passed.
    fn arrive(&self, color: u64);

    /// Whether all have come since; true once.
    fn has_passed(&self, color: u64) -> bool;
}
