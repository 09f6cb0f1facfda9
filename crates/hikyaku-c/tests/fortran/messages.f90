! Active messages of the module hikyaku, checked. An expectation that fails ends the rank with status 1, and with it the job.
module handlers
    use, intrinsic :: iso_c_binding, only: c_associated, c_f_pointer, c_null_ptr, c_ptr
    use, intrinsic :: iso_fortran_env, only: error_unit, int32, int64, real32, real64
    use hikyaku
    implicit none

    integer, parameter :: COUNT_UP = 1, ADD = 2, ECHO4 = 3, ECHO8 = 4, ECHOS = 5, ECHOD = 6, FORWARD = 7, LATER = 8, NOSY = 9
    integer, parameter :: THREE = 10
    integer, parameter :: NOBODY = 200

    integer :: me = -1
    integer(int64) :: sum_of_words = 0, sum_of_payloads = 0
    integer :: turned_away = 0
    logical :: open = .false.
    type(c_ptr) :: kept = c_null_ptr

contains

    subroutine expect(holds, what)
        logical, intent(in) :: holds
        character(len=*), intent(in) :: what
        if (holds) return
        write (error_unit, '(a, i0, 4a)') 'rank ', me, ': ', what, '; last error: ', hk_last_error()
        error stop 1
    end subroutine

    subroutine on_count(context, message, user) bind(C)
        type(c_ptr), value :: context
        type(hk_message), intent(in) :: message
        type(c_ptr), value :: user
        integer(int32), allocatable :: numbers(:)
        integer, pointer :: mine
        call expect(c_associated(context), 'a context')
        call c_f_pointer(user, mine)
        call expect(mine == 4711, 'what the handler was registered with')
        call expect(message%address == 2748, 'the address')
        call hk_payload(message, numbers)
        sum_of_words = sum_of_words + message%arguments(1) + message%arguments(6)
        sum_of_payloads = sum_of_payloads + sum(numbers)
    end subroutine

    subroutine on_add(context, message, user) bind(C)
        type(c_ptr), value :: context
        type(hk_message), intent(in) :: message
        type(c_ptr), value :: user
        integer :: ierr
        call expect(.not. c_associated(user), 'nothing was registered')
        call hk_context_reply(context, hk_words(message%arguments(1) + message%arguments(2), 0_int64, &
                                                int(message%source, int64)), ierr)
        call expect(ierr == HK_SUCCESS, 'a reply')
        ! The second one does nothing.
        call hk_context_reply(context, hk_words(), ierr)
        call expect(ierr == HK_SUCCESS, 'a second reply')
    end subroutine

    ! Reply what they get, the last element first.
    subroutine on_echo4(context, message, user) bind(C)
        type(c_ptr), value :: context
        type(hk_message), intent(in) :: message
        type(c_ptr), value :: user
        integer(int32), allocatable :: x(:)
        call expect(.not. c_associated(user), 'nothing was registered')
        call hk_payload(message, x)
        call hk_context_reply_with(context, message%arguments, x(size(x):1:-1))
    end subroutine

    subroutine on_echo8(context, message, user) bind(C)
        type(c_ptr), value :: context
        type(hk_message), intent(in) :: message
        type(c_ptr), value :: user
        integer(int64), allocatable :: x(:)
        integer :: ierr
        call expect(.not. c_associated(user), 'nothing was registered')
        call hk_payload(message, x, ierr)
        if (ierr == HK_ERR_INVALID) then
            call expect(mod(message%payload_bytes, 8_int64) == 4, 'half an element')
            call hk_context_reply(context, hk_words(-1))
            return
        end if
        call hk_context_reply_with(context, message%arguments, x(size(x):1:-1))
    end subroutine

    subroutine on_echos(context, message, user) bind(C)
        type(c_ptr), value :: context
        type(hk_message), intent(in) :: message
        type(c_ptr), value :: user
        real(real32), allocatable :: x(:)
        call expect(.not. c_associated(user), 'nothing was registered')
        call hk_payload(message, x)
        call hk_context_reply_with(context, message%arguments, x(size(x):1:-1))
    end subroutine

    subroutine on_echod(context, message, user) bind(C)
        type(c_ptr), value :: context
        type(hk_message), intent(in) :: message
        type(c_ptr), value :: user
        real(real64), allocatable :: x(:)
        call expect(.not. c_associated(user), 'nothing was registered')
        call hk_payload(message, x)
        call hk_context_reply_with(context, message%arguments, x(size(x):1:-1))
    end subroutine

    ! Replies three integers of 4 bytes.
    subroutine on_three(context, message, user) bind(C)
        type(c_ptr), value :: context
        type(hk_message), intent(in) :: message
        type(c_ptr), value :: user
        call expect(.not. c_associated(user), 'nothing was registered')
        call hk_context_reply_with(context, message%arguments, [1, 2, 3])
    end subroutine

    ! Goes round the ring until its count is used up, with one element more each time.
    subroutine on_forward(context, message, user) bind(C)
        type(c_ptr), value :: context
        type(hk_message), intent(in) :: message
        type(c_ptr), value :: user
        real(real64), allocatable :: x(:)
        integer :: ierr
        call expect(.not. c_associated(user), 'nothing was registered')
        if (message%arguments(1) == 0) return
        call hk_payload(message, x)
        call hk_context_send(context, mod(me + 1, hk_size()), FORWARD, hk_words(message%arguments(1) - 1), [x, 1d0], ierr=ierr)
        call expect(ierr == HK_SUCCESS, 'sent on')
    end subroutine

    subroutine on_later(context, message, user) bind(C)
        type(c_ptr), value :: context
        type(hk_message), intent(in) :: message
        type(c_ptr), value :: user
        call expect(.not. c_associated(user) .and. message%payload_bytes == 0, 'nothing but words')
        if (open) return
        turned_away = turned_away + 1
        call hk_context_retry(context)
    end subroutine

    subroutine on_nosy(context, message, user) bind(C)
        type(c_ptr), value :: context
        type(hk_message), intent(in) :: message
        type(c_ptr), value :: user
        integer(int64) :: reply(HK_ARGUMENT_COUNT)
        integer :: ierr
        call expect(.not. c_associated(user) .and. message%source >= 0, 'the source')
        kept = context
        call hk_barrier(ierr)
        call expect(ierr == HK_ERR_IN_HANDLER, 'a barrier in a handler')
        call hk_call(me, ADD, hk_words(1, 2), reply, ierr)
        call expect(ierr == HK_ERR_IN_HANDLER, 'a call in a handler')
        call hk_handler_register(99, on_add, ierr=ierr)
        call expect(ierr == HK_ERR_IN_HANDLER, 'a registration in a handler')
        call hk_context_send(context, hk_size(), COUNT_UP, hk_words(), ierr=ierr)
        call expect(ierr == HK_ERR_RANK, 'sent to nobody')
        call hk_context_retry(c_null_ptr, ierr)
        call expect(ierr == HK_ERR_INVALID, 'no context')
    end subroutine

