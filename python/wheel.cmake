# The files of the wheel: in the folder wick the package, libwick, the modules beside it and the programs, which find libwick
# from their own folder; and a script that starts the program.
set(program_folder wick/bin)
# Wheels have no links: libwick is one file, of the name that programs ask for.
get_target_property(wick_interface wick SOVERSION)
set_target_properties(wick PROPERTIES VERSION ${wick_interface})
set_target_properties(wick _wick PROPERTIES INSTALL_RPATH "$ORIGIN")
set(programs wick-cli)
if(TARGET wick-conformance)  # for wick doctor --kernels
  list(APPEND programs wick-conformance)
endif()
set_target_properties(${programs} PROPERTIES INSTALL_RPATH "$ORIGIN/..")
install(TARGETS wick LIBRARY DESTINATION wick COMPONENT python NAMELINK_SKIP)
install(TARGETS _wick ${modules} LIBRARY DESTINATION wick COMPONENT python)
install(TARGETS ${programs} RUNTIME DESTINATION ${program_folder} COMPONENT python)
install(FILES ${python_files} DESTINATION wick COMPONENT python)
install(FILES ${package}/_wick.pyi ${package}/py.typed DESTINATION wick COMPONENT python)
install(PROGRAMS start_program.py DESTINATION ${SKBUILD_SCRIPTS_DIR} RENAME wick COMPONENT python)

add_dependencies(wick_python ${programs})

set(holders _wick wick ${programs} ${modules})  # of code of others, which the emulator has none of
list(REMOVE_ITEM holders wick_emu)
wick_install_notices(python ${SKBUILD_METADATA_DIR}/licenses ${holders})
add_dependencies(wick_python wick_notices)
