# PyScalapack as its users have it: eigenvalues and a product, checked against numpy; 4 processes.
import sys

import numpy as np
import PyScalapack

scalapack = PyScalapack(sys.argv[1])
order, block = 13, 3
whole = np.random.default_rng(1).standard_normal((order, order))
whole = np.asfortranarray(whole + whole.T)

with scalapack(b"C", 1, 1) as alone, scalapack(b"C", 2, 2) as grid:
    assert grid.size.value == 4 and (grid.myrow.value, grid.mycol.value) == (grid.rank.value % 2, grid.rank.value // 2)
    source = alone.array(order, order, order, order, data=whole if alone else None, dtype=None if alone else np.float64)
    matrix, product = (grid.array(order, order, block, block, dtype=np.float64) for _ in range(2))
    size = scalapack.ctypes.c_int(order)
    scalapack.pgemr2d["D"](size, size, *source.scalapack_params(), *matrix.scalapack_params(), grid.ictxt)
    scalapack.pgemm["D"](
        b"N", b"N", size, size, size, scalapack.d_one, *matrix.scalapack_params(), *matrix.scalapack_params(),
        scalapack.d_zero, *product.scalapack_params(),
    )

    def own(place):
        return [index for index in range(order) if index // block % 2 == place]

    mine = np.ix_(own(grid.myrow.value), own(grid.mycol.value))
    assert np.allclose(matrix.data, whole[mine]) and np.allclose(product.data, (whole @ whole)[mine])

    values, vectors = np.zeros(order), grid.array(order, order, block, block, dtype=np.float64)
    work, integers = np.zeros(4096), np.zeros(1024, dtype=np.int32)
    info = scalapack.ctypes.c_int(-1)
    scalapack.pheevd["D"](
        b"V", b"U", size, *matrix.scalapack_params(), scalapack.numpy_ptr(values), *vectors.scalapack_params(),
        scalapack.numpy_ptr(work), scalapack.ctypes.c_int(work.size),
        scalapack.numpy_ptr(integers), scalapack.ctypes.c_int(integers.size), info,
    )
    assert info.value == 0 and np.allclose(values, np.linalg.eigvalsh(whole)), (info, values)
    grid.barrier()
print("right at process", grid.rank.value, "of", grid.size.value)
