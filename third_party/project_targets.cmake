# How every target of the project is built: language level, warnings, sanitizers, optimisation.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

file(REMOVE ${CMAKE_BINARY_DIR}/gpu_tests.txt)  # written anew by vtower_test()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # The sloppiness lets ccache serve files that use a precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE_PROGRAM})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

add_library(vtower_options INTERFACE)
# -ffp-contract=off: one rounding per written operation, on every CPU; exact pixels depend on it.
target_compile_options(vtower_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
    -ffp-contract=off>)
target_link_options(vtower_options INTERFACE -Wl,--as-needed)  # start-up loads what is used
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 warns about std::string's own operator+ (GCC bug 105329).
  target_compile_options(vtower_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict -Wno-stringop-overflow -Wno-array-bounds>)
endif()
# Later compilers find new warnings; a user's build must not end by them.
if(VTOWER_WERROR AND CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(vtower_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
if(VTOWER_SANITIZE)
  target_compile_options(vtower_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${VTOWER_SANITIZE} -fno-sanitize-recover=all
      -fno-omit-frame-pointer>)
  target_link_options(vtower_options INTERFACE -fsanitize=${VTOWER_SANITIZE})
endif()

# vtower_library(core SOURCES a.cpp b.cpp DEPENDS nlohmann_json ...): static library vtower_core,
# included as "core/a.h".
function(vtower_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(vtower_${name} STATIC ${ARG_SOURCES})
  target_include_directories(vtower_${name} PUBLIC ${CMAKE_SOURCE_DIR}/lib)
  target_link_libraries(vtower_${name} PUBLIC ${ARG_DEPENDS} PRIVATE vtower_options)
endfunction()

# CUDA sources of a library; the architecture is named, since there may be no GPU to ask.
function(vtower_cuda_sources target)
  target_sources(${target} PRIVATE ${ARGN})
  # CMake before 3.26 does not know C++20 for this nvcc.
  set_target_properties(${target} PROPERTIES CUDA_STANDARD 17 CUDA_ARCHITECTURES 90a-real)
  target_link_libraries(${target} PUBLIC torch_cuda)
endfunction()

# The headers that cost most are parsed once: vtower_precompile(target) for whatever includes
# LibTorch. The header belongs to vtower_checkpoint, the lowest library with LibTorch.
function(vtower_precompile target)
  if(target STREQUAL vtower_checkpoint)
    target_precompile_headers(${target} PRIVATE
      <ATen/core/Tensor.h> <nlohmann/json.hpp> <map> <memory> <span> <string> <vector>)
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
  else()
    target_precompile_headers(${target} REUSE_FROM vtower_checkpoint)
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
  endif()
endfunction()

# Target tests_LABEL builds the test programs of a label.
set(VTOWER_TEST_LABELS unit types golden modes cli fuzz gpu bench)
foreach(label ${VTOWER_TEST_LABELS})
  add_custom_target(tests_${label})
endforeach()

# Tests run side by side: threads that spin while they wait would take the others' cores.
set(VTOWER_TEST_ENVIRONMENT OMP_WAIT_POLICY=PASSIVE)

# vtower_test(name SOURCES ... DEPENDS ... LABELS ...): a doctest program and its ctest entry. Exit
# code 77: it says aloud why it cannot run on this machine, and counts as skipped.
function(vtower_test name)
  cmake_parse_arguments(ARG "" "MAIN" "SOURCES;DEPENDS;LABELS" ${ARGN})
  if(NOT ARG_MAIN)
    set(ARG_MAIN vtower_test_main)
  endif()
  add_executable(test_${name} ${ARG_SOURCES})
  target_link_libraries(test_${name} PRIVATE ${ARG_MAIN} vtower_test_support ${ARG_DEPENDS}
    vtower_options)
  add_test(NAME ${name} COMMAND test_${name})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT 900 SKIP_RETURN_CODE 77
    ENVIRONMENT "${VTOWER_TEST_ENVIRONMENT}")
  foreach(label ${ARG_LABELS})
    if(NOT label IN_LIST VTOWER_TEST_LABELS)
      message(FATAL_ERROR "vtower_test(${name}): no label '${label}' in ${VTOWER_TEST_LABELS}")
    endif()
    add_dependencies(tests_${label} test_${name})
  endforeach()
  if("gpu" IN_LIST ARG_LABELS)  # scripts/test-gpu reads the list where there is no ctest
    file(APPEND ${CMAKE_BINARY_DIR}/gpu_tests.txt "test_${name}\n")
  endif()
endfunction()

# vtower_gpu_test(name SOURCES ... DEPENDS ...): a test program that skips aloud without a GPU.
function(vtower_gpu_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  vtower_test(${name} MAIN vtower_gpu_test_main SOURCES ${ARG_SOURCES} DEPENDS ${ARG_DEPENDS}
    LABELS gpu)
  vtower_precompile(test_${name})
endfunction()
