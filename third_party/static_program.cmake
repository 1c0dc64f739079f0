# vtower_static_program(target library...): links the libraries (the first stands on the others) and
# what they need into one static file, where the system has all of it as static libraries;
# dynamically otherwise, and says so.
include(CheckCXXSourceCompiles)

function(vtower_static_program target)
  set(static_libraries)
  foreach(name archive crypto xxhash nettle lzma zstd bz2 z)
    find_library(VTOWER_STATIC_${name} lib${name}.a)
    mark_as_advanced(VTOWER_STATIC_${name})
    list(APPEND static_libraries ${VTOWER_STATIC_${name}})
  endforeach()
  set(CMAKE_REQUIRED_LINK_OPTIONS -static)
  set(CMAKE_REQUIRED_LIBRARIES ${static_libraries})
  check_cxx_source_compiles("
    extern \"C\" void* archive_read_new();
    extern \"C\" int archive_read_support_format_zip_seekable(void*);
    extern \"C\" void* EVP_sha256();
    int main() {
      return archive_read_support_format_zip_seekable(archive_read_new()) + !EVP_sha256();
    }"
    VTOWER_STATIC_PROGRAMS)
  if(VTOWER_STATIC_PROGRAMS AND NOT VTOWER_SANITIZE)
    # The libraries by their files: as targets they bring the shared forms of what they need.
    set(files)
    foreach(library ${ARGN})
      add_dependencies(${target} ${library})
      list(APPEND files $<TARGET_FILE:${library}>)
    endforeach()
    target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/lib)
    target_link_libraries(${target} PRIVATE -static ${files} ${static_libraries} vtower_options
      Threads::Threads)
  else()
    message(STATUS "${target} is linked dynamically: the static libraries are not all there")
    target_link_libraries(${target} PRIVATE ${ARGN} vtower_options)
  endif()
endfunction()
