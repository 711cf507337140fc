# wick_install_notices(COMPONENT DESTINATION [WITHOUT_LIBRARIES] TARGET...): the target wick_notices, which writes what notices.py
# says of these libraries and programs, and its installation. WITHOUT_LIBRARIES: the package brings no shared libraries of others.
function(wick_install_notices component destination)
  cmake_parse_arguments(PARSE_ARGV 2 notices "WITHOUT_LIBRARIES" "" "")
  set(targets ${notices_UNPARSED_ARGUMENTS})
  set(file ${CMAKE_BINARY_DIR}/THIRD_PARTY_NOTICES)
  set(script ${PROJECT_SOURCE_DIR}/cmake/notices.py)
  list(TRANSFORM targets REPLACE "(.+)" "$<TARGET_FILE:\\1>" OUTPUT_VARIABLE binaries)
  set(options)
  if(notices_WITHOUT_LIBRARIES)
    list(APPEND options --without-libraries)
  endif()
  if(wick_cuda IN_LIST targets)
    list(APPEND options --linked ${WICK_CUDART_STATIC})
  endif()
  add_custom_command(
    OUTPUT ${file}
    COMMAND ${Python_EXECUTABLE} ${script} --out ${file} --compiler ${CMAKE_CXX_COMPILER} ${options} ${binaries}
    DEPENDS ${script} ${targets} VERBATIM)
  add_custom_target(wick_notices ALL DEPENDS ${file})
  install(FILES ${file} DESTINATION ${destination} COMPONENT ${component})
endfunction()
