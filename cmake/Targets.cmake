# The kinds of target this project has.

add_library(as2_flags INTERFACE)
target_compile_features(as2_flags INTERFACE cxx_std_${AS2_CXX_STANDARD})
target_compile_options(as2_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wno-missing-field-initializers>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${AS2_WERROR}>>:-Werror>)
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

# as2_library(NAME SOURCES… [LINK …]): a layer without LibTorch.
function(as2_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PUBLIC ${ARG_LINK} PRIVATE $<BUILD_INTERFACE:as2_flags> $<BUILD_INTERFACE:as2_headers>)
  set_property(GLOBAL APPEND PROPERTY AS2_LIBRARIES ${name})
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
