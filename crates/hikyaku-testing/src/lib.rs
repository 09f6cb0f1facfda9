//! The conformance suite: what every way of running a job must do, written once.
//!
//! A case is a function that every rank of a job runs; it panics if a promise is broken. Cases of the conformance suite, of messages
//! and of collectives are in one [`registry`], and one [`runner`] runs them on every kind of job:
//!
//! | kind of job | conformance | messages | collectives |
//! |---|---|---|---|
//! | threads | `tests/threads.rs` | `tests/message.rs` | `tests/collective.rs` |
//! | processes, with and without `process_vm` | `tests/processes.rs` | `tests/layers.rs` | `tests/layers.rs` |
//! | simulated, all far, and on hosts of several ranks | `tests/simulated.rs` | `tests/message.rs` | `tests/collective.rs` |
//! | processes on several hosts, over datagrams | `tests/hosts.rs` | `tests/hosts.rs` | `tests/hosts.rs` |
//!
//! Processes run the program `conformance`, which is told the case.
//!
//! | file | concept |
//! |---|---|
//! | `cases/` | the cases, one file per theme; `cases/message/`, `cases/collective/` |
//! | `registry` | the list of all cases |
//! | `runner` | runs cases on a kind of job |
//! | `support` | what cases need: errors to expect, conditions to wait for |
//! | `deadlock` | programs whose ranks wait for each other for ever |
//! | `unhandled` | programs that end before their messages were handled |
//! | `misuse/` | programs in safe Rust that do what a program should not |
//! | `mortal/` | what ranks do while one of them dies |
//! | `ends` | ends of ranks in the middle of something |
//! | `seccomp` | forbidding a process what some kernels forbid, or everything |
//! | `segment` | the job's memory as a hostile rank sees it |
//! | `reach` | what a process writes into private memory of others |
//! | `mpi` | the MPI installations of this machine |
//! | `cluster` | their launchers, and Slurm, on several hosts |
//! | `leftovers` | what a job might leave behind |
//! | `os` | what tests need of the system for which there is no safe interface |
//! | `nth` | one system call among many fails |
//! | `watchdog` | a hang becomes a failure that says where |
//! | `planted` | bugs that are planted in the library, and what catches each |
//! | `patience` | waiting for conditions, and promises in time |
//!
//! What the `hikyaku` program runs too is in `hikyaku-workloads`: `chaos`, `netns` and `chance`.
//!
//! Rules for a case: it can fail; it waits for conditions, never for time; it may run beside others in one process.

mod cases;
pub mod cluster;
pub mod deadlock;
pub mod ends;
pub mod leftovers;
mod mail;
pub mod misuse;
pub mod mortal;
pub mod mpi;
pub mod nth;
pub mod os;
pub mod patience;
#[cfg(all(test, hikyaku_planted))]
mod planted;
pub mod reach;
pub mod registry;
pub mod runner;
pub mod seccomp;
pub mod segment;
pub mod support;
pub mod unhandled;
pub mod watchdog;

pub use cases::message::{pattern, programs};
pub use hikyaku_workloads::{chance, chaos, netns};
pub use registry::{Case, Ranks, Suite, case, cases, suite};

