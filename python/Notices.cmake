# wick_install_notices(COMPONENT TARGET...): the target wick_notices, which writes what notices.py says of these libraries and
# programs, and its installation into the licences of the wheel.
function(wick_install_notices component)
  set(notices ${CMAKE_CURRENT_BINARY_DIR}/THIRD_PARTY_NOTICES)
  set(script ${PROJECT_SOURCE_DIR}/python/notices.py)
  list(TRANSFORM ARGN REPLACE "(.+)" "$<TARGET_FILE:\\1>" OUTPUT_VARIABLE files)
  set(linked)
  if(WICK_CUDA)
    set(linked --linked ${WICK_CUDART_STATIC})
  endif()
  add_custom_command(
    OUTPUT ${notices}
    COMMAND ${Python_EXECUTABLE} ${script} --out ${notices} --compiler ${CMAKE_CXX_COMPILER} ${linked} ${files}
    DEPENDS ${script} ${ARGN} VERBATIM)
  add_custom_target(wick_notices DEPENDS ${notices})
  install(FILES ${notices} DESTINATION ${SKBUILD_METADATA_DIR}/licenses COMPONENT ${component})
endfunction()
