//! Messages by slots: every mode and size, and misuse. Each case is what every rank runs.
//! `programs` are random ones, and the model they are compared with.

mod anywhere;
mod exchange;
mod prepared;
pub mod programs;
mod sizeless;
mod slots;
mod spooled;
mod under_way;

use hikyaku::message::EAGER_MAX;
use hikyaku::{Job, Result};

/// A case: its name, how many ranks it needs, and what each of them runs.
pub type Case = (&'static str, usize, fn(&Job) -> Result<()>);

/// All cases.
pub const CASES: &[Case] = &[
    ("every_size_arrives_in_every_mode", 2, slots::every_size_arrives_in_every_mode),
    ("a_rank_sends_to_itself", 1, slots::a_rank_sends_to_itself),
    (
        "a_buffer_is_its_owners_again_when_its_send_returns",
        2,
        slots::a_buffer_is_its_owners_again_when_its_send_returns,
    ),
    ("a_synchronous_send_waits_for_its_receive", 2, slots::a_synchronous_send_waits_for_its_receive),
    (
        "buffered_sends_return_at_once_and_leave_by_themselves",
        2,
        spooled::buffered_sends_return_at_once_and_leave_by_themselves,
    ),
    ("a_send_is_spooled_when_its_time_is_over", 2, spooled::a_send_is_spooled_when_its_time_is_over),
    (
        "a_full_spare_buffer_makes_sends_wait_and_loses_nothing",
        2,
        spooled::a_full_spare_buffer_makes_sends_wait_and_loses_nothing,
    ),
    ("all_send_and_receive_in_a_circle", 3, exchange::all_send_and_receive_in_a_circle),
    ("a_wrong_exchange_is_refused", 2, exchange::a_wrong_exchange_is_refused),
    ("a_message_is_probed", 2, exchange::a_message_is_probed),
    ("receives_give_up_and_lose_nothing", 2, exchange::receives_give_up_and_lose_nothing),
    ("waits_for_operations_under_way_give_up", 2, exchange::waits_for_operations_under_way_give_up),
    ("receives_from_any_slot", 2, anywhere::receives_from_any_slot),
    (
        "receives_from_any_rank_keep_each_senders_order_and_hold_floods_back",
        4,
        anywhere::receives_from_any_rank_keep_each_senders_order_and_hold_floods_back,
    ),
    (
        "a_message_that_does_not_fit_is_an_error_and_writes_nothing",
        2,
        slots::a_message_that_does_not_fit_is_an_error_and_writes_nothing,
    ),
    ("a_slot_is_not_used_twice_at_once", 2, slots::a_slot_is_not_used_twice_at_once),
    (
        "an_early_receive_lets_the_send_go_without_the_receiver",
        2,
        under_way::an_early_receive_lets_the_send_go_without_the_receiver,
    ),
    ("a_scope_ends_its_operations_even_after_a_panic", 2, under_way::a_scope_ends_its_operations_even_after_a_panic),
    ("operations_under_way_go_on_in_every_wait", 3, under_way::operations_under_way_go_on_in_every_wait),
    ("receives_under_way_end_in_any_order", 3, under_way::receives_under_way_end_in_any_order),
    ("a_short_receive_under_way_can_be_given_up", 2, under_way::a_short_receive_under_way_can_be_given_up),
    ("receives_under_way_get_what_waits_behind_others", 2, under_way::receives_under_way_get_what_waits_behind_others),
    ("a_handle_of_another_scope_is_refused", 1, under_way::a_handle_of_another_scope_is_refused),
    (
        "messages_are_freed_while_operations_are_under_way",
        2,
        under_way::messages_are_freed_while_operations_are_under_way,
    ),
    ("operations_under_way_can_be_tested", 2, under_way::operations_under_way_can_be_tested),
    (
        "a_send_under_way_is_told_when_it_is_waited_for_that_it_did_not_fit",
        2,
        under_way::a_send_under_way_is_told_when_it_is_waited_for_that_it_did_not_fit,
    ),
    ("prepared_transfers_of_every_size", 2, prepared::prepared_transfers_of_every_size),
    (
        "a_prepared_transfer_keeps_its_slot_and_its_buffer",
        2,
        prepared::a_prepared_transfer_keeps_its_slot_and_its_buffer,
    ),
    ("spooled_sends_survive_their_messages", 2, spooled::spooled_sends_survive_their_messages),
    (
        "buffers_handed_over_keep_their_place_in_every_mode",
        2,
        spooled::buffers_handed_over_keep_their_place_in_every_mode,
    ),
    ("many_spooled_sends_of_many_slots", 2, spooled::many_spooled_sends_of_many_slots),
    ("groups_have_slots_of_their_own", 4, slots::groups_have_slots_of_their_own),
    ("sizeless_elements_in_every_mode", 2, sizeless::in_every_mode),
    ("sizeless_elements_from_anywhere", 2, sizeless::from_anywhere),
    ("sizeless_elements_under_way", 2, sizeless::under_way),
    ("sizeless_elements_prepared", 2, sizeless::prepared),
];

const SIZES: [usize; 13] = [0, 1, 7, 8, 9, 63, 64, 65, 1000, EAGER_MAX, EAGER_MAX + 1, 100_000, 1_000_003];

/// Bytes that tell messages apart.
pub fn pattern(seed: usize, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i * 31 + i / 251 + seed * 17) as u8).collect()
}
