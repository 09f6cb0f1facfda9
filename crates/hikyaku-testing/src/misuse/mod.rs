//! The misuse suite: programs in safe Rust that do what a program should not, one program per idea. They forget, leak,
//! panic, nest, call from handlers and functions, and drop in odd orders.
//!
//! Whatever they do, no memory is corrupted, nobody hangs who need not, and what fails is an error or a documented panic.
//! Each program runs on threads, on simulated hosts and as processes (`tests/misuse.rs`), and on threads under the sanitizers.
//!
//! | file | what is misused |
//! |---|---|
//! | `messages` | sends and receives, in scopes and prepared |
//! | `copies` | copies between ranks |
//! | `indirect` | pointers and chains |
//! | `functions` | functions that combine |
//! | `groups` | groups and scopes, and their ends |
//! | `disagreement` | calls that do not fit together |
//! | `handlers` | active messages, the interface's thread |
//! | `hosts` | jobs over several hosts, simulated ones |
//! | `counting` | barriers in two halves |
//! | `regions` | shared regions |
//! | `recipients` | multicasts into areas |
//! | `queues` | remote queues |
//! | `exchange` | message exchange, messages in packets |
//! | `pins` | areas that peers have pinned |
//! | `locks` | locks and their guards |
//! | `matching` | messages that are matched by keys |
//! | `memory` | areas, symmetric memory, registered vectors, ports, several jobs in one process |
//! | `pools` | ports that threads share |
//! | `tasks` | tasks, their data, and their wakers |
//! | `transfers` | pulls and pushes that go on beside the program |
//! | `handles` | handles of those: in lists, in other scopes, where nothing can be waited for |
//! | `workers` | messages and groups of several threads |
//! | `canary` | buffers that notice who writes to them |

#![forbid(unsafe_code)]

pub mod canary;
mod copies;
mod counting;
mod disagreement;
mod exchange;
mod functions;
mod groups;
mod handlers;
mod handles;
mod hosts;
mod indirect;
mod locks;
mod matching;
mod memory;
mod messages;
mod pins;
mod pools;
mod queues;
mod recipients;
mod regions;
mod tasks;
mod transfers;
mod workers;

use hikyaku::{Error, Job};

/// How a program of the suite ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Every rank returns.
    Well,
    /// At least one rank panics, and the job ends by it.
    Panics,
}

/// One idea, as a program.
#[derive(Clone, Copy)]
pub struct Program {
    /// Theme and name, as in `messages::a_receive_is_withdrawn_and_posted_again`.
    pub name: &'static str,
    /// How many ranks it needs.
    pub ranks: usize,
    /// How it ends.
    pub end: End,
    /// What each rank runs.
    pub run: fn(&Job),
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} on {} ranks", self.name, self.ranks)
    }
}

