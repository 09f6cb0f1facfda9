//! Sending and receiving in one call, so that ranks that do it together do not wait for each other in a circle.

use crate::error::Result;
use crate::message::messages::Messages;
use crate::message::state::pending::Way;
use crate::ni::refuse_in_handler;
use bytemuck::Pod;

impl Messages<'_> {
    /// Sends `data` to slot `slot` of rank `to` and receives from slot `from_slot` of rank `from`, at the same time; gives the number of
    /// elements that came. Both may be the same rank, and the other side may use any calls: a message is a message.
    ///
    /// It returns when both have ended. After an error in one of them the other is waited for, unless its rank has ended.
    ///
    /// ```
    /// hikyaku::local(3, |job| {
    ///     let messages = job.messages(1)?;
    ///     let (next, previous) = ((job.rank() + 1) % 3, (job.rank() + 2) % 3);
    ///     // Longer than fits a buffer: if all sent first, all would wait for ever.
    ///     let (mine, mut theirs) = (vec![job.rank(); 100_000], vec![9; 100_000]);
    ///     assert_eq!(messages.sendrecv(&mine, next, 0, &mut theirs, previous, 0)?, 100_000);
    ///     assert!(theirs.iter().all(|rank| *rank == previous));
    ///     hikyaku::Result::Ok(())
    /// })
    /// .unwrap();
    /// ```
    #[track_caller]
    pub fn sendrecv<T: Pod, U: Pod>(
        &self,
        data: &[T],
        to: usize,
        slot: usize,
        into: &mut [U],
        from: usize,
        from_slot: usize,
    ) -> Result<usize> {
        // What can be wrong with the send is found before the receive is posted.
        refuse_in_handler()?;
        self.core.check(to, slot)?;
        self.core.check(from, from_slot)?;
        if !self.core.link(to).state().borrow().slots[slot].send.is_open(false) {
            return Err(self.core.slot_busy(to, slot));
        }
        self.scope(|scope| {
            let receive = scope.irecv(into, from, from_slot)?;
            // Without the send the other side need not send either: the receive must not be waited for.
            let withdraw = |_: &_| drop(self.core.withdraw(from, from_slot, Way::In));
            let send = scope.isend(data, to, slot).inspect_err(withdraw)?;
            let received = scope.wait_receive(receive)?;
            scope.wait_send(send)?;
            Ok(received)
        })
    }

    /// [`Messages::sendrecv`] in place: what is sent is in `data`, and what comes takes its place. The send goes from a copy.
    ///
    /// ```
    /// hikyaku::local(2, |job| {
    ///     let messages = job.messages(1)?;
    ///     let mut data = [job.rank(); 4];
    ///     messages.sendrecv_replace(&mut data, 1 - job.rank(), 0, 1 - job.rank(), 0)?;
    ///     assert_eq!(data, [1 - job.rank(); 4]);
    ///     hikyaku::Result::Ok(())
    /// })
    /// .unwrap();
    /// ```
    #[track_caller]
    pub fn sendrecv_replace<T: Pod>(
        &self,
        data: &mut [T],
        to: usize,
        slot: usize,
        from: usize,
        from_slot: usize,
    ) -> Result<usize> {
        let copy = data.to_vec();
        self.sendrecv(&copy, to, slot, data, from, from_slot)
    }
}
