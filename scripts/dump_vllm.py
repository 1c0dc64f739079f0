#!/usr/bin/env python3
"""Dumps the image embeddings that a vLLM installation makes, for `vtower diff`.

Two ways, which run different code of vLLM:

  connector   Pictures go through vLLM whole: its processor, its encoder and, with
              --encoder-graphs, its encoder CUDA graphs. Its encoder-cache connector
              (ECExampleConnector) writes OUT/HASH/encoder_cache.safetensors; `vtower diff` reads
              the folder OUT as one dump. OUT/pixels.json says which HASH is which picture, as
              `vtower diff --pixels` takes it. Make one folder with and one without
              --encoder-graphs to see whether the graphs compute the same.
  embed       Rows of raw patches (made by `vtower preprocess`) go into the model's
              embed_multimodal(): the tower alone, never its CUDA graphs. Where the release
              normalises pixels on the device, the bytes go in as they are; elsewhere they are
              normalised here. Writes OUT.safetensors with `embeddings` and `grid_thw`.

Runs in the Python environment of your vLLM. Checked: the files of the connector, and
embed_multimodal() with both kinds of pixels, with vLLM 0.29, 0.30 and 0.33 (towers without an
engine); this script's own steps, with a stand-in for vLLM. Not checked, since no vLLM was there:
LLM(..., ec_transfer_config=...) and LLM.apply_model() as vLLM documents them, and whether a release
hits its encoder graphs, which its log says. Not read: videos.
"""

import argparse
import json
import os
import pathlib
import sys

CONNECTOR_FILE = "encoder_cache.safetensors"


def fail(message):
    raise SystemExit(f"dump_vllm: {message}")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    ways = parser.add_subparsers(dest="way", required=True)
    connector = ways.add_parser("connector", help="all of vLLM, through its encoder cache")
    connector.add_argument("--inputs", required=True, nargs="+", type=pathlib.Path,
                           metavar="PICTURE")
    connector.add_argument("-o", "--output", required=True, type=pathlib.Path, metavar="OUT",
                           help="folder, new or empty")
    connector.add_argument("--encoder-graphs", action="store_true",
                           help="compilation_config.cudagraph_mm_encoder")
    embed = ways.add_parser("embed", help="the model's embed_multimodal alone")
    embed.add_argument("--pixels", required=True, type=pathlib.Path, metavar="ROWS.safetensors",
                       help="`pixels` uint8 [N, K] and `grid_thw`, from `vtower preprocess`")
    embed.add_argument("-o", "--output", required=True, type=pathlib.Path,
                       metavar="OUT.safetensors")
    for way in (connector, embed):
        way.add_argument("--checkpoint", required=True, help="folder, or a name on the hub")
        way.add_argument("--dtype", default="auto", help="auto, float32, bfloat16, float16")
        way.add_argument("--max-model-len", type=int, default=16384)
        way.add_argument("--engine", type=json.loads, default={}, metavar="JSON",
                         help='further arguments of vllm.LLM: \'{"gpu_memory_utilization": 0.5}\'')
    return parser.parse_args()


def engine(options, **more):
    from vllm import LLM

    settings = {"model": options.checkpoint, "dtype": options.dtype,
                "max_model_len": options.max_model_len, "enforce_eager": True,
                "enable_prefix_caching": False, **more, **options.engine}
    return LLM(**settings)


def hashes(folder):
    return {path.parent.name for path in folder.glob(f"*/{CONNECTOR_FILE}")}