/// Gives the list of all programs (theme, name, ranks, and the end if it is not [`End::Well`]) to another macro. The one
/// place to enter a new one.
#[macro_export]
macro_rules! for_each_misuse {
    ($list:ident) => {
        $list! {
            messages {
                a_prepared_receive_is_leaked_under_way: 2,
                a_receive_is_withdrawn_and_posted_again: 2,
                long_receives_are_withdrawn_half_copied: 2,
                receives_time_out_half_copied: 2,
                a_prepared_receive_is_printed_under_way: 2,
                a_panic_leaves_a_long_send_that_nobody_receives: 2 => Panics,
                a_caught_panic_lets_go_of_sends: 2,
                a_caught_panic_lets_go_of_sends_that_are_being_taken: 2,
                a_caught_panic_lets_go_of_sends_to_oneself: 2,
                an_offered_send_is_dropped_while_its_receiver_calls: 2,
                prepared_sends_are_dropped_one_after_the_other: 2,
                messages_are_freed_with_everything_under_way: 2,
                a_handle_outlives_its_scope: 2,
                a_leaked_receive_outlives_its_messages: 2,
                a_buffer_panics_while_it_is_made: 2,
                a_function_waits_in_a_scope: 2,
                a_function_receives_what_its_rank_waits_for: 2,
                a_dropped_receive_leaves_the_next_buffer_alone: 2,
            }
            copies {
                areas_are_revoked_in_the_middle_of_copies: 4,
                ports_end_in_the_middle_of_copies: 4,
                copies_race_with_everything: 3,
            }
            indirect {
                areas_are_revoked_under_pointers: 3,
                a_pointer_moves_while_it_is_followed: 3,
                pointers_are_made_up: 2,
            }
            functions {
                a_function_calls_its_own_group: 2,
                a_function_of_a_call_under_way_calls_its_own_group: 2,
                an_operation_calls_its_group_when_it_is_dropped: 2,
                a_function_calls_a_group_with_calls_under_way: 2,
                a_function_panics: 3,
                a_function_needs_much_stack: 2,
                two_jobs_use_each_others_groups: 2,
            }
            groups {
                a_scope_is_left_with_a_call_under_way: 2,
                scopes_are_nested: 2,
                a_panic_leaves_nested_scopes: 2,
                a_panic_leaves_the_scope_of_one_of_two_groups: 2,
                groups_end_in_odd_orders: 2,
                the_world_is_broken: 2,
                a_barrier_is_entered_again_after_a_panic: 5,
                a_handler_panics_in_long_calls: 2,
                memory_is_allocated_after_a_panic_in_an_allocation: 2,
                messages_of_others_are_freed: 2,
                formations_that_cannot_be_take_nothing: 2,
            }
            disagreement {
                members_form_teams_of_different_order: 2,
                members_combine_elements_of_different_size: 2,
                memory_is_asked_for_that_others_ask_for_messages: 2,
                a_member_gathers_while_others_make_messages: 2,
                an_earlier_call_differs_too: 3,
                messages_are_made_while_others_need_a_tree: 1,
                members_ask_for_different_things: 1,
                a_channel_is_made_while_others_make_messages: 2,
            }
            handlers {
                a_handler_panics_in_a_barrier: 2 => Panics,
                a_handler_panics_while_the_program_goes_on: 2 => Panics,
                a_handler_panics_beside_an_event_loop: 2 => Panics,
                a_handlers_panic_is_caught_and_all_goes_on: 2,
                a_handlers_panic_is_caught_by_one_thread_of_two: 2 => Panics,
                handlers_panic_in_a_destructor_of_a_panic: 2 => Panics,
                a_call_is_refused_whose_handler_panics: 2,
                what_a_handler_owns_calls_the_library_when_dropped: 1,
                a_handler_moves_another_job_on_and_waits: 1,
                a_handler_of_another_job_panics_in_a_handler: 1,
                a_handler_registers_drops_and_starts: 2,
                a_handler_drops_the_thread_it_runs_on: 2,
                handlers_of_two_jobs_drop_each_others_threads: 1,
                the_interfaces_thread_is_leaked: 2,
                a_handler_panics_while_messages_are_dropped: 2,
                calls_for_bytes_are_given_up: 2,
            }
            hosts {
                hosts_that_cannot_be: 1,
                a_simulated_job_uses_the_one_around_it: 1,
                a_simulated_rank_uses_the_port_of_another: 1,
                far_memory_is_taken_for_near: 1,
                everything_is_dropped_when_others_are_unreachable: 1,
                a_panic_leaves_a_scope_over_hosts: 1,
                a_panic_leaves_a_pull_over_hosts: 1,
                a_transport_is_used_by_itself: 1,
            }
            transfers {
                transfers_are_forgotten: 2,
                a_panic_leaves_transfers_under_way: 2,
                a_handler_panics_in_the_wait_for_a_transfer: 2,
                areas_are_revoked_in_the_middle_of_transfers: 2,
                ports_are_dropped_after_their_transfers: 2,
                a_function_waits_for_all_transfers: 2,
                thousands_of_transfers_wait_for_room: 2,
                parts_that_were_started_are_forgotten: 2,
                areas_are_revoked_in_the_middle_of_parts: 2,
            }
            recipients {
                areas_of_recipients_are_taken_back: 3,
                areas_are_mixed_up: 2,
            }
            handles {
                lists_mix_transfers_of_several_scopes: 2,
                handles_are_used_on_another_port: 2,
                a_function_waits_for_any_transfer: 2,
                transfers_by_address_are_waited_for_beside_a_call: 2,
                a_handler_panics_in_the_wait_for_any_transfer: 2,
                a_scope_fails_with_transfers_under_way: 2,
            }
            queues {
                items_are_forgotten: 3,
                a_queue_is_forgotten: 3,
                a_panic_drops_an_item: 2,
                a_function_uses_a_queue: 2,
                handlers_panic_in_pushes: 2,
                a_function_drops_items: 2,
            }
            exchange {
                a_receive_is_given_up_and_made_again: 2,
                an_exchange_is_forgotten: 2,
                a_handler_panics_in_a_receive: 2,
                packets_are_forgotten: 2,
                a_panic_drops_packets: 2,
                a_program_polls_for_what_is_behind: 2,
                a_receive_is_given_up_in_the_middle: 2,
                a_handler_panics_in_a_receive_of_packets: 2,
                a_function_uses_an_exchange: 2,
                handlers_panic_in_sends: 2,
                handlers_panic_in_sends_of_packets: 2,
                a_message_finds_no_memory: 2,
            }
            regions {
                a_subscription_is_forgotten: 3,
                a_panic_drops_a_subscription: 3,
                a_function_uses_a_region: 2,
            }
            counting {
                a_barrier_is_forgotten_between_its_halves: 2,
                a_panic_between_the_halves: 2,
                teams_come_and_go: 5,
                a_function_uses_a_counted_barrier: 2,
            }
            tasks {
                everything_of_a_scope_is_forgotten: 2,
                wakers_outlive_their_scope: 2,
                tasks_panic_all_the_time: 2,
                handlers_and_functions_use_tasks: 2,
                a_task_waits_for_its_child: 2,
                futures_cancel_themselves: 2,
                wakers_set_traps: 2,
                events_are_dropped_by_their_wakers: 2,
                scopes_are_nested_and_fail: 2,
                threads_submit_while_a_scope_fails: 2,
                a_future_never_rests: 2,
                a_future_of_the_first_thread_never_rests: 2,
                a_task_follows_itself: 2,
                a_task_blocks_what_is_ready_behind_it: 2,
                a_result_is_awaited_by_ever_other_wakers: 2,
                workers_slept_before_the_first_look: 2,
            }
            locks {
                a_guard_is_forgotten: 3,
                a_panic_drops_a_guard: 2,
                a_handler_panics_in_the_wait_for_a_lock: 3,
                guards_of_several_locks_are_dropped_in_odd_orders: 2,
                a_lock_is_asked_for_in_a_function: 2,
                a_guard_is_dropped_in_a_function: 2,
                a_lock_is_freed_while_it_is_held: 2,
                a_lock_of_another_job_is_used: 1,
                waits_for_a_lock_are_given_up_all_the_time: 4,
                a_lock_is_dropped_and_its_ranks_leave: 2,
            }
            matching {
                a_scope_panics_with_everything_under_way: 2,
                a_handler_panics_in_a_receive: 2,
                handles_are_used_in_other_scopes: 1,
                matching_is_leaked: 2,
                what_was_called_is_never_taken: 2,
                a_function_uses_matching: 2,
                one_side_is_dropped: 2,
                receives_are_given_up_beside_the_ni_thread: 2,
                scopes_are_nested: 2,
            }
            pins {
                a_pin_is_forgotten: 2,
                pinned_areas_are_dropped: 2,
                pins_are_released_in_odd_orders: 2,
                a_pin_is_released_that_was_taken_away: 2,
                a_panic_drops_a_pin: 2,
                a_handler_panics_while_a_pin_is_asked_for: 2,
                handlers_and_functions_pin: 2,
                a_pin_of_another_job_is_asked_for: 1,
                a_handler_panics_while_a_pin_is_released: 2,
                a_port_ends_before_its_pins_are_released: 2,
                a_function_releases_pins: 2,
                a_handler_panics_while_pins_are_awaited: 2,
            }
            memory {
                an_area_is_leaked: 2,
                areas_are_taken_away_from_peers_that_push_and_call: 2,
                a_handler_takes_an_area_away: 2,
                a_panic_takes_an_area_away: 2 => Panics,
                a_prepared_push_outlives_its_area: 2,
                places_of_another_job_are_used: 1,
                ports_are_moved_between_threads_and_outlive_their_job: 2,
                an_area_is_dropped_under_a_lock_that_handlers_take: 2,
            }
            pools {
                a_lent_port_is_forgotten: 2,
                threads_that_have_a_port_ask_for_another: 2,
                a_handler_asks_for_a_port: 2,
                a_panic_gives_a_port_back: 2,
                a_pool_outlives_its_job: 1,
                pools_are_made_up: 1,
                a_lent_port_is_used_while_its_thread_waits: 2,
            }
            workers {
                a_worker_leaks_a_receive_and_ends: 2,
                a_worker_panics_with_a_long_send_under_way: 2,
                a_workers_thread_panics_and_the_others_go_on: 2,
                a_worker_runs_inside_another: 2,
                endpoints_are_dropped_or_leaked_unused: 2,
                a_worker_panics_with_transfers_under_way: 2,
            }
        }
    };
}

/// More than the buffers of a group hold, so that members work in each other's memory.
const LONG: usize = 100_000;

fn add(total: &mut [u64], input: &[u64]) {
    total.iter_mut().zip(input).for_each(|(total, input)| *total += input);
}

fn check_refused<R>(result: hikyaku::Result<R>) {
    assert!(matches!(result, Err(Error::InFunction)), "{:?}", result.err());
}

macro_rules! table {
    ($($theme:ident { $($program:ident: $ranks:literal $(=> $end:ident)?),* $(,)? })*) => {
        &[$($(Program {
            name: concat!(stringify!($theme), "::", stringify!($program)),
            ranks: $ranks,
            end: [$(End::$end,)? End::Well][0],
            run: $theme::$program,
        }),*),*]
    };
}

/// All programs.
pub fn programs() -> &'static [Program] {
    const PROGRAMS: &[Program] = for_each_misuse!(table);
    PROGRAMS
}

/// The program of that name.
pub fn program(name: &str) -> Option<&'static Program> {
    programs().iter().find(|program| program.name == name)
}
