#!/usr/bin/env python3
"""Converts image embeddings of llama.cpp (mtmd) to safetensors, for `vtower diff`.

Needs Python alone. Each INPUT is one picture, in the order given; two formats are read:

  binary  what llama-mtmd-cli and llama-mtmd-debug write to the path in the environment variable
          MTMD_DEBUG_EMBEDDINGS: int32 tokens, int32 width, then tokens * width float32, all
          little-endian. The file is written anew for each picture, so run one picture at a time:
            MTMD_DEBUG_EMBEDDINGS=a.bin llama-mtmd-cli -m MODEL --mmproj MMPROJ --image a.png \\
              -p x -n 1
          Builds from before the variable took a path only print (next lines).
  text    one token a line: its values, separated by blanks or commas, brackets around them or not;
          empty lines and lines that begin with # are passed over.

The log that MTMD_DEBUG_EMBEDDINGS=1 prints ("=== MTMD_DEBUG_EMBEDDINGS ===", "Token 0 (first 16
values): ...") holds at most 32 values of the first token, which is no dump: it is refused.

The output holds `embeddings` float32 [tokens, width] and `cu_tokens` int64 [pictures + 1]. Rows of
Qwen3-VL hold the final embeddings and then the deepstack levels; vtower splits them when it knows
the checkpoint.
"""

import argparse
import array
import json
import math
import os
import pathlib
import struct
import sys

LOG = b"MTMD_DEBUG_EMBEDDINGS"


def fail(message):
    raise SystemExit(f"convert_mtmd: {message}")


def floats(data):
    values = array.array("f", data)
    if sys.byteorder == "big":
        values.byteswap()
    return values


def read_text(path, data):
    """(values, width) of a table with one token a line."""
    try:
        lines = data.decode("utf-8").splitlines()
    except UnicodeDecodeError:
        fail(f"{path}: neither a text nor a binary dump whose size fits its header")
    values, width = array.array("f"), 0
    for number, line in enumerate(lines, 1):
        words = line.translate(str.maketrans("[](),;", "      ")).split()
        if not words or words[0].startswith("#"):
            continue
        try:
            row = [float(word) for word in words]
        except ValueError as error:
            fail(f"{path}, line {number}: {error}; expected the values of one token")
        if any(math.isfinite(value) and abs(value) > 3.4028235e38 for value in row):
            fail(f"{path}, line {number}: a value beyond float32")
        if width not in (0, len(row)):
            fail(f"{path}, line {number}: {len(row)} values, the lines before have {width}; is the "
                 "output shortened (...)?")
        width = len(row)
        values.extend(row)
    if not values:
        fail(f"{path}: holds no values")
    return values, width


def read(path):
    """(values, width) of one picture."""
    try:
        data = path.read_bytes()
    except OSError as error:
        fail(f"{path}: {error.strerror}")
    if len(data) >= 8:
        tokens, width = struct.unpack_from("<ii", data)
        if tokens > 0 and width > 0 and len(data) - 8 == 4 * tokens * width:
            return floats(data[8:]), width
    if LOG in data:
        fail(f"{path}: the log of MTMD_DEBUG_EMBEDDINGS=1, which shows a few values of the first "
             "token; set the variable to a path to get all of them")
    if b"\0" in data:
        tokens, width = struct.unpack_from("<ii", data) if len(data) >= 8 else (0, 0)
        fail(f"{path}: its header says {tokens} tokens of {width} values, "
             f"{max(0, len(data) - 8)} bytes follow; cut short, or of another program?")
    return read_text(path, data)


def write(path, rows, width, cu_tokens, sources):
    """A safetensors file; complete under its name or not there."""
    counts = array.array("q", cu_tokens)
    if sys.byteorder == "big":
        rows.byteswap()
        counts.byteswap()
    first, second = counts.tobytes(), rows.tobytes()
    header = {
        "__metadata__": {"format": "pt", "producer": "llama.cpp mtmd", "stage": "embeddings",
                         "sources": " ".join(map(str, sources))},
        "cu_tokens": {"dtype": "I64", "shape": [len(cu_tokens)], "data_offsets": [0, len(first)]},
        "embeddings": {"dtype": "F32", "shape": [cu_tokens[-1], width],
                       "data_offsets": [len(first), len(first) + len(second)]},
    }
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_bytes(struct.pack("<Q", len(text)) + text + first + second)
        os.replace(partial, path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        fail(f"{path}: {error.strerror}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("inputs", nargs="+", type=pathlib.Path, metavar="INPUT")
    parser.add_argument("-o", "--output", required=True, type=pathlib.Path,
                        metavar="OUT.safetensors")
    options = parser.parse_args()
    rows, width, cu_tokens = array.array("f"), 0, [0]
    for path in options.inputs:
        values, columns = read(path)
        if width not in (0, columns):
            fail(f"{path}: tokens of {columns} values, those before have {width}; of another "
                 "model?")
        width = columns
        rows.extend(values)
        cu_tokens.append(len(rows) // width)
    write(options.output, rows, width, cu_tokens, options.inputs)
    print(f"{options.output}: {len(options.inputs)} pictures, {cu_tokens[-1]} tokens of width "
          f"{width}")


if __name__ == "__main__":
    main()