/// Gives the list of the conformance suite (theme, name, ranks) to another macro. The one place to enter a new case of it.
#[macro_export]
macro_rules! for_each_case {
    ($list:ident) => {
        $list! {
            memory {
                symmetric_memory_starts_zeroed: 3,
                freed_memory_is_zeroed_again: 3,
                symmetric_areas_do_not_overlap: 2,
                elements_of_any_size: 2,
                own_memory_is_read_and_written_in_place: 2,
                own_memory_out_of_range_panics: 1,
                freed_room_comes_back: 2,
                too_much_memory_fails_everywhere_and_a_retry_succeeds: 3,
            }
            operations {
                push_reaches_every_rank: 4,
                pull_reads_every_rank: 4,
                every_length_and_offset: 2,
                neighbours_stay_untouched: 4,
                words_are_never_torn: 2,
                large_transfers: 2,
                prepared_pushes_to_every_kind_of_memory: 2,
                prepared_pushes_are_checked: 2,
                a_job_of_one: 1,
            }
            notification {
                data_comes_before_its_word: 2,
                a_word_follows_all_pushes: 2,
                a_token_goes_round: 3,
                everyone_notifies_one: 4,
                everyone_adds_to_one_counter: 4,
                an_addition_wakes_and_follows_all_pushes: 2,
                until_means_what_it_says: 2,
                a_barrier_orders_everything: 4,
                barriers_never_mix: 3,
            }
            atomics {
                each_operation_gives_the_value_before: 2,
                concurrent_adds_add_up: 4,
                compare_swap_elects_one: 4,
                swap_hands_each_value_on_once: 3,
                bits_of_different_ranks_are_independent: 4,
                an_atomic_operation_wakes: 2,
                numbers_of_every_type: 2,
                concurrent_adds_of_every_type: 4,
                half_a_word_wakes: 2,
            }
            transfers {
                pulls_of_every_rank_are_under_way_at_once: 3,
                pushes_to_every_rank_are_there_when_they_end: 3,
                a_scope_waits_for_what_it_has_started: 2,
                whichever_transfer_ends_first: 3,
                one_of_several_transfers_fails: 2,
                a_list_of_transfers_with_a_rank_that_leaves: 3,
                flushes_and_barriers_wait_for_transfers: 2,
                transfers_of_areas: 2,
                wrong_transfers_are_refused: 2,
                transfers_with_a_rank_that_leaves: 3,
                transfers_in_a_handler: 2,
            }
            status {
                push_status_comes_after_the_data: 2,
                pull_status_comes_after_the_data: 2,
                each_operation_has_its_own_word: 2,
                status_words_in_areas: 2,
            }
            areas {
                areas_are_reached_by_id: 3,
                a_revoked_area_refuses_everything: 2,
                an_old_handle_does_not_reach_a_new_area: 2,
                nobody_writes_after_a_revocation: 3,
                a_new_area_survives_the_end_of_the_old: 1,
                into_vec_gives_the_content: 2,
                the_owner_waits_for_words_of_its_area: 2,
                the_table_is_bounded: 1,
                the_wrong_element_is_refused: 2,
                freed_areas_are_zeroed_again: 2,
            }
            registered {
                every_operation_reaches_a_vector: 2,
                a_vector_comes_back_the_same: 2,
                large_and_odd_transfers: 2,
                a_word_follows_pushes_to_private_memory: 2,
                data_and_flag_in_different_kinds_of_memory: 2,
                concurrent_adds_on_private_memory: 3,
                memory_of_another_owner: 2,
                status_of_pushes_to_private_memory: 2,
                a_status_word_dies_with_its_area: 2,
                a_revoked_vector_refuses_everything: 2,
                nobody_writes_to_a_vector_after_a_revocation: 3,
                a_push_overtaken_by_the_revocation_is_reported: 2,
                operations_under_way_to_a_rank_that_left: 3,
                the_route_is_the_one_asked_for: 2,
            }
            messages {
                a_handler_gets_everything: 2,
                messages_of_a_pair_stay_in_order: 3,
                payloads_of_every_length: 2,
                a_handler_sends_further: 3,
                a_rank_sends_to_itself: 1,
                handlers_run_one_at_a_time: 2,
                handler_runs_are_counted: 2,
                an_unknown_handler_is_reported: 2,
                an_unregistered_handler_is_unknown: 2,
                a_handler_asks_to_be_run_again: 2,
                a_rank_that_only_pushes_answers_too: 2,
            }
            handled {
                sync_waits_until_messages_were_handled: 3,
                barriers_wait_until_messages_were_handled: 4,
                ports_wait_for_their_own_messages: 2,
                sync_waits_for_a_handler_that_asks_to_be_run_again: 2,
                messages_that_a_rank_handled_before_it_left_count: 2,
                messages_that_a_rank_left_unhandled_are_an_error: 2,
                a_rank_in_any_collective_handles_messages: 4,
            }
            pressure {
                a_full_ring_is_busy_and_empties: 2,
                a_flood_arrives_whole: 2,
                two_ranks_flood_each_other: 2,
                handlers_that_answer_a_flood: 2,
                everyone_floods_one: 4,
                a_handler_runs_once_though_its_reply_waits: 2,
                a_sleeping_sender_is_woken_by_room: 2,
            }
            calls {
                a_call_returns_the_reply: 2,
                a_call_without_reply_returns_zeros: 2,
                everyone_calls_everyone: 4,
                a_rank_calls_itself: 1,
                a_call_to_an_unknown_handler_is_refused: 2,
                ports_get_their_own_replies: 2,
                only_the_first_reply_counts: 2,
                a_rank_in_a_barrier_answers: 2,
                replies_carry_bytes_of_every_length: 2,
                replies_that_do_not_fit_are_refused: 2,
                ports_get_their_own_bytes: 2,
            }
            handlers {
                waiting_in_a_handler_is_refused: 2,
                collectives_in_a_handler_are_refused_whole: 2,
                a_handler_uses_remote_memory: 2,
                handlers_are_registered_once: 1,
            }
            waiting {
                a_timeout_ends_a_wait: 1,
                a_timeout_holds_in_heavy_traffic: 2,
                wait_any_tells_which: 2,
                poll_looks_once: 2,
                a_sleeper_is_woken_by_a_word: 2,
                a_sleeper_is_woken_by_a_notification: 2,
                a_sleeper_is_woken_by_a_message: 2,
                a_sleeper_is_woken_by_a_barrier: 2,
                two_threads_sleep_for_different_words: 2,
                a_rank_that_left_ends_waits_for_it: 3,
                a_rank_that_left_fails_messages_and_barriers: 2,
                what_a_rank_did_before_it_left_counts: 3,
            }
            pins {
                an_area_stays_until_it_is_released: 2,
                ranges_of_pins_are_checked: 2,
                the_last_of_many_pins_counts: 3,
                pins_end_with_their_rank: 3,
            }
            partial {
                strides_of_any_shape: 2,
                bitmaps_of_any_density: 2,
                changes_of_all_ranks_merge: 3,
                words_follow_parts: 2,
                parts_tell_of_themselves: 2,
                parts_are_moved_beside_the_program: 3,
                started_changes_merge: 3,
                changes_that_cannot_be_started_are_started_later: 2,
                parts_that_cannot_be_are_refused: 2,
                parts_of_a_revoked_area_are_refused: 2,
            }
            indirect {
                pushes_land_where_the_pointer_leads: 2,
                chains_scatter_and_gather: 2,
                a_long_message_lands_in_one_place: 2,
                wrong_pointers_and_chains_are_refused: 2,
                random_commands_stay_inside: 2,
            }
            matching {
                messages_are_matched_by_their_keys: 3,
                receives_leave_open_what_they_want: 4,
                order_is_kept: 3,
                long_messages_wait_for_nobody: 2,
                more_short_messages_than_there_is_room_for: 3,
                functions_look_for_messages: 2,
                thousands_are_under_way: 2,
                a_flood_waits_with_its_sender: 2,
                receives_that_are_given_up_lose_nothing: 2,
                messages_that_do_not_fit_are_reported: 2,
                a_rank_sends_to_itself_by_key: 1,
                probes_take_nothing: 2,
                wrong_ranks_are_refused_by_matching: 2,
                matching_is_freed: 3,
                what_a_rank_sent_before_it_left_is_received: 3,
            }
            matched_parts {
                parts_are_sent_and_received: 3,
                changes_that_are_refused_are_sent_later: 1,
                a_send_of_parts_that_is_given_up_goes_on: 2,
                wrong_parts_of_messages_are_refused: 1,
            }
            queues {
                items_come_once_and_in_order: 4,
                a_full_queue_says_so: 3,
                producers_leave: 3,
                the_owner_leaves: 3,
                wrong_uses_of_queues_are_refused: 2,
            }
            exchange {
                engines_do_the_same: 4,
                messages_are_found_by_tag: 4,
                all_send_before_anyone_receives: 3,
                a_slow_receiver_is_not_overrun: 17,
                a_slow_receiver_refuses: 17,
                senders_and_receivers_leave: 3,
                senders_and_receivers_of_packets_leave: 3,
                wrong_uses_of_exchange_are_refused: 2,
            }
            regions {
                all_copies_get_what_anyone_writes: 4,
                who_joins_misses_nothing: 3,
                sharers_and_the_home_leave: 3,
                wrong_uses_of_regions_are_refused: 2,
            }
            tasks {
                a_wave_goes_through_the_ranks: 3,
                tasks_answer_tasks: 2,
                a_flag_of_a_rank_that_leaves: 3,
                futures_wait_for_everything: 3,
                a_scope_that_fails_leaves_the_job_usable: 3,
                any_executor_can_wait: 3,
            }
            counting {
                nobody_passes_before_all_have_arrived: 5,
                a_late_rank_is_waited_for: 3,
                a_rank_leaves_that_was_counted: 3,
                wrong_uses_of_counted_barriers_are_refused: 2,
                teams_wait_for_themselves_alone: 5,
                wrong_teams_are_refused: 3,
            }
            locks {
                ranks_count_one_at_a_time: 4,
                a_lock_that_is_held_is_not_taken: 3,
                an_owner_that_leaves_is_told: 3,
                wrong_uses_of_locks_are_refused: 2,
            }
            multicast {
                every_rank_tells_all_others: 5,
                every_form_reaches_all: 5,
                long_multicasts_reach_all: 4,
                words_come_after_all_parts: 4,
                areas_of_any_memory_get_every_form: 4,
                wrong_recipients_are_refused: 3,
            }
            copies {
                everyone_copies_between_all: 4,
                words_follow_copies: 4,
                every_kind_of_memory_is_copied: 3,
                long_copies_pass_each_other: 5,
                copies_follow_pushes_to_their_source: 3,
                copies_in_one_memory_do_not_overlap: 2,
                wrong_copies_are_refused: 3,
                copies_of_revoked_areas_are_refused: 3,
                copies_with_a_rank_that_leaves: 4,
                copies_in_a_handler: 3,
            }
            ports {
                threads_communicate_at_once: 2,
                ports_run_out_and_come_back: 1,
                a_reopened_port_goes_on: 2,
                a_new_port_inherits_no_errors: 2,
                a_port_moves_to_another_thread: 2,
                a_hundred_threads_share_two_ports: 2,
            }
            crowd {
                threads_do_what_a_model_says: 2,
                sleepers_are_woken_for_what_is_theirs: 2,
            }
            endpoints {
                threads_exchange_messages_and_reduce_at_once: 2,
                a_worker_is_a_port_and_may_be_on_the_jobs_own_thread: 2,
                all_ranks_learn_that_one_has_no_port_left: 2,
                numbers_of_slots_that_cannot_be_are_refused: 2,
            }
            ni_thread {
                peers_are_served_while_the_host_computes: 2,
                private_memory_is_served_while_the_host_computes: 2,
                it_ends_and_returns_its_port: 1,
                it_runs_what_a_handler_put_off: 2,
            }
            event {
                a_descriptor_becomes_readable: 2,
                every_kind_of_arrival_signals: 2,
                a_cleared_descriptor_stays_unreadable: 1,
            }
            arguments {
                zero_length_is_fine_anywhere: 2,
                out_of_bounds_is_refused: 2,
                impossible_sizes_are_refused: 2,
                a_wrong_rank_is_refused: 2,
                memory_of_another_job_is_refused: 2,
                memory_of_a_peer_cannot_be_waited_on: 2,
                unknown_ids_are_refused: 2,
                a_refused_notification_writes_nothing: 3,
                mismatched_sizes_are_reported: 3,
                mismatched_collectives_are_reported: 2,
                an_impossible_size_on_one_rank_is_reported: 2,
                waiting_for_nothing_possible_is_refused: 2,
                errors_name_their_rank: 2,
            }
            layers {
                impossible_slots_are_refused_everywhere: 3,
                wrong_ranks_and_slots_are_refused_by_every_call: 2,
                empty_messages_arrive: 2,
                different_collectives_never_match: 3,
                different_collectives_under_way_never_match: 3,
                different_collectives_of_two_never_match: 2,
                roots_sizes_and_operations_are_compared: 3,
                roots_sizes_and_operations_of_two_are_compared: 2,
                wrong_arguments_of_one_rank_end_the_call_of_all: 3,
                waiting_calls_in_a_handler_are_refused_whole: 2,
                messages_and_collectives_in_a_forked_child_are_refused: 2,
            }
            columns {
                columns_of_any_shape_meet: 2,
                columns_take_messages_of_every_kind: 2,
                columns_that_nobody_waits_for_are_not_sent: 2,
                columns_that_do_not_fit_are_refused: 2,
            }
            fork {
                a_forked_child_is_refused: 2,
                a_forked_child_ends_cleanly: 2,
            }
        }
    };
}
