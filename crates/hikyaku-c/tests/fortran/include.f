!     Fortran 77: the calls are external, the constants included.
      program inctst
      implicit none
      include 'fmplf.h'
      integer ier, rank, ranks, next, before, func, send, recv, i
      integer flag, comm, count, work(10)
      double precision x(100), y(100)
      integer*8 addr
      character*60 text
      external longer

      call fmpl_init(0, 0, 4, ier)
      call check(ier, FMPL_SUCCESS)
      call fmpl_comm_rank(FMPL_COMM_WORLD, rank, ier)
      call fmpl_comm_size(FMPL_COMM_WORLD, ranks, ier)
      call check(ier, FMPL_SUCCESS)
      next = mod(rank + 1, ranks)
      before = mod(rank + ranks - 1, ranks)

      do 10 i = 1, 100
         x(i) = rank + i
 10   continue
      call fmpl_irecv(y, 800, before, 3, FMPL_COMM_WORLD, ier)
      call check(ier, FMPL_SUCCESS)
      call fmpl_send(x, 800, next, 3, FMPL_COMM_WORLD, ier)
      call check(ier, FMPL_SUCCESS)
      call fmpl_irecv_wait(before, 3, FMPL_COMM_WORLD, ier)
      call check(ier, FMPL_SUCCESS)
      call fmpl_get_count(count, ier)
      call check(count, 800)
      do 20 i = 1, 100
         if (y(i) .ne. before + i) stop 1
 20   continue

      call fmpl_send(x, 8, next, 1, FMPL_COMM_WORLD, ier)
      call fmpl_recv(y, 800, before, FMPL_TAG_ANY, FMPL_COMM_WORLD,
     &               ier)
      call check(ier, FMPL_SUCCESS)
      call fmpl_get_index(i, ier)
      call check(i, 1)
      call fmpl_barrier(FMPL_COMM_WORLD, ier)

      call fmpl_send_init(x, 8, next, 0, FMPL_COMM_WORLD, send, ier)
      call fmpl_recv_init(y, 8, before, 0, FMPL_COMM_WORLD, recv, ier)
      call check(ier, FMPL_SUCCESS)
      call fmpl_start(recv, ier)
      call fmpl_start(send, ier)
      call check(ier, FMPL_SUCCESS)
      call fmpl_wait(recv, ier)
      call fmpl_wait(send, ier)
      call check(ier, FMPL_SUCCESS)
      call fmpl_test(send, flag, ier)
      call check(flag, 1)
      call fmpl_request_free(send, ier)
      call check(ier, FMPL_SUCCESS)
      call check(send, -1)

      i = rank
      call fmpl_allreduce(i, 1, FMPL_IPMAX, FMPL_COMM_WORLD, work, ier)
      call check(ier, FMPL_SUCCESS)
      call check(i, ranks - 1)
      call fmpl_func_create(longer, 4, func, ier)
      call check(ier, FMPL_SUCCESS)
      i = 1
      call fmpl_allreduce(i, 1, func, FMPL_COMM_WORLD, work, ier)
      call check(i, ranks)

      i = 1
      call fmpl_iallreduce(i, 1, func, FMPL_COMM_WORLD, work, send, ier)
      call check(ier, FMPL_SUCCESS)
      call fmpl_wait(send, ier)
      call check(ier, FMPL_SUCCESS)
      call check(i, ranks)
      call fmpl_wait(send, ier)
      call check(ier, FMPL_ERR_REQUEST)
      call fmpl_ibcast(x, 800, 0, FMPL_COMM_WORLD, send, ier)
      call check(ier, FMPL_SUCCESS)
      flag = 0
 30   if (flag .eq. 0) then
         call fmpl_test(send, flag, ier)
         call check(ier, FMPL_SUCCESS)
         go to 30
      end if
      if (x(100) .ne. 100) stop 4

      call fmpl_comm_split(FMPL_COMM_WORLD, mod(rank, 2), -rank, comm,
     &                     ier)
      call check(ier, FMPL_SUCCESS)
      call fmpl_comm_rank(comm, i, ier)
      call check(i, (ranks - 1 - rank) / 2)
      call fmpl_comm_free(comm, ier)
      call check(ier, FMPL_SUCCESS)
      call fmpl_comm_split(FMPL_COMM_WORLD, FMPL_COLOR_NONE, 0, comm,
     &                     ier)
      call check(comm, FMPL_COMM_NULL)

      call fmpl_comm_create(comm, 1, ier)
      call fmpl_barrier(comm, ier)
      call check(ier, FMPL_SUCCESS)
      call fmpl_comm_free(comm, ier)
      call check(comm, FMPL_COMM_NULL)

      call fmpl_sendbuf_set(x, 800, FMPL_SYNC, ier)
      call check(ier, FMPL_SUCCESS)
      call fmpl_malloc(64, addr, ier)
      call check(ier, FMPL_SUCCESS)
      call fmpl_free(addr, ier)
      call check(ier, FMPL_SUCCESS)
      call fmpl_send(x, -8, next, 0, FMPL_COMM_WORLD, ier)
      call check(ier, FMPL_ERR_INVALID)
      call fmpl_strerror(ier, text, ier)
      if (text .ne. 'an argument makes no sense') stop 2
      call fmpl_last_error(text, ier)
      if (index(text, '-8 is negative') .eq. 0) stop 3
      call fmpl_finalize(ier)
      call check(ier, FMPL_SUCCESS)
      end

      subroutine check(got, wanted)
      integer got, wanted
      if (got .ne. wanted) then
         print *, 'got ', got, ', wanted ', wanted
         stop 1
      end if
      end

      subroutine longer(inout, in, count)
      integer count, inout(count), in(count), i
      do 10 i = 1, count
         inout(i) = inout(i) + in(i)
 10   continue
      end
