# Finds what the build needs. A part whose dependency is missing is switched off, with a line that says so.

set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
if(NOT EMSCRIPTEN)  # where it would only make the code larger
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
endif()
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(AS2_CCACHE ccache)
if(AS2_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # The sloppiness lets ccache reuse objects built with a precompiled header. It learns what a source includes from the
  # compiler, instead of preprocessing it once more, which took a sixth of a first build.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime CCACHE_DEPEND=1 ${AS2_CCACHE})
endif()

find_package(Threads REQUIRED)

function(as2_left_out what why)
  message(STATUS "left out: ${what} (${why})")
endfunction()

# Header-only libraries: from their packages, or from AS2_HEADERS (a folder of headers) where there are none.
set(AS2_HEADERS "" CACHE PATH "Folder with CLI11, nlohmann/json, toml++ and stb headers, instead of packages")
add_library(as2_headers INTERFACE)
if(AS2_HEADERS)
  target_include_directories(as2_headers SYSTEM INTERFACE ${AS2_HEADERS} ${AS2_HEADERS}/stb)
else()
  find_path(AS2_CLI11_DIR CLI/CLI.hpp REQUIRED)
  find_path(AS2_JSON_DIR nlohmann/json.hpp REQUIRED)
  find_path(AS2_TOML_DIR toml++/toml.h REQUIRED)
  find_path(AS2_STB_DIR stb_image.h PATH_SUFFIXES stb REQUIRED)
  target_include_directories(as2_headers SYSTEM INTERFACE ${AS2_STB_DIR})
endif()

# Debian's cpp-httplib is a library with TLS and compression in it; the header has to be read with the same
# switches, for the layout of its classes depends on them.
if(NOT EMSCRIPTEN)
  find_path(AS2_HTTPLIB_DIR httplib.h)
  find_library(AS2_HTTPLIB cpp-httplib)
  if(AS2_HTTPLIB_DIR AND AS2_HTTPLIB)
    add_library(as2_httplib INTERFACE)
    target_include_directories(as2_httplib SYSTEM INTERFACE ${AS2_HTTPLIB_DIR})
    target_compile_definitions(as2_httplib INTERFACE
      CPPHTTPLIB_OPENSSL_SUPPORT CPPHTTPLIB_ZLIB_SUPPORT CPPHTTPLIB_BROTLI_SUPPORT)
    target_link_libraries(as2_httplib INTERFACE ${AS2_HTTPLIB} ssl crypto)
  else()
    as2_left_out("as2 serve" "no cpp-httplib found; install libcpp-httplib-dev")
  endif()
endif()

set(AS2_CXX_STANDARD 17)
if(AS2_WITH_TORCH)
  find_package(Torch QUIET)
  if(Torch_FOUND)
    if(Torch_VERSION VERSION_GREATER_EQUAL 2.9)
      set(AS2_CXX_STANDARD 20)
    endif()
  else()
    set(AS2_WITH_TORCH OFF)
    as2_left_out("soft T_P, networks, training" "no LibTorch found; install libtorch-dev or set CMAKE_PREFIX_PATH")
  endif()
endif()
set(CMAKE_CXX_STANDARD ${AS2_CXX_STANDARD})

set(AS2_HAS_CUDA OFF)
if(AS2_WITH_TORCH AND AS2_WITH_CUDA)
  if(TARGET torch_cuda)
    enable_language(CUDA)
    set(AS2_HAS_CUDA ON)
  else()
    as2_left_out("CUDA kernels" "this LibTorch is for the CPU")
  endif()
endif()

if(AS2_WITH_TESTS)
  find_package(GTest QUIET)
  if(NOT GTest_FOUND)
    set(AS2_WITH_TESTS OFF)
    as2_left_out("tests" "no GoogleTest found; install libgtest-dev and libgmock-dev")
  endif()
endif()
