#!/bin/sh
# Makes the small clips beside it. Needs the ffmpeg tool with libx264, libx265, libvpx and libwebp,
# and python3. The clips as stored are what the tests expect: encoders differ between machines.
set -eu
cd "$(dirname "$0")"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

ff() { ffmpeg -v error -nostdin -y "$@"; }

# numbered SIZE RATE: a picture with the frame number as eight 12x12 cells at the top left.
numbered() {
  marks="drawbox=x=0:y=0:w=96:h=12:color=black:t=fill"
  for i in 0 1 2 3 4 5 6 7; do
    marks="$marks,drawbox=x=$((12 * i)):y=0:w=12:h=12:color=white:t=fill:enable='gte(mod(n\\,$((2 << i)))\\,$((1 << i)))'"
  done
  echo "testsrc=s=$1:r=$2:d=60,$marks"
}
x264="-c:v libx264 -preset medium -crf 38 -threads 1 -pix_fmt yuv420p"

# Edit list: 93 samples stored, few shown.
ff -f lavfi -i "$(numbered 96x64 30)" -frames:v 129 $x264 -g 250 -sc_threshold 0 "$scratch/long.mp4"
ff -ss 2.7 -i "$scratch/long.mp4" -t 0.33 -c copy trimmed.mp4

# Turned, by matrix (FFmpeg writes rotate=90 as 270 clockwise) and by the old tag, which today's
# FFmpeg no longer writes.
ff -f lavfi -i "$(numbered 112x64 10)" -frames:v 4 $x264 "$scratch/flat.mp4"
cp "$scratch/flat.mp4" rotate_0.mp4
for angle in 90 180 270; do
  ff -i "$scratch/flat.mp4" -c copy -metadata:s:v:0 rotate=$angle rotate_$angle.mp4
done
ff -i "$scratch/flat.mp4" -c copy -metadata:s:v:0 rotatx=90 "$scratch/tag.mkv"
sed 's/ROTATX/ROTATE/' "$scratch/tag.mkv" > rotate_tag_90.mkv

# One colour, YUV (81, 90, 240), tagged in several ways.
colour() {
  name=$1; size=$2; fmt=$3; shift 3
  ff -f lavfi -i "color=c=black:s=$size:r=5,format=$fmt,geq=lum=81:cb=90:cr=240" -frames:v 2 \
    -c:v libx264 -qp 0 -threads 1 "$@" "colour_$name.mp4"
}
tags="-color_primaries bt709 -color_trc bt709"
colour bt709_tv 64x48 yuv420p -colorspace bt709 -color_range tv $tags
colour bt709_pc 64x48 yuvj420p -colorspace bt709 -color_range pc $tags
colour bt601_tv 64x48 yuv420p -colorspace smpte170m -color_range tv
colour untagged_320x240 320x240 yuv420p
colour untagged_1280x720 1280x720 yuv420p
ff -f lavfi -i "color=c=black:s=256x64:r=5,format=yuv420p,geq=lum='X':cb=128:cr=128" -frames:v 2 \
  -c:v libx264 -qp 0 -threads 1 -color_range pc -pix_fmt yuvj420p -colorspace bt709 grey_pc.mp4

# Cover art: a stream of its own, ahead of the clip's; and alone beside audio.
ff -f lavfi -i "color=c=red:s=48x48" -frames:v 1 "$scratch/cover.jpg"
ff -i "$scratch/flat.mp4" -i "$scratch/cover.jpg" -map 0 -map 1 -c copy -disposition:v:1 attached_pic \
  "$scratch/cover.mp4"
python3 - "$scratch/cover.mp4" cover_first.mp4 <<'PY'
import struct, sys
data = open(sys.argv[1], "rb").read()
def boxes(start, end):
    while start < end:
        size = struct.unpack(">I", data[start:start + 4])[0]
        yield data[start + 4:start + 8], start, start + size
        start += size
moov = next(b for b in boxes(0, len(data)) if b[0] == b"moov")
inner = list(boxes(moov[1] + 8, moov[2]))
inner.sort(key=lambda b: [b"mvhd", b"udta"].index(b[0]) if b[0] in (b"mvhd", b"udta") else 2)
moved = b"".join(data[b[1]:b[2]] for b in inner)
open(sys.argv[2], "wb").write(data[:moov[1] + 8] + moved + data[moov[2]:])
PY
ff -f lavfi -i "sine=frequency=440:duration=0.2" -i "$scratch/cover.jpg" -map 0 -map 1 -c:a aac \
  -b:a 16k -c:v copy -disposition:v:0 attached_pic cover_only.m4a

