#!/usr/bin/env python3
"""Converts a PyTorch file (.pt, .pth, .bin) of embeddings to safetensors, for `vtower diff`.

The file is read with torch.load(weights_only=True), which runs no code of the file; files that need
more than tensors and plain containers are refused. Needs torch and safetensors.

  a tensor                 becomes `embeddings`
  a list of tensors        becomes `embeddings.0`, `embeddings.1`, ...: one item each
  a dictionary             each tensor under its key; lists as KEY.0, KEY.1, ...; dictionaries
                           inside as KEY.NAME; numbers and texts go into the header
An output object of transformers is saved as torch.save(dict(output), FILE). Two of its names are
changed to those that vtower reads: deepstack_features to deepstack, image_grid_thw to grid_thw.
"""

import argparse
import pathlib
import pickle
import re
import sys

KNOWN = {"deepstack_features": "deepstack", "image_grid_thw": "grid_thw"}


def fail(message):
    raise SystemExit(f"convert_pt: {message}")


def flatten(value, name, tensors, texts, left_out):
    """Puts every tensor below `value` into `tensors` by its dotted name."""
    import torch

    if isinstance(value, torch.Tensor):
        if value.layout != torch.strided or value.is_quantized:
            fail(f"{name}: a sparse or quantised tensor; expected a plain one")
        if value.is_complex():
            fail(f"{name}: complex values; expected real ones")
        # clone: two names of one storage cannot be written
        tensors[name] = value.detach().cpu().contiguous().clone()
    elif isinstance(value, dict):
        for key, inner in value.items():
            flatten(inner, f"{name}.{key}" if name else str(key), tensors, texts, left_out)
    elif isinstance(value, (list, tuple)) and any(isinstance(x, torch.Tensor) for x in value):
        for place, inner in enumerate(value):
            flatten(inner, f"{name}.{place}", tensors, texts, left_out)
    elif isinstance(value, (str, int, float, bool)):
        texts[name] = str(value)
    else:
        left_out.append(f"{name} ({type(value).__name__})")


def renamed(name, renames):
    for old, new in renames.items():
        if name == old or name.startswith(old + "."):
            return new + name[len(old):]
    return name


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("input", type=pathlib.Path, metavar="IN.pt")
    parser.add_argument("output", type=pathlib.Path, metavar="OUT.safetensors")
    parser.add_argument("--rename", action="append", default=[], metavar="OLD=NEW",
                        help="name of a tensor, or of the first part of its name; may be repeated")
    options = parser.parse_args()
    renames = dict(KNOWN)
    for pair in options.rename:
        old, equals, new = pair.partition("=")
        if not (old and equals and new):
            parser.error(f"--rename {pair}: expected OLD=NEW")
        renames[old] = new
    try:
        import torch
        from safetensors.torch import save_file
    except ImportError as error:
        fail(f"{error}; run this with a Python that has torch and safetensors")

    try:
        content = torch.load(options.input, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        wanted = re.search(r"GLOBAL (\S+)", str(error))
        fail(f"{options.input}: {'it needs the class ' + wanted[1] if wanted else 'damaged'}; "
             "only tensors and plain containers are read: save dict(output) instead of an object")
    except OSError as error:
        fail(f"{options.input}: {error.strerror or error}")
    except (RuntimeError, EOFError, ValueError, KeyError) as error:
        first = (str(error).splitlines() or [""])[0]
        fail(f"{options.input}: no PyTorch file, or damaged ({type(error).__name__}: {first})")

    found, texts, left_out = {}, {}, []
    flatten(content, "" if isinstance(content, dict) else "embeddings", found, texts, left_out)
    tensors = {}
    for name, tensor in found.items():
        new = renamed(name, renames)
        if new in tensors:
            fail(f"two tensors would be called {new}; --rename one of them")
        tensors[new] = tensor
        print(f"{name}{'' if new == name else ' -> ' + new}: {tensor.dtype} {list(tensor.shape)}")
    if not tensors:
        fail(f"{options.input}: holds no tensor but {left_out or list(texts) or 'nothing'}")
    if left_out:
        print(f"left out, neither tensors nor texts: {', '.join(left_out)}", file=sys.stderr)
    texts.pop("vtower", None)  # the record is vtower's own to write
    try:
        save_file(tensors, options.output, metadata={"format": "pt", **texts})
    except Exception as error:  # safetensors has an exception of its own
        fail(f"{options.output}: {error}")


if __name__ == "__main__":
    main()
