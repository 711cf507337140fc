# wick_emu: the kernels compiled as plain C++ for the emulator of the GPU execution model, a module;
# wick_emu_static: the same for tests that plant bugs.

file(GLOB emu_kernels CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/kernels/*.cpp)
set(emu_runtime
    ${CMAKE_CURRENT_SOURCE_DIR}/runtime/registry.cpp
    ${CMAKE_CURRENT_SOURCE_DIR}/runtime/rt_emu.cpp
    ${CMAKE_CURRENT_SOURCE_DIR}/runtime/check_emulated.cpp
    ${CMAKE_CURRENT_SOURCE_DIR}/runtime/source_emulated.cpp
    ${CMAKE_CURRENT_SOURCE_DIR}/runtime/watch_emulated.cpp
    ${CMAKE_CURRENT_SOURCE_DIR}/runtime/shared_words.cpp
    ${CMAKE_CURRENT_SOURCE_DIR}/device/emulator.cpp)
# What stands before a kernel's source when the emulator compiles it, at run time.
set(words_text ${CMAKE_CURRENT_BINARY_DIR}/words_text.cpp)
add_custom_command(
  OUTPUT ${words_text}
  COMMAND ${CMAKE_COMMAND} -DHEADER=runtime/words_emulated.h "-DFOLDERS=${CMAKE_CURRENT_SOURCE_DIR}" -DSYMBOL=kEmulatedWords
          -DDECLARED_IN=runtime/words_text.h -DOUT=${words_text} -P ${PROJECT_SOURCE_DIR}/cmake/EmbedHeaders.cmake
  DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/runtime/words_emulated.h ${PROJECT_SOURCE_DIR}/cmake/EmbedHeaders.cmake
  DEPFILE ${words_text}.d
  COMMENT "Embedding the words of kernels from source" VERBATIM)
add_library(wick_emu_objects OBJECT ${emu_kernels} ${emu_runtime} ${words_text})
# Check mode finds races of kernels and what they read or write out of bounds, and the CPU's kernels share their arithmetic.
# So the thread sanitizer never watches the emulator's kernels, and the others do only when all tests run.
set_source_files_properties(${emu_runtime} PROPERTIES COMPILE_OPTIONS "${WICK_WATCHED}")
if(WICK_TEST_ALL AND NOT WICK_SANITIZE STREQUAL "thread")
  set_source_files_properties(${emu_kernels} PROPERTIES COMPILE_OPTIONS "${WICK_WATCHED_KERNELS}")
endif()
set_target_properties(wick_emu_objects PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
                      VISIBILITY_INLINES_HIDDEN ON)
target_include_directories(wick_emu_objects PUBLIC ${CMAKE_CURRENT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src
                           ${PROJECT_SOURCE_DIR}/include)
target_compile_options(wick_emu_objects PRIVATE -ffp-contract=off)
target_compile_features(wick_emu_objects PUBLIC cxx_std_20)
target_link_libraries(wick_emu_objects PUBLIC wick_base)

add_library(wick_emu MODULE $<TARGET_OBJECTS:wick_emu_objects>)
set_target_properties(wick_emu PROPERTIES PREFIX "" LINKER_LANGUAGE CXX
                      LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/runtime/exports.map)
target_link_libraries(wick_emu PRIVATE wick_base)
target_link_options(wick_emu PRIVATE -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/runtime/exports.map)
if(NOT WICK_SANITIZE)  # a sanitizer's own functions are in the program
  target_link_options(wick_emu PRIVATE -Wl,--no-undefined)
endif()

add_library(wick_emu_static STATIC $<TARGET_OBJECTS:wick_emu_objects>)
set_target_properties(wick_emu_static PROPERTIES LINKER_LANGUAGE CXX)
target_include_directories(wick_emu_static PUBLIC ${CMAKE_CURRENT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src
                           ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(wick_emu_static PUBLIC wick_base)
