*     The Fortran 77 interface: every kind of call, each with one type, and
*     every type. Any number of ranks.
      PROGRAM BLACS
      INTEGER CONTXT, RANK, SIZE, ROWS, COLS, ROW, COL, NEXT, PREV, I
      INTEGER IA(2,3), RA(1), CA(1)
      REAL SA(3)
      DOUBLE PRECISION DA(3,3), DWALLTIME00
      COMPLEX C(2)
      COMPLEX*16 ZA(2)
      INTEGER BLACS_PNUM
      EXTERNAL BLACS_PNUM, DWALLTIME00
      CALL BLACS_PINFO( RANK, SIZE )
      CALL BLACS_GET( -1, 0, CONTXT )
      CALL BLACS_GRIDINIT( CONTXT, 'Row-major', 1, SIZE )
      CALL BLACS_GRIDINFO( CONTXT, ROWS, COLS, ROW, COL )
      CALL CHECK( ROWS.EQ.1 .AND. COLS.EQ.SIZE .AND. COL.EQ.RANK, 1 )
      CALL CHECK( BLACS_PNUM( CONTXT, 0, COL ).EQ.RANK, 2 )
      NEXT = MOD( RANK+1, SIZE )
      PREV = MOD( RANK+SIZE-1, SIZE )
*     Send and receive
      DO 10 I = 1, 3
         IA(1,I) = RANK + I
         IA(2,I) = -1
   10 CONTINUE
      CALL IGESD2D( CONTXT, 1, 3, IA, 2, 0, NEXT )
      CALL IGERV2D( CONTXT, 1, 3, IA, 2, 0, PREV )
      CALL CHECK( IA(1,3).EQ.PREV+3 .AND. IA(2,3).EQ.-1, 3 )
      DO 20 I = 1, 3
         DA(1,I) = RANK
         DA(2,I) = RANK
         DA(3,I) = RANK
   20 CONTINUE
      CALL DTRSD2D( CONTXT, 'Upper', 'Unit', 3, 3, DA, 3, 0, NEXT )
      CALL DTRRV2D( CONTXT, 'Upper', 'Unit', 3, 3, DA, 3, 0, PREV )
      CALL CHECK( DA(1,2).EQ.PREV .AND. DA(2,2).EQ.RANK, 4 )
*     Broadcasts
      SA(1) = RANK + 5
      C(1) = CMPLX( REAL( RANK ), 1.0 )
      C(2) = CMPLX( 2.0, REAL( -RANK ) )
      IF( RANK.EQ.SIZE-1 ) THEN
         CALL SGEBS2D( CONTXT, 'All', ' ', 1, 1, SA, 1 )
         CALL CTRBS2D( CONTXT, 'Row', 'T', 'L', 'N', 2, 1, C, 2 )
      ELSE
         CALL SGEBR2D( CONTXT, 'All', ' ', 1, 1, SA, 1, 0, SIZE-1 )
         CALL CTRBR2D( CONTXT, 'Row', 'T', 'L', 'N', 2, 1, C, 2, 0,
     $                 SIZE-1 )
      END IF
      CALL CHECK( SA(1).EQ.SIZE+4, 5 )
      CALL CHECK( C(1).EQ.CMPLX( REAL( SIZE-1 ), 1.0 ) .AND.
     $            C(2).EQ.CMPLX( 2.0, REAL( 1-SIZE ) ), 11 )
*     Combines
      ZA(1) = DCMPLX( 1.0D0, DBLE( RANK ) )
      ZA(2) = DCMPLX( DBLE( RANK ), 0.0D0 )
      CALL ZGSUM2D( CONTXT, 'A', 'I', 2, 1, ZA, 2, -1, 0 )
      CALL CHECK( ZA(1).EQ.DCMPLX( DBLE( SIZE ),
     $            DBLE( SIZE*(SIZE-1)/2 ) ), 6 )
      C(1) = CMPLX( 1.0, REAL( RANK ) )
      CALL CGAMX2D( CONTXT, 'A', '2', 1, 1, C, 1, RA, CA, 1, -1, 0 )
      CALL CHECK( C(1).EQ.CMPLX( 1.0, REAL( SIZE-1 ) ), 7 )
      CALL CHECK( RA(1).EQ.0 .AND. CA(1).EQ.SIZE-1, 8 )
      SA(1) = -RANK - 1
      CALL SGAMN2D( CONTXT, 'R', ' ', 1, 1, SA, 1, RA, CA, -1, -1, 0 )
      CALL CHECK( SA(1).EQ.-1.0, 9 )
      CALL CHECK( DWALLTIME00().GT.0.0D0, 10 )
      CALL BLACS_BARRIER( CONTXT, 'All' )
      CALL BLACS_GRIDEXIT( CONTXT )
      CALL BLACS_EXIT( 0 )
      END
*
      SUBROUTINE CHECK( OK, NUMBER )
      LOGICAL OK
      INTEGER NUMBER
      IF( .NOT.OK ) THEN
         WRITE( *, * ) 'check ', NUMBER, ' failed'
         CALL BLACS_ABORT( -1, 3 )
      END IF
      END
