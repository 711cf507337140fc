# `cmake --install`: libwick, the modules beside it, the public headers, the programs, the licence, and the files that
# find_package(wick) reads.
include(CMakePackageConfigHelpers)

install(TARGETS wick EXPORT wick LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/wick DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
foreach(module wick_openblas wick_rocm wick_cuda wick_emu)
  if(TARGET ${module})
    install(TARGETS ${module} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endif()
endforeach()
foreach(program wick-cli wick-conformance)
  if(TARGET ${program})
    set_target_properties(${program} PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endforeach()
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/wick)
install(EXPORT wick NAMESPACE wick:: FILE wickTargets.cmake DESTINATION ${package_folder})
file(WRITE ${CMAKE_BINARY_DIR}/wickConfig.cmake "include(\${CMAKE_CURRENT_LIST_DIR}/wickTargets.cmake)\n")
write_basic_package_version_file(${CMAKE_BINARY_DIR}/wickConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/wickConfig.cmake ${CMAKE_BINARY_DIR}/wickConfigVersion.cmake DESTINATION ${package_folder})