end module

program messages
    use, intrinsic :: iso_c_binding, only: c_loc
    use handlers
    implicit none

    integer, target :: mark = 4711
    integer :: ranks, next, previous, ierr, i, turns
    integer(int64) :: ran, reply(HK_ARGUMENT_COUNT), sent
    integer(int32) :: numbers(HK_PAYLOAD_MAX / 4 + 1)

    call hk_handler_register(COUNT_UP, on_count, ierr=ierr)
    call expect(ierr == HK_ERR_NOT_STARTED, 'no handlers without a job')
    call hk_init()
    me = hk_rank()
    ranks = hk_size()
    next = mod(me + 1, ranks)
    previous = mod(me + ranks - 1, ranks)
    call hk_handler_register(COUNT_UP, on_count, c_loc(mark))
    call hk_handler_register(ADD, on_add)
    call hk_handler_register(ECHO4, on_echo4)
    call hk_handler_register(ECHO8, on_echo8)
    call hk_handler_register(ECHOS, on_echos)
    call hk_handler_register(ECHOD, on_echod)
    call hk_handler_register(FORWARD, on_forward)
    call hk_handler_register(LATER, on_later)
    call hk_handler_register(NOSY, on_nosy)
    call hk_handler_register(THREE, on_three)
    call hk_barrier()

    ! Words and payloads, until they were handled.
    do i = 1, 100
        call hk_send(next, COUNT_UP, hk_words(1, 0, 0, 0, 0, 2), [i, -1], address=2748_int64)
    end do
    call hk_wait_handled(COUNT_UP, 100)
    call expect(sum_of_words == 300 .and. sum_of_payloads == 5050 - 100, 'all were handled')
    call hk_barrier()
    do i = 1, 10
        call hk_send(next, COUNT_UP, hk_words(2_int64), address=2748_int64)
    end do
    call hk_sync()
    call hk_barrier()
    call hk_handled(COUNT_UP, ran)
    call expect(ran == 110 .and. sum_of_words == 320, 'hk_sync waits for handlers')
    call hk_wait_handled(COUNT_UP, 111_int64, previous, 20, ierr)
    call expect(ierr == HK_ERR_TIMEOUT, 'nobody sends one more')

    ! Calls, by words alone and with payloads of every type.
    do i = 1, 50
        call hk_call(next, ADD, hk_words(i, 10), reply)
        call expect(all(reply == [i + 10, 0, me, 0, 0, 0]), 'the answer')
    end do
    call hk_call(next, ADD, hk_words(5_int64, 6_int64), [1d0, 2d0], reply)
    call expect(reply(1) == 11, 'a call with a payload that nobody reads')
    call echoes

    ! Nobody is registered there.
    call hk_call(next, NOBODY, hk_words(), reply, ierr)
    call expect(ierr == HK_ERR_REFUSED, 'nobody answers')
    call expect(hk_error_rank() == next, 'and who does not')

    ! Ten times round the ring.
    call hk_barrier()
    if (me == 0) call hk_send(next, FORWARD, hk_words(10 * ranks), [1d0])
    turns = 10
    if (me == mod(1, ranks)) turns = 11
    call hk_wait_handled(FORWARD, turns)
    call hk_barrier()

    ! A handler that goes on later holds the next message back.
    call hk_send(next, LATER, hk_words())
    call hk_send(next, COUNT_UP, hk_words(), [0], 2748_int64)
    do while (turned_away < 3)
        call expect(hk_progress() >= 0, 'progress')
    end do
    call hk_handled(COUNT_UP, ran)
    call expect(ran == 110, 'held back')
    open = .true.
    call hk_wait_handled(COUNT_UP, 111)
    call hk_barrier()

    ! What handlers may not do, and a context that was kept.
    call hk_send(next, NOSY, hk_words())
    call hk_wait_handled(NOSY, 1)
    call hk_context_reply(kept, hk_words(), ierr)
    call expect(ierr == HK_ERR_INVALID, 'a context that was kept')
    call expect(hk_last_error() == "a context is valid only inside its handler, on the handler's thread", 'and why')
    call hk_barrier()

    ! Busy is not an error.
    sent = 0
    do
        call hk_try_send(next, LATER, hk_words(), ierr=ierr)
        if (ierr /= HK_SUCCESS) exit
        sent = sent + 1
        call expect(sent < 1000000, 'room for so many')
    end do
    call expect(ierr == HK_BUSY, 'the next rank is behind')
    call hk_sync()
    call hk_barrier()

    ! Mistakes.
    do i = -1, 65536, 65537
        call hk_send(next, i, hk_words(), ierr=ierr)
        call expect(ierr == HK_ERR_HANDLER_ID, 'no such handler')
        call hk_handler_register(i, on_add, ierr=ierr)
        call expect(ierr == HK_ERR_HANDLER_ID, 'no place for such a handler')
    end do
    call hk_handler_register(ADD, on_add, ierr=ierr)
    call expect(ierr == HK_ERR_HANDLER_ID, 'a handler that is there')
    numbers = 0
    call hk_send(next, ADD, hk_words(), numbers, ierr=ierr)
    call expect(ierr == HK_ERR_PAYLOAD, 'a payload that is too long')
    call hk_send(ranks, ADD, hk_words(), ierr=ierr)
    call expect(ierr == HK_ERR_RANK, 'no such rank')
    call hk_barrier()
    call hk_handler_remove(ADD)
    call hk_barrier()
    call hk_call(next, ADD, hk_words(), reply, ierr)
    call expect(ierr == HK_ERR_REFUSED, 'a handler that was removed')
    call hk_barrier()
    call hk_finalize(ierr)
    call expect(ierr == HK_SUCCESS, 'the end')

