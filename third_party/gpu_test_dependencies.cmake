# The few libraries that the GPU tests stand on, from a prefix made by scripts/gpu-prefix: the
# machine with the GPU may have neither packages nor a network.

find_package(Threads REQUIRED)

function(vtower_prefix_library target header library)  # library: NONE for headers alone
  string(MAKE_C_IDENTIFIER ${header} id)
  find_path(${id}_DIR ${header} REQUIRED)
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${target} SYSTEM INTERFACE ${${id}_DIR})
  if(NOT library STREQUAL NONE)
    find_library(${id}_LIBRARY NAMES ${library} REQUIRED)
    target_link_libraries(${target} INTERFACE ${${id}_LIBRARY})
  endif()
endfunction()

vtower_prefix_library(nlohmann_json::nlohmann_json nlohmann/json.hpp NONE)  # checkpoints
vtower_prefix_library(PkgConfig::XXHASH xxhash.h NONE)                      # inline
vtower_prefix_library(PkgConfig::CRYPTO openssl/evp.h libcrypto.so.3)       # SHA-256
find_path(GLOO_INCLUDE_DIR gloo/context.h REQUIRED)
include(torch)
find_path(DOCTEST_INCLUDE_DIR doctest/doctest.h REQUIRED)
