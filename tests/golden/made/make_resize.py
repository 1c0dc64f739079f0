#!/usr/bin/env python3
"""resize.json: what Pillow makes of noise of many shapes with each of its kernels.

  make_resize.py --out tests/golden/made

Needs Pillow 13.0.0 and numpy. The noise of a case is a linear congruential generator: state =
state * 1664525 + 1013904223 modulo 2^32, starting at `seed`; a byte is the state's high byte after
each step, levels above 191 become 255 and those below 64 become 0, so that sums overshoot.
"""
import argparse
import hashlib
import json
import os
import random

import numpy as np
import PIL
from PIL import Image


def noise(seed, h, w):
    out = np.empty(h * w * 3, np.uint8)
    state = seed
    for i in range(out.size):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        out[i] = state >> 24
    out[out > 191] = 255
    out[out < 64] = 0
    return out.reshape(h, w, 3)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--out", required=True)
    out = ap.parse_args().out
    rng = random.Random(4)
    shapes = [((60, 80), (56, 84)), ((96, 64), (56, 64)), ((64, 96), (64, 28)), ((1, 1), (28, 28)), ((3, 200), (28, 84)),
              ((200, 3), (84, 28)), ((90, 90), (28, 84)), ((90, 40), (28, 56)), ((50, 50), (56, 56)), ((120, 70), (56, 28))]
    while len(shapes) < 40:
        side = lambda: rng.randint(1, 12) if rng.random() < 0.3 else rng.randint(1, 120)  # noqa: E731
        shapes.append(((side(), side()), (side(), side())))
    cases = []
    for n, ((h, w), (th, tw)) in enumerate(shapes):
        for resample in (0, 1, 2, 3):
            a = np.asarray(Image.fromarray(noise(n, h, w)).resize((tw, th), resample))
            cases.append({"seed": n, "source": [h, w], "target": [th, tw], "resample": resample,
                          "sha256": hashlib.sha256(np.ascontiguousarray(a).tobytes()).hexdigest()})
    with open(os.path.join(out, "resize.json"), "w") as f:
        json.dump({"versions": {"pillow": PIL.__version__}, "cases": cases}, f, indent=1)
        f.write("\n")


if __name__ == "__main__":
    main()
