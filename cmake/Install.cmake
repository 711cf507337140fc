# `cmake --install`: libwick, the modules beside it, the public headers, the program, the licence, and the files that
# find_package(wick) reads.
include(CMakePackageConfigHelpers)

install(TARGETS wick EXPORT wick LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/wick DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
foreach(module wick_openblas wick_rocm wick_cuda wick_emu)
  if(TARGET ${module})
    install(TARGETS ${module} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endif()
endforeach()
set_target_properties(wick-cli PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
install(TARGETS wick-cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/wick)
install(EXPORT wick NAMESPACE wick:: FILE wickTargets.cmake DESTINATION ${package_folder})
file(WRITE ${CMAKE_BINARY_DIR}/wickConfig.cmake "include(\${CMAKE_CURRENT_LIST_DIR}/wickTargets.cmake)\n")
write_basic_package_version_file(${CMAKE_BINARY_DIR}/wickConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/wickConfig.cmake ${CMAKE_BINARY_DIR}/wickConfigVersion.cmake DESTINATION ${package_folder})
