#!/usr/bin/env python3
"""Unusual but valid pictures (images/) and what Pillow and torchvision make of them (decoded.json).

  make_images.py --out tests/golden/made

Needs Pillow 13.0.0, torchvision 0.26.0, numpy and the tool cjpeg. `decoded.json` holds, per file and
profile, the shape and sha256 of the decoded [H, W, 3] bytes, or the reference's error. The profiles
are those of ../media/README.md.
"""
import argparse
import hashlib
import io
import json
import os
import struct
import subprocess
import sys
import warnings
import zlib

import numpy as np
import PIL
import torch
import torchvision
from PIL import Image, ImageOps
from torchvision.io import decode_image

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../media"))
from make_media import app1_exif, chunk, png, scene, with_segments, xmp  # noqa: E402

warnings.simplefilter("ignore")
RNG = np.random.default_rng(20)
W, H = 13, 9  # no multiple of a byte or a block
FILES = {}


def save(im, fmt, **kw):
    b = io.BytesIO()
    im.save(b, fmt, **kw)
    return b.getvalue()


def rgb_scene(w=W, h=H):
    return np.asarray(scene(RNG, w, h)).astype(np.int64)


# ----------------------------------------------------------------- PNG
def png_files():
    for interlace in (False, True):
        suffix = "_interlaced" if interlace else ""
        for depth in (1, 2, 4, 8, 16):
            top = (1 << depth) - 1
            gray = RNG.integers(0, top + 1, (H, W))
            gray[0, :5] = [0, min(1, top), min(85, top), min(170, top), top]
            FILES[f"png_gray{depth}{suffix}.png"] = png(gray, 0, depth, interlace=interlace)
            for key in sorted({0, 1, min(170, top), top}):
                FILES[f"png_gray{depth}_key{key}{suffix}.png"] = png(
                    gray, 0, depth, trns=struct.pack(">H", key), interlace=interlace)
            if depth <= 8:
                n = 1 << depth
                pal = RNG.integers(0, 256, (n, 3))
                index = RNG.integers(0, n, (H, W))
                FILES[f"png_palette{depth}{suffix}.png"] = png(index, 3, depth, palette=pal, interlace=interlace)
                alpha = RNG.integers(0, 256, max(1, n - 1)).astype(np.uint8).tobytes()
                FILES[f"png_palette{depth}_alpha{suffix}.png"] = png(
                    index, 3, depth, palette=pal, trns=alpha, interlace=interlace)
        for depth in (8, 16):
            wide = 257 if depth == 16 else 1
            sc = rgb_scene() * wide + (RNG.integers(0, 200, (H, W, 3)) if depth == 16 else 0)
            sc = np.clip(sc, 0, 255 * wide)
            alpha = RNG.integers(0, 255 * wide + 1, (H, W, 1))
            FILES[f"png_rgb{depth}{suffix}.png"] = png(sc, 2, depth, interlace=interlace)
            FILES[f"png_rgba{depth}{suffix}.png"] = png(np.concatenate([sc, alpha], 2), 6, depth, interlace=interlace)
            FILES[f"png_la{depth}{suffix}.png"] = png(np.concatenate([sc[..., :1], alpha], 2), 4, depth, interlace=interlace)
            key = sc[4, 5]
            FILES[f"png_rgb{depth}_key{suffix}.png"] = png(
                sc, 2, depth, trns=struct.pack(">HHH", *(int(v) for v in key)), interlace=interlace)
            low = (sc[4, 5] >> 8) if depth == 16 else key + 256
            FILES[f"png_rgb{depth}_key_other_byte{suffix}.png"] = png(
                sc, 2, depth, trns=struct.pack(">HHH", *(int(v) for v in low)), interlace=interlace)
    sc = rgb_scene()
    plain = png(sc, 2, 8)
    exif = app1_exif(6)[1][6:]
    bare = app1_exif(6)[1][6:].replace(b"\x12\x01", b"\x0f\x01")  # no orientation in it
    iend = plain.index(b"IEND") - 4
    packet = xmp(8)
    FILES["png_exif_after_idat.png"] = plain[:iend] + chunk(b"eXIf", exif) + plain[iend:]
    FILES["png_xmp.png"] = png(sc, 2, 8, before=[(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + packet)])
    FILES["png_xmp_compressed.png"] = png(
        sc, 2, 8, before=[(b"iTXt", b"XML:com.adobe.xmp\0\1\0\0\0" + zlib.compress(packet))])
    FILES["png_exif_bare_and_xmp.png"] = png(
        sc, 2, 8, before=[(b"eXIf", bare), (b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + packet)])
    FILES["png_exif_1_and_xmp.png"] = png(
        sc, 2, 8, before=[(b"eXIf", app1_exif(1)[1][6:]), (b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + packet)])
    profile = b"Exif\0\0" + exif
    raw = f"\nexif\n{len(profile):8d}\n{profile.hex()}\n".encode()
    FILES["png_raw_profile_plain.png"] = png(sc, 2, 8, before=[(b"tEXt", b"Raw profile type exif\0" + raw)])
    FILES["png_with_trailing_bytes.png"] = plain + b"trailing"
    FILES["png_many_idat.png"] = split_idat(plain)
    FILES["png_icc.png"] = png(sc, 2, 8, before=[(b"iCCP", b"x\0\0" + zlib.compress(b"no profile at all"))])
    FILES["png_animated_hidden_default.png"] = save(
        Image.fromarray(sc.astype(np.uint8)), "PNG", save_all=True, default_image=True,
        append_images=[Image.fromarray(rgb_scene().astype(np.uint8)) for _ in range(2)], duration=50)


