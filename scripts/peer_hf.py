#!/usr/bin/env python3
"""The same pictures through Hugging Face's fast processor and through vtower in the same run.

Runs in an environment of your own with torch, torchvision and transformers (the reference data were
made with 2.11.0, 0.26.0 and 5.17.0). On the CPU, on one thread. The two sides are taken in turns
(A B B A ...), each time from the file to the rows in memory; the best of all counts. vtower's times
are those of `vtower bench --axes preprocess --inputs`; its rows come from `vtower preprocess`.

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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--vtower", required=True, type=pathlib.Path)
    parser.add_argument("--checkpoint", required=True, type=pathlib.Path)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(1)

    from transformers import AutoImageProcessor

    processor = AutoImageProcessor.from_pretrained(options.checkpoint, backend="torchvision")
    folder = tempfile.TemporaryDirectory()
    out = pathlib.Path(folder.name) / "rows.safetensors"

    def ours(path):
        report = subprocess.run(
            [options.vtower, "bench", options.checkpoint, "--json", "--axes", "preprocess",
             "--inputs", path, "--threads", "1", "--repeats", "1"],
            check=True, capture_output=True).stdout
        return json.loads(report)["rows"][0]["seconds"]

    def theirs(path):
        spent = [seconds(lambda: processor(images=[str(path)], return_tensors="pt"))[0]
                 for _ in range(10)]
        return min(spent)

    print(f"{'file':40} {'vtower ms':>10} {'HF ms':>10} {'ratio':>7}  pixels")
    for path in options.files:
        best = {ours: float("inf"), theirs: float("inf")}
        for i in range(options.repeats):
            for side in ((ours, theirs) if i % 2 == 0 else (theirs, ours)):
                best[side] = min(best[side], side(path))
        values = processor(images=[str(path)], return_tensors="pt")["pixel_values"]
        subprocess.run([options.vtower, "preprocess", path, "--checkpoint", options.checkpoint,
                        "--profile", "hf", "--quiet", "--progress", "none", "-o", out], check=True)
        rows = read_safetensors(out)["pixels"]
        mean = torch.tensor(processor.image_mean) * 255
        std = torch.tensor(processor.image_std) * 255
        plane = rows.shape[1] // 3
        expected = ((rows.float().reshape(-1, 3, plane) - mean.reshape(1, 3, 1))
                    / std.reshape(1, 3, 1)).reshape(rows.shape)
        equal = "bit-equal" if torch.equal(expected, values) else "DIFFER"
        print(f"{path.name[:40]:40} {best[ours] * 1e3:10.2f} {best[theirs] * 1e3:10.2f} "
              f"{best[theirs] / best[ours]:6.2f}x  {equal}")


if __name__ == "__main__":
    main()