def dump_connector(options):
    """One request for each picture, so that the hash that appears is known to be its own."""
    from PIL import Image
    from vllm import SamplingParams

    for path in options.inputs:
        if not path.is_file():
            fail(f"{path}: no such file")
    options.output.mkdir(parents=True, exist_ok=True)
    if any(options.output.iterdir()):
        fail(f"{options.output}: is not empty; a picture found in it would not be encoded again")
    # enforce_eager is for the decoder's graphs, but need not leave the encoder's alone.
    graphs = {"enforce_eager": False, "compilation_config": {"cudagraph_mm_encoder": True}}
    model = engine(options, limit_mm_per_prompt={"image": 1}, mm_processor_cache_gb=0,
                   ec_transfer_config={
                       "ec_connector": "ECExampleConnector", "ec_role": "ec_both",
                       "ec_connector_extra_config": {
                           "shared_storage_path": str(options.output.resolve())}},
                   **(graphs if options.encoder_graphs else {}))
    prompt = "<|vision_start|><|image_pad|><|vision_end|>"
    origins = {}
    for place, path in enumerate(options.inputs, 1):
        before = hashes(options.output)
        with Image.open(path) as picture:
            picture.load()
            model.generate({"prompt": prompt, "multi_modal_data": {"image": picture}},
                           SamplingParams(max_tokens=1, temperature=0), use_tqdm=False)
        new = hashes(options.output) - before
        if len(new) > 1:
            fail(f"{path}: {len(new)} entries appeared in {options.output}; does something else "
                 "write there?")
        if not new:
            print(f"{path}: no new entry, the same content as an earlier picture", file=sys.stderr)
        origins.update({name: str(path.resolve()) for name in new})
        print(f"{place} of {len(options.inputs)} pictures", file=sys.stderr)
    if not origins:
        fail(f"nothing appeared in {options.output}; does this release have ECExampleConnector?")
    (options.output / "pixels.json").write_text(json.dumps(origins, indent=1) + "\n")
    print(f"{options.output}: {len(origins)} pictures")


def host_normalised(pixels, checkpoint):
    """float32 rows as a release without normalisation on the device expects them."""
    import torch
    from transformers import AutoImageProcessor

    constants = AutoImageProcessor.from_pretrained(checkpoint)
    rows = pixels.view(len(pixels), 3, -1).float() * constants.rescale_factor
    mean = torch.tensor(constants.image_mean).view(1, 3, 1)
    std = torch.tensor(constants.image_std).view(1, 3, 1)
    return ((rows - mean) / std).view(pixels.shape)


def dump_embed(options):
    # The function below runs in this process; else it would have to be sent to another.
    os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
    import torch
    import vllm
    from safetensors.torch import load_file, save_file

    try:
        rows = load_file(options.pixels)
    except Exception as error:  # safetensors has an exception of its own
        fail(f"{options.pixels}: {error}")
    pixels, grids = rows.get("pixels"), rows.get("grid_thw")
    if pixels is None or grids is None or pixels.dtype != torch.uint8:
        fail(f"{options.pixels}: expected uint8 `pixels` and `grid_thw`, found {sorted(rows)}")
    model = engine(options)
    config = model.llm_engine.vllm_config.model_config.multimodal_config
    on_device = bool(getattr(config, "mm_device_do_normalize", False))
    values = pixels if on_device else host_normalised(pixels, options.checkpoint)

    def embed(tower):
        with torch.inference_mode():
            weight = next(tower.visual.parameters())
            items = tower.embed_multimodal(pixel_values=values.to(weight.device),
                                           image_grid_thw=grids)
            return torch.cat([item.cpu() for item in items]), type(tower).__name__

    embeddings, model_class = model.apply_model(embed)[0]
    metadata = {"format": "pt", "producer": "vllm", "stage": "embeddings",
                "vllm": vllm.__version__, "torch": torch.__version__,
                "model_class": model_class, "entry_point": "embed_multimodal",
                "checkpoint": str(options.checkpoint),
                "input": "uint8 pixels" if on_device else "host-normalised float32"}
    save_file({"embeddings": embeddings.contiguous(), "grid_thw": grids.long()}, options.output,
              metadata=metadata)
    print(f"{options.output}: {len(grids)} pictures, embeddings {list(embeddings.shape)}")


def main():
    options = arguments()
    try:
        (dump_connector if options.way == "connector" else dump_embed)(options)
    except ImportError as error:
        fail(f"{error}; run this with the Python that runs your vLLM")


if __name__ == "__main__":
    main()