def split_idat(data):
    at = data.index(b"IDAT") - 4
    n = struct.unpack(">I", data[at : at + 4])[0]
    body = data[at + 8 : at + 8 + n]
    parts = b"".join(chunk(b"IDAT", body[i : i + 7]) for i in range(0, n, 7))
    return data[:at] + parts + data[at + 12 + n :]


# ----------------------------------------------------------------- BMP
def bmp(header_size, bits, rows, *, width=W, height=H, compression=0, palette=None, masks=None, top_down=False,
        skip_palette=False, colours=0):
    if header_size == 12:
        head = struct.pack("<IHHHH", 12, width, height, 1, bits)
    else:
        head = struct.pack("<IiiHHIIiiII", header_size, width, -height if top_down else height, 1, bits,
                           compression, len(rows), 2835, 2835, colours, 0)
        extra = b"".join(struct.pack("<I", m) for m in masks) if masks is not None and header_size > 40 else b""
        head += extra + bytes(max(0, header_size - 40 - len(extra)))
        head = head[:header_size]
    tail = b"".join(struct.pack("<I", m) for m in masks[:3]) if masks is not None and header_size == 40 else b""
    pal = b""
    if palette is not None:
        pal = b"".join(bytes([c[2], c[1], c[0]]) + (b"" if header_size == 12 else b"\0") for c in palette)
    offset = 14 + len(head) + len(tail) + (0 if skip_palette else len(pal))
    return b"BM" + struct.pack("<IHHI", offset + len(rows), 0, 0, offset) + head + tail + pal + rows


def padded(lines):
    return b"".join(line + bytes(-len(line) % 4) for line in lines)


def packed_lines(index, bits):
    out = []
    for row in index:
        b = ((row[:, None] >> np.arange(bits - 1, -1, -1)) & 1).astype(np.uint8).ravel()
        out.append(np.packbits(b).tobytes())
    return padded(out)


