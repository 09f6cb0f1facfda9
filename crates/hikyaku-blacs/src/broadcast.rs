//! From one process to all of its scope.

use crate::error::{Outcome, Trouble};
use crate::grid::Grid;
use crate::matrix::Matrix;
use crate::scope::{Circle, Scope};
use crate::topology::Topology;

/// Bytes of a piece in which a matrix is broadcast by a group. The same for all, whether a matrix lies in one piece or not:
/// some members may have it in one piece, others not.
const PIECE: usize = 1 << 20;

impl Grid<'_> {
    /// Sends a matrix to all processes of a scope.
    pub fn broadcast(&self, scope: u8, topology: u8, matrix: &Matrix) -> Outcome<()> {
        let (circle, topology) = self.plan(scope, topology)?;
        match topology {
            Topology::Default => self.broadcast_by_group(circle.scope, matrix, circle.me),
            _ => self.pass_on(circle, topology, matrix, matrix.bytes(), circle.me),
        }
    }

    /// Receives what the process at (`row`, `column`) sends to all of a scope.
    pub fn receive_broadcast(&self, scope: u8, topology: u8, matrix: &Matrix, row: i32, column: i32) -> Outcome<()> {
        let (circle, topology) = self.plan(scope, topology)?;
        let source = self.number_in(circle, row, column, ["RSRC", "CSRC"])?;
        if source == circle.me {
            return Err(Trouble::OwnBroadcast);
        }
        if topology == Topology::Default {
            return self.broadcast_by_group(circle.scope, matrix, source);
        }
        let parent = topology.parent(topology.distance(source, circle.me, circle.size), circle.size);
        let from = circle.member(topology.number(source, parent, circle.size));
        let bytes = self.channel(circle.scope).receive(self.messages(), matrix, from)?;
        self.pass_on(circle, topology, matrix, bytes, source)
    }

    fn plan(&self, scope: u8, topology: u8) -> Outcome<(Circle, Topology)> {
        Ok((self.circle(Scope::of(scope)?), Topology::of(topology, self.broadcasts.get())?))
    }

    /// Tells those who hear from this process.
    pub(crate) fn pass_on(
        &self,
        circle: Circle,
        topology: Topology,
        matrix: &Matrix,
        bytes: usize,
        source: usize,
    ) -> Outcome<()> {
        for child in topology.children(topology.distance(source, circle.me, circle.size), circle.size) {
            let member = circle.member(topology.number(source, child, circle.size));
            self.channel(circle.scope).send(self.messages(), matrix, bytes, member)?;
        }
        Ok(())
    }

    fn broadcast_by_group(&self, scope: Scope, matrix: &Matrix, source: usize) -> Outcome<()> {
        let Some(group) = self.group(scope) else { return Ok(()) };
        let bytes = matrix.bytes();
        if let Some(run) = matrix.run() {
            // SAFETY: elements of the matrix, the caller's; the source's are only read.
            let data = unsafe { std::slice::from_raw_parts_mut(run, bytes) };
            let broadcast = match bytes {
                0..=PIECE => group.broadcast(data, source),
                _ => data.chunks_mut(PIECE).try_for_each(|piece| group.broadcast(piece, source)),
            };
            return Ok(broadcast?);
        }
        let mut packed = vec![0; bytes.min(PIECE)];
        let mut walk = matrix.walk();
        for start in (0..bytes.max(1)).step_by(PIECE) {
            let piece = &mut packed[..PIECE.min(bytes - start)];
            if group.rank() == source {
                walk.gather(piece);
                group.broadcast(piece, source)?;
            } else {
                group.broadcast(piece, source)?;
                walk.scatter(piece);
            }
        }
        Ok(())
    }
}
