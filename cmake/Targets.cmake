# The kinds of target this project has.

add_library(as2_flags INTERFACE)
target_compile_features(as2_flags INTERFACE cxx_std_${AS2_CXX_STANDARD})
target_compile_options(as2_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wnon-virtual-dtor -Wno-missing-field-initializers>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${AS2_WERROR}>>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Several sources are compiled as one (as2_join_sources): what a local name hides there may stand in another file,
  # and a type in an anonymous namespace looks as if a header had it. The third is a false alarm of GCC's inlining.
  target_compile_options(as2_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wshadow=local -Wno-subobject-linkage -Wno-maybe-uninitialized>)
else()
  target_compile_options(as2_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wshadow>)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
  # False alarms inside std::vector, from LibTorch's headers as C++20.
  target_compile_options(as2_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-array-bounds -Wno-stringop-overflow>)
endif()
if(AS2_SANITIZE)
  target_compile_options(as2_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer>)
  target_link_options(as2_flags INTERFACE -fsanitize=address,undefined)
endif()
if(AS2_FUZZ)
  target_compile_options(as2_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=fuzzer-no-link>)
endif()

# as2_join_sources(NAME): compiles six sources as one. Most of a source is templates of its headers (LibTorch, JSON,
# CLI11), which every source instantiates again: joined, a clean build takes half the time. So a name in an anonymous
# namespace is used once in a layer.
function(as2_join_sources name)
  if(NOT CMAKE_UNITY_BUILD)  # what the page is made from is joined altogether
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
  endif()
endfunction()

# as2_library(NAME SOURCES… [LINK …] [COLD]): a layer without LibTorch. COLD: its code runs once per command or waits for
# the other layers, and most of it is other libraries' headers, so that compiling it fast counts for more: the first
# `./as2 demo` waits for it.
function(as2_library name)
  cmake_parse_arguments(ARG "COLD" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PUBLIC ${ARG_LINK} PRIVATE $<BUILD_INTERFACE:as2_flags> $<BUILD_INTERFACE:as2_headers>)
  as2_join_sources(${name})
  if(ARG_COLD AND NOT EMSCRIPTEN)
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  set_property(GLOBAL APPEND PROPERTY AS2_LIBRARIES ${name})
endfunction()

# as2_kernels(PREFIX SOURCE DISPATCHER [BASE name] [OPTIONS …] [SIZES NAME=a,b,c …]): compiles SOURCE once per
# instruction set, with AS2_ISA its name; PREFIX_OBJECTS are the objects. Which one runs is decided on the
# machine, by DISPATCHER, which is told with AS2_X86 that there are more than the first. SIZES are definitions
# that differ, in the order of the sets: BASE, AVX2, AVX-512.
function(as2_kernels prefix source dispatcher)
  cmake_parse_arguments(ARG "" "BASE" "OPTIONS;SIZES" ${ARGN})
  if(NOT ARG_BASE)
    set(ARG_BASE baseline)
  endif()
  set(sets ${ARG_BASE})
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    list(APPEND sets avx2 avx512)
    set(flags_avx2 -mavx2 -mfma)
    set(flags_avx512 -mavx512f -mfma)
    set_source_files_properties(${dispatcher} PROPERTIES COMPILE_DEFINITIONS AS2_X86=1)
  endif()
  set(number 0)
  foreach(isa IN LISTS sets)
    set(target as2_${prefix}_${isa})
    add_library(${target} OBJECT ${source})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(${target} PRIVATE as2_flags)
    target_compile_definitions(${target} PRIVATE AS2_ISA=${isa} AS2_ISA_NAME="${isa}")
    foreach(size IN LISTS ARG_SIZES)
      string(REPLACE "=" ";" size "${size}")
      list(GET size 0 name)
      list(GET size 1 values)
      string(REPLACE "," ";" values "${values}")
      list(GET values ${number} value)
      target_compile_definitions(${target} PRIVATE ${name}=${value})
    endforeach()
    target_compile_options(${target} PRIVATE ${ARG_OPTIONS} ${flags_${isa}})
    list(APPEND objects $<TARGET_OBJECTS:${target}>)
    math(EXPR number "${number} + 1")
  endforeach()
  set(${prefix}_OBJECTS ${objects} PARENT_SCOPE)
endfunction()

# as2_tensor_library(NAME SOURCES… [LINK …]): a layer on LibTorch; all share one precompiled header.
function(as2_tensor_library name)
  as2_library(${name} ${ARGN})
  as2_use_torch(${name})
endfunction()

# libstdc++ stands first among the libraries of every program on LibTorch. The wheels of LibTorch export
# std::filesystem functions that were linked into them from another release of libstdc++ (PyTorch's issue
# 133437). Found first, they mix with the system's own, whose objects are laid out differently: remove_all()
# crashed.
set(AS2_LIBSTDCXX_FIRST "SHELL:-Wl,--push-state,--no-as-needed -lstdc++ -Wl,--pop-state")

function(as2_use_torch name)
  target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fPIC>)  # the precompiled header is
  as2_link_torch(${name})
  if(TARGET as2_pch AND NOT name STREQUAL as2_pch)
    target_precompile_headers(${name} REUSE_FROM as2_pch)
  endif()
endfunction()

function(as2_link_torch name)
  target_link_libraries(${name} PUBLIC ${TORCH_LIBRARIES})
  target_link_options(${name} PUBLIC ${AS2_LIBSTDCXX_FIRST})
  target_include_directories(${name} SYSTEM PUBLIC "$<BUILD_INTERFACE:${TORCH_INCLUDE_DIRS}>")
endfunction()