contains

    subroutine echoes
        integer(int32) :: got4(HK_PAYLOAD_MAX / 4)
        integer(int64) :: got8(4), words(HK_ARGUMENT_COUNT)
        real(real32) :: gots(4)
        real(real64) :: gotd(4)
        integer :: count, k
        words = 0
        call hk_call_with(next, ECHO4, hk_words(1, 2, 3, 4, 5, 6), [(k, k=1, size(got4))], words, got4, count)
        call expect(count == size(got4) .and. all(words == [1, 2, 3, 4, 5, 6]), 'a whole payload')
        call expect(all(got4 == [(k, k=size(got4), 1, -1)]), 'the last integer first')
        call hk_call_with(next, ECHO8, hk_words(), [7_int64, 8_int64], words, got8, count)
        call expect(count == 2 .and. got8(1) == 8 .and. got8(2) == 7, 'integers of 8 bytes')
        call hk_call_with(next, ECHOS, hk_words(), [0.5, 1.5, 2.5], words, gots, count)
        call expect(count == 3 .and. all(gots(:3) == [2.5, 1.5, 0.5]), 'reals of 4 bytes')
        call hk_call_with(next, ECHOD, hk_words(), [0.125d0], words, gotd, count)
        call expect(count == 1 .and. gotd(1) == 0.125d0, 'reals of 8 bytes')
        ! Without a payload, none comes back.
        call hk_call_with(next, ECHOD, hk_words(9), words, gotd, count)
        call expect(count == 0 .and. words(1) == 9, 'words alone')
        ! More than there is room for.
        call hk_call_with(next, ECHOD, hk_words(), [1d0, 2d0, 3d0, 4d0, 5d0], words, gotd, count, ierr)
        call expect(ierr == HK_ERR_PAYLOAD .and. count == 0 .and. gotd(1) == 0.125d0, 'a reply that is too long')
        ! Elements of another size than the handler's.
        call hk_call(next, ECHO8, hk_words(), [1, 2, 3], reply)
        call expect(reply(1) == -1, 'the handler sees half an element')
        call hk_call_with(next, THREE, hk_words(), words, got8, count, ierr)
        call expect(ierr == HK_ERR_INVALID .and. count == 1, 'one and a half have come back')
        call hk_call_with(next, THREE, hk_words(), words, got4, count, ierr)
        call expect(ierr == HK_SUCCESS .and. count == 3, 'three have come back')
    end subroutine

end program
