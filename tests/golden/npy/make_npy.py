#!/usr/bin/env python3
"""Makes the .npy and .npz files of this folder. Made with NumPy 2.4.6.

Every array holds arange(n) in its logical (C) order, so that readers need no other reference.
"""

from pathlib import Path

import numpy as np
from numpy.lib import format as npy

HERE = Path(__file__).parent


def ramp(shape, dtype):
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


def save(name, array, version=None):
    with open(HERE / f"{name}.npy", "wb") as file:
        npy.write_array(file, array, version=version, allow_pickle=True)


for code in ("|u1", "|i1", "<u2", "<i2", "<u4", "<i4", "<u8", "<i8", "<f2", "<f4", "<f8"):
    save(f"c_{code[1:]}", ramp((3, 4), code))
for code in (">f2", ">f4", ">f8", ">i8"):
    save(f"big_{code[1:]}", ramp((3, 4), code))
save("bool", ramp((3, 4), "|u1") % 2 == 1)
save("fortran_2d", np.asfortranarray(ramp((40, 7), "<f4")))
save("fortran_3d_big", np.asfortranarray(ramp((3, 4, 5), ">f2")))
save("scalar", ramp((), "<f4"))
save("empty", ramp((0, 7), "<f4"))
save("version_2", ramp((3, 4), "<f4"), (2, 0))
save("version_3", ramp((3, 4), "<f4"), (3, 0))
save("refused_v2", np.zeros(4, "V2"))
save("refused_complex", np.zeros(4, "<c8"))
save("refused_text", np.array(["a", "b"]))
save("refused_object", np.array([1, "a"], dtype=object))
save("refused_fields", np.zeros(4, [("x", "<f4"), ("y", "<f4")]))

members = {"pixels": ramp((6, 8), "|u1"), "values": np.asfortranarray(ramp((40, 7), "<f4")),
           "grid_thw": ramp((2, 3), ">i8")}
np.savez(HERE / "stored.npz", **members)
np.savez_compressed(HERE / "deflated.npz", **members)