# Alpha beside VP9 and VP8: clear on the left, half clear on the right, over red.
for codec in vp8:libvpx vp9:libvpx-vp9; do
  ff -f lavfi -i "color=c=red:s=64x48:r=10,format=yuva420p,geq=lum=p(X\,Y):cb=p(X\,Y):cr=p(X\,Y):a='if(lt(X\,32)\,0\,128)'" \
    -frames:v 4 -c:v ${codec#*:} -auto-alt-ref 0 -crf 20 -b:v 1M alpha_${codec%:*}.webm
done
# Hidden reference frames in packets of their own.
ff -f lavfi -i "$(numbered 96x64 25)" -frames:v 40 -c:v libvpx -auto-alt-ref 1 -lag-in-frames 16 \
  -arnr-maxframes 7 -b:v 60k vp8_hidden_frames.webm

# Streams that do not begin at 0.
ff -i "$scratch/flat.mp4" -c copy -output_ts_offset 1.4 offset.ts
ff -i "$scratch/flat.mp4" -c copy -output_ts_offset 1.4 offset.mp4

# Random access pictures with leading pictures, HEVC and H.264; intra refresh.
ff -f lavfi -i "$(numbered 96x64 25)" -frames:v 90 -c:v libx265 -crf 38 -tag:v hvc1 -pix_fmt yuv420p \
  -x265-params "log-level=error:pools=1:open-gop=1:keyint=20:min-keyint=20:bframes=4:scenecut=0" hevc_cra.mp4
ff -f lavfi -i "$(numbered 96x96 25)" -frames:v 252 $x264 \
  -x264-params "intra-refresh=1:keyint=30:ref=4:slices=3:bframes=0" intra_refresh.mp4

# The frame size changes; a live file without duration or count; one frame without a rate.
ff -f lavfi -i "testsrc=s=96x64:r=10" -frames:v 5 $x264 -f mpegts "$scratch/a.ts"
ff -f lavfi -i "testsrc=s=160x96:r=10" -frames:v 5 $x264 -f mpegts "$scratch/b.ts"
cat "$scratch/a.ts" "$scratch/b.ts" > size_changes.ts
ff -f lavfi -i "$(numbered 96x64 20)" -frames:v 24 -c:v libvpx-vp9 -crf 45 -b:v 0 -live 1 -f webm - \
  | cat > live.webm
ff -f lavfi -i "$(numbered 96x64 20)" -frames:v 1 -c:v libvpx-vp9 -crf 45 -b:v 0 "$scratch/one.webm"
python3 - "$scratch/one.webm" one_without_rate.webm <<'PY'
import sys
data = open(sys.argv[1], "rb").read()
at = data.index(b"\x23\xe3\x83")  # DefaultDuration becomes a Void element of the same length
size = data[at + 3] & 0x7f
open(sys.argv[2], "wb").write(data[:at] + b"\xec" + bytes([0x80 | (size + 2)]) + bytes(size + 2)
                              + data[at + 4 + size:])
PY

# Two seconds at 10 frames a second, then two at 60; repeated timestamps.
ff -f lavfi -i "$(numbered 96x64 60)" -vf "select='lt(n\,120)*not(mod(n\,6))+gte(n\,120)'" \
  -fps_mode vfr -frames:v 140 $x264 vfr_10_60.mp4
ff -f lavfi -i "$(numbered 96x64 10)" -frames:v 10 -c:v mjpeg -q:v 12 -pix_fmt yuvj420p "$scratch/steady.mkv"
ff -i "$scratch/steady.mkv" -c copy -bsf:v "setts=ts=floor(N/2)*200" repeated_times.mkv

# For damage, with some noise so that a packet holds more than its header: one key frame, two.
noisy="$(numbered 96x64 25),noise=alls=60:allf=t:all_seed=5"
one_key="-bf 0 -g 250 -sc_threshold 0"
ff -f lavfi -i "$noisy" -frames:v 26 $x264 -crf 26 $one_key plain_26.mp4
ff -f lavfi -i "$noisy" -frames:v 26 $x264 -crf 26 -bf 0 -g 13 -keyint_min 13 -sc_threshold 0 two_keys_26.mp4
ff -f lavfi -i "$noisy" -frames:v 26 -c:v libx265 -crf 28 -tag:v hvc1 -pix_fmt yuv420p \
  -x265-params "log-level=error:pools=1:bframes=0:keyint=250:scenecut=0" hevc_26.mp4
ff -f lavfi -i "$(numbered 96x64 25)" -frames:v 2 $x264 two_frames.mp4
ff -f lavfi -i "$(numbered 96x64 25)" -frames:v 3 $x264 three_frames.mp4

# Other containers and animations.
ff -f lavfi -i "$(numbered 96x64 25)" -frames:v 12 -c:v mpeg2video -q:v 12 -bf 2 program_stream.mpg
ff -f lavfi -i "$(numbered 96x64 10)" -frames:v 3 -pix_fmt yuv420p three.y4m
ff -f lavfi -i "testsrc=s=48x36:r=10,format=rgba,geq=r=p(X\,Y):g=p(X\,Y):b=p(X\,Y):a='if(lt(X\,16)\,0\,255)'" \
  -frames:v 4 -plays 0 -f apng animated.png
ff -f lavfi -i "testsrc=s=48x36:r=10" -frames:v 4 -pix_fmt rgb24 -plays 0 -f apng animated_opaque.png
ff -f lavfi -i "testsrc=s=48x36:r=10" -frames:v 4 -pix_fmt bgra -c:v libwebp_anim -lossless 1 -loop 0 animated.webp
