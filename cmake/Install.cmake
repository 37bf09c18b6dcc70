# cmake --install: libraries, headers, both programs, programs/, models/, and as2Config.cmake for
# find_package(as2), which offers
#   as2::core    compiling, decoding, verifying; no LibTorch
#   as2::solver  pictures in, answers out, from trained weights; no LibTorch
#   as2::as2     everything this build has, where LibTorch is found
# The layers behind these three are exported as mere archives: the headers come with as2::core.
include(CMakePackageConfigHelpers)

set(AS2_CORE_LAYERS base asp compile decode prob verify formats infer)
set(AS2_SOLVER_LAYERS datasets sudoku vision boards tp_core native)
set(AS2_TENSOR_LAYERS tp prob_tensor)
foreach(name core solver as2)
  add_library(as2_${name} INTERFACE)
  set_target_properties(as2_${name} PROPERTIES EXPORT_NAME ${name})
  add_library(as2::${name} ALIAS as2_${name})
endforeach()
target_include_directories(as2_core INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(as2_solver INTERFACE as2_core)
target_link_libraries(as2_as2 INTERFACE as2_solver)

set(installed_core as2_core as2_solver)
set(installed_tensor as2_as2)
foreach(layer IN LISTS AS2_CORE_LAYERS AS2_SOLVER_LAYERS AS2_TENSOR_LAYERS)
  if(NOT TARGET as2_${layer})
    continue()
  endif()
  set_target_properties(as2_${layer} PROPERTIES EXPORT_NAME ${layer})
  if(layer IN_LIST AS2_CORE_LAYERS)
    list(APPEND installed_core as2_${layer})
    target_link_libraries(as2_core INTERFACE as2_${layer})
  elseif(layer IN_LIST AS2_SOLVER_LAYERS)
    list(APPEND installed_core as2_${layer})
    target_link_libraries(as2_solver INTERFACE as2_${layer})
  else()
    list(APPEND installed_tensor as2_${layer})
    target_link_libraries(as2_as2 INTERFACE as2_${layer})
  endif()
endforeach()

# Two lists of targets, so that who has no LibTorch can use the first.
install(TARGETS ${installed_core} EXPORT as2CoreTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS ${installed_tensor} EXPORT as2TensorTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS as2 RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(TARGET as2-tensor)
  install(TARGETS as2-tensor RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/as2)
endif()
install(DIRECTORY include/as2 DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY programs models tasks DESTINATION ${CMAKE_INSTALL_DATADIR}/as2 OPTIONAL)
install(DIRECTORY ${PROJECT_BINARY_DIR}/web/page DESTINATION ${CMAKE_INSTALL_DATADIR}/as2 OPTIONAL)
install(DIRECTORY bench/decode DESTINATION ${CMAKE_INSTALL_DATADIR}/as2/bench)

set(AS2_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/as2)
install(EXPORT as2CoreTargets NAMESPACE as2:: DESTINATION ${AS2_CMAKE_DIR})
install(EXPORT as2TensorTargets NAMESPACE as2:: DESTINATION ${AS2_CMAKE_DIR})
configure_package_config_file(cmake/as2Config.cmake.in as2Config.cmake INSTALL_DESTINATION ${AS2_CMAKE_DIR})
write_basic_package_version_file(as2ConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/as2Config.cmake ${PROJECT_BINARY_DIR}/as2ConfigVersion.cmake
  DESTINATION ${AS2_CMAKE_DIR})
