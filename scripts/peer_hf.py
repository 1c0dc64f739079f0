#!/usr/bin/env python3
"""The same files through Hugging Face and through vtower in the same run: times and agreement.

Runs in an environment of your own with torch, torchvision and transformers (the reference data were
made with 2.11.0, 0.26.0 and 5.17.0). On the CPU. Each side is warmed once and then taken in turns
(A B B A ...); the best of the repeats counts. vtower's times are those of `vtower bench`-like runs
of the whole program for the tower, and of `vtower preprocess` per file less an empty run for pixels.

usage: scripts/peer_hf.py --vtower build/release/bin/vtower --checkpoint DIR FILE...
"""

import argparse
import json
import pathlib
import struct
import subprocess
import tempfile
import time

import torch


def read_safetensors(path):
    """Tensors of a file by name, without the safetensors package."""
    types = {"F32": torch.float32, "BF16": torch.bfloat16, "F16": torch.float16,
             "I64": torch.int64, "U8": torch.uint8}
    data = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    body = bytearray(data[8 + length:])
    return {name: torch.frombuffer(body, dtype=types[entry["dtype"]], offset=entry["data_offsets"][0],
                                   count=max(1, torch.Size(entry["shape"]).numel())
                                   ).reshape(entry["shape"])
            for name, entry in header.items()}


def seconds(call):
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def in_turns(repeats, ours, theirs):
    """Best seconds and last results of two calls, warmed and taken in turns."""
    results = [ours(), theirs()]
    best = [float("inf"), float("inf")]
    for i in range(repeats):
        for side in ((0, 1) if i % 2 == 0 else (1, 0)):
            spent, results[side] = seconds((ours, theirs)[side])
            best[side] = min(best[side], spent)
    return best, results


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--vtower", required=True, type=pathlib.Path)
    parser.add_argument("--checkpoint", required=True, type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--copies", type=int, default=20,
                        help="of each file in one vtower preprocess run")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)

    from transformers import AutoImageProcessor

    processor = AutoImageProcessor.from_pretrained(options.checkpoint, backend="torchvision")
    folder = tempfile.TemporaryDirectory()
    out = pathlib.Path(folder.name) / "rows.safetensors"

    def preprocess(files):
        subprocess.run([options.vtower, "preprocess", *files, "--checkpoint", options.checkpoint,
                        "--profile", "hf", "--threads", str(options.threads), "--quiet",
                        "--progress", "none", "-o", out], check=True)

    print(f"{'file':40} {'vtower ms':>10} {'HF ms':>10} {'ratio':>7}  pixels")
    for path in options.files:
        one, _ = seconds(lambda: preprocess([path]))
        (many, theirs), (_, values) = in_turns(
            options.repeats, lambda: preprocess([path] * (options.copies + 1)),
            lambda: processor(images=[str(path)], return_tensors="pt"))
        one = min(one, min(seconds(lambda: preprocess([path]))[0] for _ in range(options.repeats)))
        ours = (many - one) / options.copies
        preprocess([path])
        rows = read_safetensors(out)["pixels"]
        mean = torch.tensor(processor.image_mean) * 255
        std = torch.tensor(processor.image_std) * 255
        plane = rows.shape[1] // 3
        expected = ((rows.float().reshape(-1, 3, plane) - mean.reshape(1, 3, 1))
                    / std.reshape(1, 3, 1)).reshape(rows.shape)
        equal = torch.equal(expected, values["pixel_values"])
        print(f"{path.name[:40]:40} {ours * 1e3:10.2f} {theirs * 1e3:10.2f} {theirs / ours:6.2f}x  "
              f"{'bit-equal' if equal else 'DIFFER'}")


if __name__ == "__main__":
    main()