def bmp_files():
    for bits in (1, 4, 8):
        n = 1 << bits
        pal = [tuple(int(v) for v in c) for c in RNG.integers(0, 256, (n, 3))]
        index = RNG.integers(0, n, (H, W))
        for header in (12, 40, 64, 108, 124):
            FILES[f"bmp_{bits}_header{header}.bmp"] = bmp(header, bits, packed_lines(index, bits), palette=pal)
        FILES[f"bmp_{bits}_top_down.bmp"] = bmp(40, bits, packed_lines(index, bits), palette=pal, top_down=True)
        FILES[f"bmp_{bits}_offset_without_palette.bmp"] = bmp(
            40, bits, packed_lines(index, bits), palette=pal, skip_palette=True)
        if bits > 1:
            few = pal[: n // 2]
            FILES[f"bmp_{bits}_short_palette.bmp"] = bmp(
                40, bits, packed_lines(index % len(few), bits), palette=few, colours=len(few))
            FILES[f"bmp_{bits}_index_beyond_palette.bmp"] = bmp(
                40, bits, packed_lines(index, bits), palette=few, colours=len(few))
        gray = [(i * 255 // (n - 1),) * 3 for i in range(n)]
        FILES[f"bmp_{bits}_gray_palette.bmp"] = bmp(40, bits, packed_lines(index, bits), palette=gray)
    px = RNG.integers(0, 1 << 16, (H, W)).astype("<u2")
    lines16 = padded([row.tobytes() for row in px])
    FILES["bmp_16.bmp"] = bmp(40, 16, lines16)
    for name, masks in (("555", (0x7C00, 0x3E0, 0x1F)), ("565", (0xF800, 0x7E0, 0x1F))):
        for header in (40, 52, 56, 108, 124):
            FILES[f"bmp_16_{name}_header{header}.bmp"] = bmp(header, 16, lines16, compression=3, masks=masks + (0,))
    lines24 = padded([row.tobytes() for row in RNG.integers(0, 256, (H, W, 3), dtype=np.uint8)])
    for header in (12, 40, 124):
        FILES[f"bmp_24_header{header}.bmp"] = bmp(header, 24, lines24)
    FILES["bmp_24_top_down.bmp"] = bmp(40, 24, lines24, top_down=True)
    px32 = RNG.integers(0, 256, (H, W, 4), dtype=np.uint8)
    FILES["bmp_32_alpha_unused.bmp"] = bmp(40, 32, px32.tobytes())
    zero = px32.copy()
    zero[..., 3] = 0
    FILES["bmp_32_alpha_zero.bmp"] = bmp(40, 32, zero.tobytes())
    FILES["bmp_32_alpha_zero_v5.bmp"] = bmp(124, 32, zero.tobytes())
    for i, masks in enumerate([(0xFF0000, 0xFF00, 0xFF, 0), (0xFF000000, 0xFF0000, 0xFF00, 0),
                               (0xFF000000, 0xFF0000, 0xFF00, 0xFF), (0xFF, 0xFF00, 0xFF0000, 0xFF000000),
                               (0xFF0000, 0xFF00, 0xFF, 0xFF000000), (0, 0, 0, 0)]):
        FILES[f"bmp_32_fields{i}.bmp"] = bmp(124, 32, px32.tobytes(), compression=3, masks=masks)
    FILES["bmp_32_fields_header40.bmp"] = bmp(40, 32, px32.tobytes(), compression=3, masks=(0xFF0000, 0xFF00, 0xFF))
    pal = [tuple(int(v) for v in c) for c in RNG.integers(0, 256, (256, 3))]
    runs = b""
    for y in range(H):
        runs += bytes([5, 17, 0, 4]) + bytes([1, 2, 3, 4]) + bytes([4, 99]) + (b"\0\0" if y % 2 else b"")
    FILES["bmp_rle8.bmp"] = bmp(40, 8, runs + b"\0\1", compression=1, palette=pal)
    FILES["bmp_rle8_delta.bmp"] = bmp(40, 8, bytes([3, 7, 0, 2, 2, 1]) + bytes([255, 9] * 20) + b"\0\0" + bytes([13, 9, 0, 0] * 8) + b"\0\1",
                                      compression=1, palette=pal)
    runs4 = b""
    for y in range(H):
        runs4 += bytes([5, 0x17, 0, 5, 0x12, 0x34, 0x50, 0]) + bytes([3, 0x9A]) + b"\0\0"
    FILES["bmp_rle4.bmp"] = bmp(40, 4, runs4 + b"\0\1", compression=2, palette=pal[:16])


# ----------------------------------------------------------------- GIF
def lzw(index, bits):
    """Plain GIF LZW with table growth, a clear code only at the start (deferred clear)."""
    clear, size, out, acc, n = 1 << bits, bits + 1, bytearray(), 0, 0
    table = {(i,): i for i in range(clear)}
    nxt = clear + 2

    def emit(code):
        nonlocal acc, n
        acc |= code << n
        n += size
        while n >= 8:
            out.append(acc & 255)
            acc >>= 8
            n -= 8

    emit(clear)
    cur = ()
    for v in index:
        if cur + (v,) in table:
            cur += (v,)
            continue
        emit(table[cur])
        if nxt < 4096:
            table[cur + (v,)] = nxt
            nxt += 1
            if nxt > 1 << size and size < 12:
                size += 1
        cur = (v,)
    emit(table[cur])
    emit(clear + 1)
    if n:
        out.append(acc & 255)
    return bytes([bits]) + b"".join(bytes([len(out[i : i + 255])]) + out[i : i + 255] for i in range(0, len(out), 255)) + b"\0"


def gif_frame(index, *, bits=4, at=(0, 0), palette=None, transparent=None, disposal=0, interlaced=False):
    h, w = index.shape
    out = b""
    if transparent is not None or disposal:
        out += b"!\xf9\4" + struct.pack("<BHB", disposal << 2 | (transparent is not None), 5, transparent or 0) + b"\0"
    flags = (0x40 if interlaced else 0) | (0x80 | (len(palette).bit_length() - 2) if palette is not None else 0)
    out += b"," + struct.pack("<HHHHB", at[0], at[1], w, h, flags)
    if palette is not None:
        out += np.asarray(palette, np.uint8).tobytes()
    if interlaced:
        index = np.concatenate([index[0::8], index[4::8], index[2::4], index[1::2]])
    return out + lzw([int(v) for v in index.ravel()], bits)


def gif(frames, *, size=(W, H), palette=None, background=0, version=b"89a"):
    flags = 0x80 | (len(palette).bit_length() - 2) if palette is not None else 0
    out = b"GIF" + version + struct.pack("<HHBBB", *size, flags, background, 0)
    if palette is not None:
        out += np.asarray(palette, np.uint8).tobytes()
    return out + b"".join(frames) + b";"


def gif_files():
    pal, other = RNG.integers(0, 256, (16, 3)), RNG.integers(0, 256, (16, 3))
    index = RNG.integers(0, 16, (H, W))
    half = RNG.integers(0, 16, (5, 6))
    FILES["gif_plain.gif"] = gif([gif_frame(index)], palette=pal)
    FILES["gif_87a.gif"] = gif([gif_frame(index)], palette=pal, version=b"87a")
    FILES["gif_interlaced.gif"] = gif([gif_frame(index, interlaced=True)], palette=pal)
    FILES["gif_local_palette.gif"] = gif([gif_frame(index, palette=other)], palette=pal)
    FILES["gif_local_palette_only.gif"] = gif([gif_frame(index, palette=other)])
    FILES["gif_no_palette.gif"] = gif([gif_frame(index)])
    FILES["gif_no_palette_transparent.gif"] = gif([gif_frame(index, transparent=5)])
    FILES["gif_gray_palette.gif"] = gif([gif_frame(index, transparent=3)], palette=[[i] * 3 for i in range(16)])
    FILES["gif_index_beyond_palette.gif"] = gif([gif_frame(index)], palette=pal[:4])
    FILES["gif_transparent.gif"] = gif([gif_frame(index, transparent=7)], palette=pal, background=2)
    FILES["gif_small_frame.gif"] = gif([gif_frame(half, at=(4, 2))], palette=pal, background=3)
    FILES["gif_small_frame_transparent.gif"] = gif([gif_frame(half, at=(4, 2), transparent=1)], palette=pal, background=3)
    FILES["gif_two_colours.gif"] = gif([gif_frame(index % 2, bits=2)], palette=pal[:2])
    FILES["gif_comment.gif"] = gif([b"!\xfe\5hello\0", gif_frame(index)], palette=pal)
    for disposal in (1, 2, 3):
        FILES[f"gif_three_frames_disposal{disposal}.gif"] = gif(
            [gif_frame(index, disposal=disposal), gif_frame(half, at=(3, 1), transparent=4, disposal=disposal),
             gif_frame(half, at=(6, 4), palette=other, disposal=disposal)], palette=pal, background=9)
    big = RNG.integers(0, 256, (96, 96))
    FILES["gif_full_table.gif"] = gif([gif_frame(big, bits=8)], size=(96, 96), palette=RNG.integers(0, 256, (256, 3)))
    FILES["gif_runs.gif"] = gif([gif_frame(np.repeat(np.arange(60) // 9, 70).reshape(60, 70), bits=3)], size=(70, 60), palette=pal[:8])


# ----------------------------------------------------------------- TIFF
def tiff(data, tags, big=False):
    e = ">" if big else "<"
    kinds = {"H": 3, "I": 4, "B": 1, "U": 7}
    entries, extra = [], b""
    base = 8 + 2 + 12 * (len(tags) + 2) + 4
    tags = dict(tags)
    body_at = None
    for _ in range(2):
        extra, entries = b"", []
        all_tags = dict(tags)
        all_tags[273] = ("I", [body_at or 0])
        all_tags[279] = ("I", [len(data)])
        for tag in sorted(all_tags):
            kind, values = all_tags[tag]
            raw = bytes(values) if kind in "BU" else struct.pack(e + kind * len(values), *values)
            if len(raw) <= 4:
                field = raw + bytes(4 - len(raw))
            else:
                field = struct.pack(e + "I", base + len(extra))
                extra += raw + bytes(len(raw) % 2)
            entries.append(struct.pack(e + "HHI", tag, kinds[kind], len(values)) + field)
        body_at = base + len(extra)
    head = (b"MM\0*" if big else b"II*\0") + struct.pack(e + "I", 8)
    return head + struct.pack(e + "H", len(entries)) + b"".join(entries) + bytes(4) + extra + data


def layout(bits, photometric, samples=1, **more):
    t = {256: ("I", [W]), 257: ("I", [H]), 258: ("H", [bits] * samples), 259: ("H", [1]), 262: ("H", [photometric]),
         277: ("H", [samples]), 278: ("I", [H])}
    t.update({int(k[1:]): v for k, v in more.items()})
    return t


def tiff_files():
    def rows(index, bits):
        return b"".join(np.packbits(((r[:, None] >> np.arange(bits - 1, -1, -1)) & 1).astype(np.uint8).ravel()).tobytes() for r in index)

    for bits in (1, 2, 4, 8):
        index = RNG.integers(0, 1 << bits, (H, W))
        for photometric in (0, 1):
            FILES[f"tiff_gray{bits}_photometric{photometric}.tif"] = tiff(rows(index, bits), layout(bits, photometric))
        cmap = RNG.integers(0, 65536, 3 << bits).tolist()
        FILES[f"tiff_palette{bits}.tif"] = tiff(rows(index, bits), layout(bits, 3, t320=("H", cmap)))
    FILES["tiff_gray8_deflate.tif"] = tiff(zlib.compress(rows(index, 8)), layout(8, 1, t259=("H", [8])))
    g16 = RNG.integers(0, 600, (H, W))
    for big in (False, True):
        order = "big" if big else "little"
        e = ">" if big else "<"
        FILES[f"tiff_gray16_{order}.tif"] = tiff(g16.astype(e + "u2").tobytes(), layout(16, 1), big)
        px = RNG.integers(0, 65536, (H, W, 4))
        FILES[f"tiff_rgb16_{order}.tif"] = tiff(px[..., :3].astype(e + "u2").tobytes(), layout(16, 2, 3), big)
        FILES[f"tiff_rgba16_{order}.tif"] = tiff(px.astype(e + "u2").tobytes(), layout(16, 2, 4, t338=("H", [2])), big)
        FILES[f"tiff_rgb8_{order}.tif"] = tiff((px[..., :3] & 255).astype("u1").tobytes(), layout(8, 2, 3), big)
    px = RNG.integers(0, 256, (H, W, 4), dtype=np.uint8)
    pre = px.copy()
    pre[..., :3] = px[..., :3].astype(int) * px[..., 3:] // 255
    pre[0, :4, 3] = [0, 255, 1, 0]
    for name, kinds in (("unspecified", [0]), ("associated", [1]), ("unassociated", [2])):
        FILES[f"tiff_rgba8_{name}.tif"] = tiff((pre if kinds == [1] else px).tobytes(), layout(8, 2, 4, t338=("H", kinds)))
    FILES["tiff_rgba8_unnamed.tif"] = tiff(px.tobytes(), layout(8, 2, 4))
    FILES["tiff_la8.tif"] = tiff(px[..., :2].tobytes(), layout(8, 1, 2, t338=("H", [2])))
    FILES["tiff_lx8.tif"] = tiff(px[..., :2].tobytes(), layout(8, 1, 2, t338=("H", [0])))
    FILES["tiff_cmyk8.tif"] = tiff(px.tobytes(), layout(8, 5, 4))
    im = Image.fromarray(rgb_scene(70, 50).astype(np.uint8))
    for c in ("tiff_lzw", "tiff_adobe_deflate", "packbits", "jpeg"):
        FILES[f"tiff_compressed_{c}.tif"] = save(im, "TIFF", compression=c)
    FILES["tiff_group4.tif"] = save(im.convert("1"), "TIFF", compression="group4")
    FILES["tiff_many_strips.tif"] = save(im, "TIFF", compression="tiff_lzw", tiffinfo={278: 7})
    planes = np.ascontiguousarray(px[..., :3].transpose(2, 0, 1)).tobytes()
    off = {284: ("H", [2])}
    FILES["tiff_planar_deflate.tif"] = planar(planes, off)
    for o in range(1, 9):
        FILES[f"tiff_orientation_{o}.tif"] = tiff(px[..., :3].tobytes(), layout(8, 2, 3, t274=("H", [o])))
    FILES["tiff_xmp_orientation.tif"] = tiff(px[..., :3].tobytes(), layout(8, 2, 3, t700=("B", list(xmp(6)))))
    FILES["tiff_float.tif"] = tiff(np.zeros((H, W), "<f4").tobytes(), layout(32, 1, t339=("H", [3])))


def planar(planes, more):
    n = W * H
    parts = [zlib.compress(planes[i * n : (i + 1) * n]) for i in range(3)]
    tags = layout(8, 2, 3, t259=("H", [8]))
    tags.update(more)
    data = b"".join(parts)
    one = tiff(data, {**tags, 273: ("I", [0] * 3), 279: ("I", [len(p) for p in parts])})
    del one
    # Offsets of three strips: laid out by hand behind the directory.
    e = "<"
    all_tags = {**tags, 273: ("I", [0, 0, 0]), 279: ("I", [len(p) for p in parts])}
    base = 8 + 2 + 12 * len(all_tags) + 4
    for _ in range(2):
        extra, entries = b"", []
        for tag in sorted(all_tags):
            kind, values = all_tags[tag]
            raw = struct.pack(e + kind * len(values), *values)
            if len(raw) <= 4:
                field = raw + bytes(4 - len(raw))
            else:
                field = struct.pack("<I", base + len(extra))
                extra += raw + bytes(len(raw) % 2)
            entries.append(struct.pack("<HHI", tag, {"H": 3, "I": 4}[kind], len(values)) + field)
        at = base + len(extra)
        all_tags[273] = ("I", [at, at + len(parts[0]), at + len(parts[0]) + len(parts[1])])
    return b"II*\0" + struct.pack("<I", 8) + struct.pack("<H", len(entries)) + b"".join(entries) + bytes(4) + extra + data


# ----------------------------------------------------------------- JPEG
def cjpeg(im, *args):
    return subprocess.run(["cjpeg", *args], input=save(im, "PPM"), stdout=subprocess.PIPE, check=True).stdout


def exif_block(kind, count, value, *, big=False, duplicate=None):
    e = ">" if big else "<"
    entry = struct.pack(e + "HHI", 0x0112, kind, count) + value
    entries = [entry] + ([duplicate] if duplicate else [])
    return b"Exif\0\0" + (b"MM\0*" if big else b"II*\0") + struct.pack(e + "IH", 8, len(entries)) + b"".join(entries) + bytes(4)


def jpeg_files():
    for w, h in ((1, 1), (7, 5), (8, 8), (16, 17), (33, 31)):
        im = Image.fromarray(rgb_scene(w, h).astype(np.uint8))
        for sample in ("1x1", "2x1", "1x2", "2x2", "4x1"):
            FILES[f"jpeg_{w}x{h}_{sample}.jpg"] = cjpeg(im, "-quality", "75", "-sample", sample)
        FILES[f"jpeg_{w}x{h}_1x2_progressive.jpg"] = cjpeg(im, "-quality", "75", "-sample", "1x2", "-progressive")
        FILES[f"jpeg_{w}x{h}_gray.jpg"] = save(im.convert("L"), "JPEG")
        FILES[f"jpeg_{w}x{h}_cmyk.jpg"] = save(im.convert("CMYK"), "JPEG")
    im = Image.fromarray(rgb_scene(40, 30).astype(np.uint8))
    base = save(im, "JPEG", quality=80)
    cmyk = save(im.convert("CMYK"), "JPEG", quality=80)
    at = cmyk.index(b"\xff\xee")
    FILES["jpeg_cmyk_without_adobe.jpg"] = cmyk[:at] + cmyk[at + 2 + struct.unpack(">H", cmyk[at + 2 : at + 4])[0] :]
    FILES["jpeg_arithmetic_progressive.jpg"] = cjpeg(im, "-arithmetic", "-progressive")
    FILES["jpeg_trailing_bytes.jpg"] = base + b"trailing bytes"
    FILES["jpeg_fill_bytes.jpg"] = base[:2] + b"\xff\xff\xff" + base[2:]
    short = struct.pack("<H", 6) + b"\0\0"
    for name, block in {
        "long": exif_block(4, 1, struct.pack("<I", 6)),
        "byte": exif_block(1, 1, b"\6\0\0\0"),
        "two_values": exif_block(3, 2, struct.pack("<HH", 6, 3)),
        "no_value": exif_block(3, 0, short),
        "zero": exif_block(3, 1, bytes(4)),
        "big": exif_block(3, 1, b"\0\6\0\0", big=True),
        "twice": exif_block(3, 1, short, duplicate=struct.pack("<HHI", 0x0112, 3, 1) + struct.pack("<H", 8) + b"\0\0"),
        "ascii": exif_block(2, 2, b"6\0\0\0"),
        "double_prefix": b"Exif\0\0" + exif_block(3, 1, short),
    }.items():
        FILES[f"jpeg_exif_{name}.jpg"] = with_segments(base, [(0xE1, block)])
    whole = exif_block(3, 1, short)
    FILES["jpeg_exif_in_two_segments.jpg"] = with_segments(base, [(0xE1, whole[:20]), (0xE1, b"Exif\0\0" + whole[20:])])
    element = b"http://ns.adobe.com/xap/1.0/\0<x><tiff:Orientation>5</tiff:Orientation></x>"
    FILES["jpeg_xmp_element.jpg"] = with_segments(base, [(0xE1, element)])
    FILES["jpeg_exif_1_and_xmp_6.jpg"] = with_segments(base, [app1_exif(1), (0xE1, b"http://ns.adobe.com/xap/1.0/\0" + xmp(6))])


def webp_files():
    im = Image.fromarray(rgb_scene(21, 17).astype(np.uint8))
    rgba = im.convert("RGBA")
    rgba.putalpha(Image.fromarray(RNG.integers(0, 256, (17, 21), dtype=np.uint8)))
    FILES["webp_lossy_odd.webp"] = save(im, "WEBP", quality=40)
    FILES["webp_lossless_alpha_odd.webp"] = save(rgba, "WEBP", lossless=True)
    FILES["webp_lossy_alpha_exif_xmp.webp"] = save(rgba, "WEBP", quality=70, exif=b"Exif\0\0" + app1_exif(5)[1][6:], xmp=xmp(3))
    FILES["webp_xmp_orientation.webp"] = save(im, "WEBP", quality=70, xmp=xmp(7))
    other = Image.fromarray(rgb_scene(21, 17).astype(np.uint8))
    FILES["webp_animated_alpha.webp"] = save(rgba, "WEBP", save_all=True, append_images=[other, rgba], duration=40)
    FILES["webp_trailing_bytes.webp"] = save(im, "WEBP", quality=40) + b"trailing"
    FILES["webp_as_frame_at_offset.webp"] = frame_at_offset(save(im, "WEBP", lossless=True))


def frame_at_offset(still):
    """An animation of one frame, smaller than its canvas of 40x30, at (6, 4)."""
    u24 = lambda v: struct.pack("<I", v)[:3]  # noqa: E731
    image = still[12:]
    anmf = u24(3) + u24(2) + u24(20) + u24(16) + u24(100) + b"\0" + image
    chunks = b"VP8X" + struct.pack("<I", 10) + b"\x02\0\0\0" + u24(39) + u24(29)
    chunks += b"ANIM" + struct.pack("<I", 6) + bytes(6)
    chunks += b"ANMF" + struct.pack("<I", len(anmf)) + anmf + bytes(len(anmf) % 2)
    return b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WEBP" + chunks


# ----------------------------------------------------------------- references
def on_white(im):
    im = ImageOps.exif_transpose(im)
    if im.mode in ("RGBA", "LA", "PA") or "transparency" in im.info:
        rgba = im.convert("RGBA")
        out = Image.new("RGB", rgba.size, (255, 255, 255))
        out.paste(rgba, mask=rgba.getchannel("A"))
        return out
    return im if im.mode == "RGB" else im.convert("RGB")


def reference(path, profile):
    try:
        if profile == "hf":
            t = decode_image(path, mode="RGB")
            if t.ndim == 4 and len(t) == 1:
                t = t[0]
            if t.ndim != 3 or t.dtype != torch.uint8:
                return {"error": f"{tuple(t.shape)} {t.dtype}"}
            a = t.permute(1, 2, 0).contiguous().numpy()
        else:
            im = Image.open(path)
            im.load()
            im = on_white(im) if profile == "vllm" else ImageOps.exif_transpose(im).convert("RGB")
            a = np.ascontiguousarray(np.asarray(im))
        return {"shape": list(a.shape), "sha256": hashlib.sha256(a.tobytes()).hexdigest()}
    except Exception as e:  # noqa: BLE001
        return {"error": f"{type(e).__name__}: {str(e).replace(os.path.dirname(path) + '/', '')[:100]}"}


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--out", required=True)
    out = ap.parse_args().out
    for make in (png_files, bmp_files, gif_files, tiff_files, jpeg_files, webp_files):
        make()
    folder = os.path.join(out, "images")
    os.makedirs(folder, exist_ok=True)
    expected = {}
    for name in sorted(FILES):
        path = os.path.join(folder, name)
        with open(path, "wb") as f:
            f.write(FILES[name])
        expected[name] = {p: reference(path, p) for p in ("vllm", "hf", "hf-pil")}
    versions = {"pillow": PIL.__version__, "torchvision": torchvision.__version__, "torch": torch.__version__}
    with open(os.path.join(out, "decoded.json"), "w") as f:
        json.dump({"versions": versions, "images": expected}, f, indent=1)
        f.write("\n")
    print(len(FILES), "files,", sum(map(len, FILES.values())), "bytes")


if __name__ == "__main__":
    main()
