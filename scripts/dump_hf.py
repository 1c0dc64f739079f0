#!/usr/bin/env python3
"""Dumps the image embeddings that Hugging Face's transformers makes, for `vtower diff`.

Runs in an environment of your own with torch, torchvision, transformers and safetensors; nothing is
downloaded but what --checkpoint names. The checkpoint is loaded as from_pretrained() does (all of
it, the language model too), the pictures go through its own image processor, and
get_image_features() makes the embeddings.

The output holds `embeddings` [tokens, width] of all pictures in the order given, `grid_thw`
[pictures, 3], `deepstack.J` where the tower has them, and with --pixels `pixel_values` as they
entered the tower. Its header says versions, options, and name and SHA-256 of every picture,
by which items find each other in a comparison.

Tried with transformers 5.17.0, torch 2.11.0 and torchvision 0.26.0 on Qwen2-VL, Qwen2.5-VL and
Qwen3-VL checkpoints on a CPU. The shapes that transformers 4 returned are read too, from its
documentation, untried. Videos are not read.
"""

import argparse
import hashlib
import importlib.metadata
import json
import pathlib
import sys

DTYPES = {"auto": "auto", "fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}


def fail(message):
    raise SystemExit(f"dump_hf: {message}")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", required=True, help="folder, or a name on the hub")
    parser.add_argument("--inputs", required=True, nargs="+", type=pathlib.Path, metavar="PICTURE")
    parser.add_argument("-o", "--output", required=True, type=pathlib.Path,
                        metavar="OUT.safetensors")
    parser.add_argument("--dtype", default="auto", choices=DTYPES, help="auto: the checkpoint's")
    parser.add_argument("--device", default="cpu", help="cpu, cuda, cuda:1, ... (default: cpu)")
    parser.add_argument("--attention", metavar="NAME",
                        help="eager, sdpa, flash_attention_2 (default: what transformers chooses)")
    parser.add_argument("--backend", choices=["torchvision", "pil"],
                        help="of the image processor (default: what transformers chooses)")
    parser.add_argument("--batch", type=int, default=1, metavar="N",
                        help="pictures in one call of the tower (default: 1)")
    parser.add_argument("--pixels", action="store_true", help="write pixel_values too")
    options = parser.parse_args()
    if options.batch < 1:
        parser.error("--batch: expected 1 or more")
    for path in options.inputs:
        if not path.is_file():
            fail(f"{path}: no such file")
    return options


def load(options):
    """Processor and model; refuses a tower whose weights are not all in the checkpoint."""
    import torch
    from transformers import AutoImageProcessor, AutoModelForImageTextToText

    backend = {"backend": options.backend} if options.backend else {}
    dtype = DTYPES[options.dtype]
    choices = {"dtype": dtype if dtype == "auto" else getattr(torch, dtype)}
    if options.attention:
        choices["attn_implementation"] = options.attention
    try:
        processor = AutoImageProcessor.from_pretrained(options.checkpoint, **backend)
        model, loading = AutoModelForImageTextToText.from_pretrained(
            options.checkpoint, output_loading_info=True, **choices)
    except (OSError, ValueError) as error:
        fail(f"{options.checkpoint}: {error}")
    missing = sorted(key for key in loading["missing_keys"] if "visual." in key)
    if missing:
        fail(f"{options.checkpoint} lacks {len(missing)} weights of the vision tower, {missing[0]} "
             "first; transformers would fill them with random values")
    if not hasattr(model, "get_image_features"):
        fail(f"{type(model).__name__} has no get_image_features; is this a vision-language model?")
    return processor, model.to(options.device).eval()


def features(result):
    """(embeddings, [deepstack level, ...]) of all pictures of one call, whatever its shape."""
    import torch

    def joined(tensors):
        return tensors if isinstance(tensors, torch.Tensor) else torch.cat(list(tensors))

    if hasattr(result, "pooler_output"):  # transformers 5
        return joined(result.pooler_output), list(getattr(result, "deepstack_features", None) or [])
    if isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], list):
        return joined(result[0]), result[1]  # transformers 4, Qwen3-VL
    return joined(result), []


def main():
    options = arguments()
    try:
        import torch
        from safetensors.torch import save_file
        processor, model = load(options)
    except ImportError as error:
        fail(f"{error}; run this with the Python that runs your transformers")

    embeddings, levels, grids, pixels = [], [], [], []
    for start in range(0, len(options.inputs), options.batch):
        paths = options.inputs[start:start + options.batch]
        try:
            inputs = processor(images=[str(path) for path in paths], return_tensors="pt")
        except (OSError, ValueError, RuntimeError) as error:
            fail(f"{', '.join(map(str, paths))}: {error}")
        if "image_grid_thw" not in inputs:
            fail(f"{type(processor).__name__} makes no image_grid_thw; expected one of Qwen-VL's")
        with torch.inference_mode():
            result = model.get_image_features(inputs["pixel_values"].to(options.device),
                                              inputs["image_grid_thw"].to(options.device))
        rows, deepstack = features(result)
        embeddings.append(rows.cpu())
        levels.append([level.cpu() for level in deepstack])
        grids.append(inputs["image_grid_thw"].cpu())
        if options.pixels:
            pixels.append(inputs["pixel_values"].cpu())
        print(f"{start + len(paths)} of {len(options.inputs)} pictures", file=sys.stderr)

    tensors = {"embeddings": torch.cat(embeddings), "grid_thw": torch.cat(grids).long()}
    for level, parts in enumerate(zip(*levels, strict=True)):
        tensors[f"deepstack.{level}"] = torch.cat(parts)
    if options.pixels:
        tensors["pixel_values"] = torch.cat(pixels)
    items = [{"path": str(path), "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
             for path in options.inputs]
    metadata = {
        "format": "pt", "producer": "transformers", "stage": "embeddings",
        "checkpoint": str(options.checkpoint), "model_class": type(model).__name__,
        "processor_class": type(processor).__name__, "dtype": str(model.dtype),
        "device": str(model.device), "batch": str(options.batch),
        "attention": str(getattr(model.config, "_attn_implementation", "unknown")),
        "vtower_items": json.dumps(items)}
    for package in ("torch", "torchvision", "transformers", "safetensors", "pillow"):
        try:
            metadata[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            metadata[package] = "not installed"
    try:
        save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, options.output,
                  metadata=metadata)
    except Exception as error:  # safetensors has an exception of its own, which is no OSError
        fail(f"{options.output}: {error}")
    print(f"{options.output}: {len(items)} pictures, "
          + ", ".join(f"{name} {list(tensor.shape)}" for name, tensor in sorted(tensors.items())))


if __name__ == "__main__":
    main()
