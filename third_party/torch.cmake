# LibTorch from the `torch` wheel (scripts/setup pins its version).
#
# find_package(Torch) of a CUDA wheel insists on a CUDA toolkit, so its libraries are linked as
# imported targets here: libtorch_cpu and libc10 always, their CUDA siblings where nvcc is.

set(VTOWER_TORCH_PREFIX "" CACHE PATH
  "Folder of the torch package: holds include/ and lib/ (empty: what scripts/setup chose)")
if(NOT VTOWER_TORCH_PREFIX AND EXISTS ${CMAKE_SOURCE_DIR}/.deps/torch)
  file(REAL_PATH ${CMAKE_SOURCE_DIR}/.deps/torch VTOWER_TORCH_PREFIX)
endif()
if(NOT EXISTS ${VTOWER_TORCH_PREFIX}/lib/libtorch_cpu.so)
  message(FATAL_ERROR "VTOWER_TORCH_PREFIX='${VTOWER_TORCH_PREFIX}': expected a folder with "
    "lib/libtorch_cpu.so; run scripts/setup, or pass the folder of a LibTorch that is there")
endif()

# Libraries of NVIDIA's wheels that libtorch_cpu itself needs lie beside the package.
file(GLOB VTOWER_NVIDIA_LIBS ${VTOWER_TORCH_PREFIX}/../nvidia/*/lib
     ${VTOWER_TORCH_PREFIX}/../cusparselt/lib)

add_library(torch_cpu INTERFACE)
target_include_directories(torch_cpu SYSTEM INTERFACE ${VTOWER_TORCH_PREFIX}/include)
# What c10d's headers alone ask for.
set(TORCH_API_INCLUDE_DIR ${VTOWER_TORCH_PREFIX}/include/torch/csrc/api/include)
# Headers of single operators, never of all: ATen/TensorOperators.h (a * b) included.
target_compile_definitions(torch_cpu INTERFACE AT_PER_OPERATOR_HEADERS)
target_link_libraries(torch_cpu INTERFACE
  ${VTOWER_TORCH_PREFIX}/lib/libtorch_cpu.so ${VTOWER_TORCH_PREFIX}/lib/libc10.so)
target_link_options(torch_cpu INTERFACE -Wl,-rpath,${VTOWER_TORCH_PREFIX}/lib)
foreach(dir ${VTOWER_NVIDIA_LIBS})
  target_link_options(torch_cpu INTERFACE -Wl,-rpath-link,${dir})
endforeach()

set(VTOWER_HAVE_CUDA OFF)
if(NOT VTOWER_CUDA STREQUAL OFF)
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER AND EXISTS ${VTOWER_TORCH_PREFIX}/lib/libtorch_cuda.so)
    set(VTOWER_HAVE_CUDA ON)
  elseif(VTOWER_CUDA STREQUAL ON)
    message(FATAL_ERROR "VTOWER_CUDA=ON: expected nvcc and a CUDA build of LibTorch")
  endif()
endif()
if(VTOWER_HAVE_CUDA)
  enable_language(CUDA)
  find_package(CUDAToolkit REQUIRED)
  # Between GPUs; its code comes with libtorch_cuda.
  find_path(NCCL_INCLUDE_DIR nccl.h REQUIRED
    HINTS ${VTOWER_TORCH_PREFIX}/../nvidia/nccl/include ${CUDAToolkit_INCLUDE_DIRS})
  # The kernels register themselves when the library is loaded: no symbol asks for it.
  add_library(torch_cuda INTERFACE)
  target_include_directories(torch_cuda SYSTEM INTERFACE ${CUDAToolkit_INCLUDE_DIRS})
  target_link_libraries(torch_cuda INTERFACE torch_cpu
    -Wl,--no-as-needed ${VTOWER_TORCH_PREFIX}/lib/libtorch_cuda.so
    ${VTOWER_TORCH_PREFIX}/lib/libc10_cuda.so -Wl,--as-needed CUDA::cudart)
endif()
message(STATUS "vtower: CUDA parts ${VTOWER_HAVE_CUDA}")
