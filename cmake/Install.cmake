# cmake --install: libraries, headers, both programs, programs/, models/, and as2Config.cmake for
# find_package(as2), which offers
#   as2::core   compiling, decoding, probabilities, verifying; no LibTorch
#   as2::as2    and soft T_P and the circuit over tensors, where this build has LibTorch
# Only layers with a header in include/as2/ are offered, and what those are built on.
include(CMakePackageConfigHelpers)

set(AS2_CORE_LAYERS base asp compile decode prob verify formats infer)
set(AS2_TENSOR_LAYERS tp_core tp prob_tensor)
add_library(as2_core INTERFACE)
add_library(as2_as2 INTERFACE)
target_link_libraries(as2_as2 INTERFACE as2_core)
set_target_properties(as2_core PROPERTIES EXPORT_NAME core)
set_target_properties(as2_as2 PROPERTIES EXPORT_NAME as2)
add_library(as2::core ALIAS as2_core)
add_library(as2::as2 ALIAS as2_as2)

set(installed as2_core as2_as2)
foreach(layer IN LISTS AS2_CORE_LAYERS AS2_TENSOR_LAYERS)
  if(NOT TARGET as2_${layer})
    continue()
  endif()
  set_target_properties(as2_${layer} PROPERTIES EXPORT_NAME ${layer})
  list(APPEND installed as2_${layer})
  if(layer IN_LIST AS2_CORE_LAYERS)
    target_link_libraries(as2_core INTERFACE as2_${layer})
  else()
    target_link_libraries(as2_as2 INTERFACE as2_${layer})
  endif()
endforeach()

install(TARGETS ${installed} EXPORT as2Targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS as2 RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(TARGET as2-tensor)
  install(TARGETS as2-tensor RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/as2)
endif()
install(DIRECTORY include/as2 DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY programs models tasks DESTINATION ${CMAKE_INSTALL_DATADIR}/as2 OPTIONAL)

set(AS2_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/as2)
install(EXPORT as2Targets NAMESPACE as2:: DESTINATION ${AS2_CMAKE_DIR})
configure_package_config_file(cmake/as2Config.cmake.in as2Config.cmake INSTALL_DESTINATION ${AS2_CMAKE_DIR})
write_basic_package_version_file(as2ConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/as2Config.cmake ${PROJECT_BINARY_DIR}/as2ConfigVersion.cmake
  DESTINATION ${AS2_CMAKE_DIR})
