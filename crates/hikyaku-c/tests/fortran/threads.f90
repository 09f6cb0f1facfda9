! Calls from threads of OpenMP: thread 0 is the one that calls fmpl_init, the others make calls by numbers of their own.
program threads_test
    use fmpl
    use omp_lib, only: omp_get_thread_num
    implicit none

    integer, parameter :: W = FMPL_COMM_WORLD, OTHERS = 2
    integer :: ier, rank, ranks

    call fmpl_init(0, 0, 1, ier)
    call expect(ier == FMPL_SUCCESS, 'fmpl_init')
    call fmpl_comm_rank(W, rank, ier)
    call fmpl_comm_size(W, ranks, ier)
    call fmpl_threads(OTHERS, 1, ier)
    call expect(ier == FMPL_SUCCESS, 'fmpl_threads')
    call fmpl_thread_init(0, ier)
    call expect(ier == FMPL_ERR_THREAD, 'the init thread needs no number')

    !$omp parallel num_threads(OTHERS + 1)
    call work(omp_get_thread_num())
    !$omp end parallel

    call fmpl_finalize(ier)
    call expect(ier == FMPL_SUCCESS, 'fmpl_finalize')

contains

    subroutine work(thread)
        integer, intent(in) :: thread
        integer :: code, next, before, sent, got, total, round
        if (thread > 0) then
            call fmpl_barrier(W, code)
            call expect(code == FMPL_ERR_THREAD, 'no calls before fmpl_thread_init')
            call fmpl_thread_init(thread - 1, code)
            call expect(code == FMPL_SUCCESS, 'fmpl_thread_init')
        end if
        next = mod(rank + 1, ranks)
        before = mod(rank + ranks - 1, ranks)
        do round = 1, 100
            sent = rank * 1000 + thread * 100 + round
            call fmpl_sendrecv(sent, 4, next, 0, got, 4, before, 0, W, code)
            call expect(code == FMPL_SUCCESS, 'fmpl_sendrecv')
            call expect(got == before * 1000 + thread * 100 + round, 'from the thread of this number')
            total = thread
            call fmpl_allreduce(total, 1, FMPL_ISUM, W, 0, code)
            call expect(code == FMPL_SUCCESS, 'fmpl_allreduce')
            call expect(total == thread * ranks, 'among the threads of this number')
        end do
        if (thread > 0) then
            call fmpl_thread_finalize(code)
            call expect(code == FMPL_SUCCESS, 'fmpl_thread_finalize')
        end if
    end subroutine

    subroutine expect(condition, what)
        logical, intent(in) :: condition
        character(*), intent(in) :: what
        character(200) :: text
        integer :: ignored
        if (condition) return
        call fmpl_last_error(text, ignored)
        print *, 'rank', rank, ': not so: ', what, '; last error: ', trim(text)
        flush (6)
        stop 1
    end subroutine
end program
