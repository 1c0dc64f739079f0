# Every library that vtower stands on, found and never vendored. scripts/setup installs them.

if(VTOWER_GPU_TESTS_ONLY)
  include(gpu_test_dependencies)
  return()
endif()

include(CheckCXXSymbolExists)
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

find_package(CLI11 REQUIRED)             # command line
find_package(nlohmann_json REQUIRED)     # JSON: checkpoints, records, reports
pkg_check_modules(CRYPTO REQUIRED IMPORTED_TARGET libcrypto)      # SHA-256 of files and frames
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)      # fast hashes of tensors
pkg_check_modules(JPEG REQUIRED IMPORTED_TARGET libjpeg)          # libjpeg-turbo: the reference's JPEG
list(APPEND CMAKE_REQUIRED_INCLUDES ${JPEG_INCLUDE_DIRS})
check_cxx_symbol_exists(LIBJPEG_TURBO_VERSION "cstdio;jpeglib.h" VTOWER_JPEG_IS_TURBO)
if(NOT VTOWER_JPEG_IS_TURBO)
  message(FATAL_ERROR "libjpeg: expected libjpeg-turbo, found another; its pixels differ")
endif()
pkg_check_modules(PNG REQUIRED IMPORTED_TARGET libpng)            # PNG with CRC checks, 16 bits, interlace
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)              # checksums and text chunks of PNG
pkg_check_modules(WEBP REQUIRED IMPORTED_TARGET libwebp libwebpdemux)  # WebP, animation, EXIF
pkg_check_modules(TIFF REQUIRED IMPORTED_TARGET libtiff-4)        # TIFF
pkg_check_modules(ARCHIVE REQUIRED IMPORTED_TARGET libarchive)    # zip containers: .npz
find_path(STB_INCLUDE_DIR stb_image.h PATH_SUFFIXES stb REQUIRED) # BMP
add_library(stb INTERFACE)
target_include_directories(stb SYSTEM INTERFACE ${STB_INCLUDE_DIR})

if(VTOWER_VIDEO)  # demuxing and decoding of video
  pkg_check_modules(LIBAV REQUIRED IMPORTED_TARGET libavformat libavcodec libavutil libswscale)
endif()

find_path(GLOO_INCLUDE_DIR gloo/context.h REQUIRED)  # between ranks; its code is in libtorch_cpu
include(torch)    # tensors and their kernels

if(VTOWER_TESTS)
  find_path(DOCTEST_INCLUDE_DIR doctest/doctest.h REQUIRED)       # tests
endif()
