!
!     FMPL for Fortran 77: constants, in fixed and free form.
!
!     The calls are external subroutines. They are those of fmpl.h,
!     with one more argument, ier, that gets the code. All integers
!     have 4 bytes: do not use compiler options that make them longer.
!     Sizes are in bytes. fmpl.h explains each call. The module in
!     fmpl.f90 checks arguments and accepts sizes of 8 bytes too; its
!     comment says where Fortran differs from C.
!
!           include 'fmplf.h'
!           call fmpl_init(0, 0, 16, ier)
!           call fmpl_send(x, 8*n, 1, 7, FMPL_COMM_WORLD, ier)
!
!     Groups, slots, modes.
!
      integer FMPL_COMM_WORLD
      parameter (FMPL_COMM_WORLD=0)
      integer FMPL_COMM_NULL
      parameter (FMPL_COMM_NULL=-1)
      integer FMPL_COLOR_NONE
      parameter (FMPL_COLOR_NONE=-1)
      integer FMPL_TAG_ANY
      parameter (FMPL_TAG_ANY=-1)
      integer FMPL_SYNC
      parameter (FMPL_SYNC=-1)
      integer FMPL_STANDARD
      parameter (FMPL_STANDARD=-2)
!
!     Codes.
!
      integer FMPL_SUCCESS
      parameter (FMPL_SUCCESS=0)
      integer FMPL_ERR_PEER_DEAD
      parameter (FMPL_ERR_PEER_DEAD=-1)
      integer FMPL_ERR_PEER_LEFT
      parameter (FMPL_ERR_PEER_LEFT=-2)
      integer FMPL_ERR_PEER_MISBEHAVED
      parameter (FMPL_ERR_PEER_MISBEHAVED=-3)
      integer FMPL_ERR_REFUSED
      parameter (FMPL_ERR_REFUSED=-4)
      integer FMPL_ERR_RANK
      parameter (FMPL_ERR_RANK=-5)
      integer FMPL_ERR_INDEX
      parameter (FMPL_ERR_INDEX=-6)
      integer FMPL_ERR_BUSY
      parameter (FMPL_ERR_BUSY=-7)
      integer FMPL_ERR_TRUNCATED
      parameter (FMPL_ERR_TRUNCATED=-8)
      integer FMPL_ERR_COMM
      parameter (FMPL_ERR_COMM=-9)
      integer FMPL_ERR_FUNC
      parameter (FMPL_ERR_FUNC=-10)
      integer FMPL_ERR_REQUEST
      parameter (FMPL_ERR_REQUEST=-11)
      integer FMPL_ERR_INVALID
      parameter (FMPL_ERR_INVALID=-12)
      integer FMPL_ERR_UNDER_WAY
      parameter (FMPL_ERR_UNDER_WAY=-13)
      integer FMPL_ERR_INSIDE
      parameter (FMPL_ERR_INSIDE=-14)
      integer FMPL_ERR_FORKED
      parameter (FMPL_ERR_FORKED=-15)
      integer FMPL_ERR_MISMATCH
      parameter (FMPL_ERR_MISMATCH=-16)
      integer FMPL_ERR_NOT_STARTED
      parameter (FMPL_ERR_NOT_STARTED=-17)
      integer FMPL_ERR_STARTED
      parameter (FMPL_ERR_STARTED=-18)
      integer FMPL_ERR_THREAD
      parameter (FMPL_ERR_THREAD=-19)
      integer FMPL_ERR_MEMORY
      parameter (FMPL_ERR_MEMORY=-20)
      integer FMPL_ERR_START
      parameter (FMPL_ERR_START=-21)
      integer FMPL_ERR_SYSTEM
      parameter (FMPL_ERR_SYSTEM=-22)
      integer FMPL_ERR_INTERNAL
      parameter (FMPL_ERR_INTERNAL=-23)
      integer FMPL_ERR_UNREACHABLE
      parameter (FMPL_ERR_UNREACHABLE=-24)
      integer FMPL_ERR_TIMEOUT
      parameter (FMPL_ERR_TIMEOUT=-25)
!
!     Functions that reductions combine by.
!
      integer fmpl_isum
      parameter (fmpl_isum=1)
      integer fmpl_ssum
      parameter (fmpl_ssum=2)
      integer fmpl_dsum
      parameter (fmpl_dsum=3)
      integer fmpl_csum
      parameter (fmpl_csum=4)
      integer fmpl_zsum
      parameter (fmpl_zsum=5)
      integer fmpl_lsum
      parameter (fmpl_lsum=6)
      integer fmpl_imax
      parameter (fmpl_imax=11)
      integer fmpl_smax
      parameter (fmpl_smax=12)
      integer fmpl_dmax
      parameter (fmpl_dmax=13)
      integer fmpl_cmax
      parameter (fmpl_cmax=14)
      integer fmpl_zmax
      parameter (fmpl_zmax=15)
      integer fmpl_lmax
      parameter (fmpl_lmax=16)
      integer fmpl_imin
      parameter (fmpl_imin=21)
      integer fmpl_smin
      parameter (fmpl_smin=22)
      integer fmpl_dmin
      parameter (fmpl_dmin=23)
      integer fmpl_cmin
      parameter (fmpl_cmin=24)
      integer fmpl_zmin
      parameter (fmpl_zmin=25)
      integer fmpl_lmin
      parameter (fmpl_lmin=26)
      integer fmpl_ipmax
      parameter (fmpl_ipmax=31)
      integer fmpl_spmax
      parameter (fmpl_spmax=32)
      integer fmpl_dpmax
      parameter (fmpl_dpmax=33)
      integer fmpl_lpmax
      parameter (fmpl_lpmax=36)
      integer fmpl_ipmin
      parameter (fmpl_ipmin=41)
      integer fmpl_spmin
      parameter (fmpl_spmin=42)
      integer fmpl_dpmin
      parameter (fmpl_dpmin=43)
      integer fmpl_lpmin
      parameter (fmpl_lpmin=46)
      integer fmpl_iprod
      parameter (fmpl_iprod=51)
      integer fmpl_sprod
      parameter (fmpl_sprod=52)
      integer fmpl_dprod
      parameter (fmpl_dprod=53)
      integer fmpl_cprod
      parameter (fmpl_cprod=54)
      integer fmpl_zprod
      parameter (fmpl_zprod=55)
      integer fmpl_lprod
      parameter (fmpl_lprod=56)
      integer fmpl_iland
      parameter (fmpl_iland=61)
      integer fmpl_lland
      parameter (fmpl_lland=66)
      integer fmpl_ilor
      parameter (fmpl_ilor=71)
      integer fmpl_llor
      parameter (fmpl_llor=76)
      integer fmpl_ilxor
      parameter (fmpl_ilxor=81)
      integer fmpl_llxor
      parameter (fmpl_llxor=86)
      integer fmpl_iband
      parameter (fmpl_iband=91)
      integer fmpl_lband
      parameter (fmpl_lband=96)
      integer fmpl_ibor
      parameter (fmpl_ibor=101)
      integer fmpl_lbor
      parameter (fmpl_lbor=106)
      integer fmpl_ibxor
      parameter (fmpl_ibxor=111)
      integer fmpl_lbxor
      parameter (fmpl_lbxor=116)
