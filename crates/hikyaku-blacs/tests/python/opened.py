# Solves a system by a ScaLAPACK that is opened while the program runs: `opened.py LIBRARY [FLAG ...]`, 4 processes. The flags are
# those of dlopen.
import ctypes
import os
import sys

flags = sum(getattr(os, name) for name in sys.argv[2:])
scalapack = ctypes.CDLL(sys.argv[1], flags or os.RTLD_NOW)


def number(value=0):
    return ctypes.byref(ctypes.c_int(value))


rank, size, context = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
scalapack.blacs_pinfo_(ctypes.byref(rank), ctypes.byref(size))
assert size.value == 4, size
scalapack.blacs_get_(number(-1), number(0), ctypes.byref(context))
scalapack.blacs_gridinit_(ctypes.byref(context), b"Row", number(2), number(2))
grid = [ctypes.c_int() for _ in range(4)]
scalapack.blacs_gridinfo_(ctypes.byref(context), *map(ctypes.byref, grid))
rows, columns, row, column = (at.value for at in grid)
assert (rows, columns, row, column) == (2, 2, rank.value // 2, rank.value % 2), (rows, columns, row, column)

# A x = b with x[i] = i + 1, in blocks of 2 by 2.
order, block = 9, 2


def own(index_max, place):
    return [i for i in range(index_max) if i // block % 2 == place]


def entry(i, j):
    return order + i if i == j else 1 / (1 + i + j)


def described(rows, columns, leading):
    descriptor, info = (ctypes.c_int * 9)(), ctypes.c_int()
    sizes = [number(each) for each in (rows, columns, block, block, 0, 0, context.value, leading)]
    scalapack.descinit_(descriptor, *sizes, ctypes.byref(info))
    assert info.value == 0, info
    return descriptor


mine, theirs = own(order, row), own(order, column)
matrix = (ctypes.c_double * (len(mine) * len(theirs)))(*[entry(i, j) for j in theirs for i in mine])
right = [sum(entry(i, j) * (j + 1) for j in range(order)) for i in mine] if column == 0 else []
right = (ctypes.c_double * len(mine))(*right)
pivots, info = (ctypes.c_int * (len(mine) + block))(), ctypes.c_int(-1)
scalapack.pdgesv_(
    number(order), number(1),
    matrix, number(1), number(1), described(order, order, len(mine)), pivots,
    right, number(1), number(1), described(order, 1, len(mine)), ctypes.byref(info),
)
assert info.value == 0, info
if column == 0:
    assert all(abs(x - (i + 1)) < 1e-10 for x, i in zip(right, mine)), list(right)
total = (ctypes.c_double * 1)(sum(right) if column == 0 else 0)
scalapack.dgsum2d_(ctypes.byref(context), b"All", b" ", number(1), number(1), total, number(1), number(-1), number(-1))
assert abs(total[0] - order * (order + 1) / 2) < 1e-10, total[0]
scalapack.blacs_gridexit_(ctypes.byref(context))
scalapack.blacs_exit_(number(0))
print("solved by process", rank.value, "of", size.value)
