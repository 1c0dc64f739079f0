# What vtower stands on, in one place. Sourced by scripts/setup.

# LibTorch is the `torch` wheel. The CPU flavour needs two small wheels beside it that libtorch_cpu
# links to; the CUDA flavour (where nvcc is on the path) takes all that the wheel asks for.
TORCH_VERSION=2.11.0
TORCH_CPU_WHEELS=(torch==2.11.0 nvidia-cuda-cupti==13.0.85 nvidia-cuda-runtime==13.0.96)
TORCH_CUDA_WHEELS=(
  "${TORCH_CPU_WHEELS[@]}"
  nvidia-cublas==13.1.0.3
  nvidia-cuda-nvrtc==13.0.88
  nvidia-cudnn-cu13==9.19.0.56
  nvidia-cufft==12.0.0.61
  nvidia-cufile==1.15.1.6
  nvidia-curand==10.4.0.35
  nvidia-cusolver==12.0.4.66
  nvidia-cusparse==12.6.3.3
  nvidia-cusparselt-cu13==0.8.0
  nvidia-nccl-cu13==2.28.9
  nvidia-nvjitlink==13.0.88
  nvidia-nvshmem-cu13==3.4.5
  nvidia-nvtx==13.0.85
)

# System packages of Debian 12 and Ubuntu 24.04.
PACKAGES_BUILD=(
  g++ cmake ninja-build ccache pkg-config  # compile
  python3 python3-pip                      # fetch the wheel, run the checks of scripts/
  libcli11-dev nlohmann-json3-dev          # command line, JSON
  libssl-dev libxxhash-dev                 # digests
  libpng-dev zlib1g-dev libwebp-dev libtiff-dev libstb-dev  # pictures; libjpeg-turbo below
  libavformat-dev libavcodec-dev libavutil-dev libswscale-dev  # video
  libarchive-dev                           # .npz
  libgloo-dev                              # headers of the CPU process group
  doctest-dev                              # tests
)
PACKAGES_CHECKS=(clang-format-14 clang-tidy-14)  # one version, since another formats otherwise

# The one name that differs: libjpeg-turbo under its own name, so that no other libjpeg is taken.
jpeg_package() {  # ID of /etc/os-release
  case $1 in
    ubuntu) echo libjpeg-turbo8-dev ;;
    *) echo libjpeg62-turbo-dev ;;
  esac
}
