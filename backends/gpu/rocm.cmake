# wick_rocm: the kernels and their runtime for AMD cards, one module. No ROCm package is needed to build or to link it:
# libamdhip64 is opened at run time.
#   WICK_ROCM_TARGETS  the gfx targets that get code; scripts/build-rocm sets it from --all or --targets
include(${PROJECT_SOURCE_DIR}/cmake/AmdObjects.cmake)

set(rocm_default gfx906 gfx908 gfx90a gfx942 gfx1030 gfx1100 gfx1151 gfx1201 gfx9-generic gfx10-1-generic
    gfx10-3-generic gfx11-generic gfx12-generic)
if(WICK_AMD_NEWER_CLANG)
  list(APPEND rocm_default gfx950 gfx9-4-generic)
endif()
set(WICK_ROCM_TARGETS ${rocm_default} CACHE STRING "gfx targets that wick_rocm has code for")
set(WICK_ROCM_MATRIX ON CACHE BOOL "Use the cards' matrix instructions; OFF builds what cards without them run")

# A target that the runtime has no row for would be code that no card is ever given.
file(STRINGS ${CMAKE_CURRENT_SOURCE_DIR}/runtime/rt_rocm_targets.h rocm_known REGEX "^ +{\"gfx")
list(TRANSFORM rocm_known REPLACE "^ +{\"(gfx[^\"]+)\".*" "\\1")
foreach(target IN LISTS WICK_ROCM_TARGETS)
  if(NOT target IN_LIST rocm_known)
    list(JOIN rocm_known " " known)
    message(FATAL_ERROR "WICK_ROCM_TARGETS: \"${target}\" is none of ${known}")
  endif()
endforeach()
if(NOT WICK_ROCM_TARGETS)
  message(FATAL_ERROR "WICK_ROCM_TARGETS is empty: name at least one target, as in -DWICK_ROCM_TARGETS=gfx1100")
endif()
list(JOIN WICK_ROCM_TARGETS " " rocm_target_list)
message(STATUS "wick_rocm: code for ${rocm_target_list}")

set(rocm_runtime ${CMAKE_CURRENT_SOURCE_DIR}/runtime)
set(rocm_includes ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR})
set(rocm_defines)
if(NOT WICK_ROCM_MATRIX)
  set(rocm_defines WICK_MATRIX_NONE)
endif()
file(GLOB rocm_units CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/kernels/*.cpp)
set(rocm_libraries ${CMAKE_CURRENT_SOURCE_DIR}/libraries)
wick_amd_objects(rocm_objects UNITS ${rocm_units} HOST_ONLY ${rocm_runtime}/rt_rocm.cpp ${rocm_runtime}/registry.cpp
                 ${rocm_libraries}/library_kernels.cpp ${rocm_libraries}/self_check.cpp ${rocm_libraries}/collectives.cpp
                 TARGETS ${WICK_ROCM_TARGETS} INCLUDES ${rocm_includes} DEFINES ${rocm_defines}
                 CONSTANTS ${rocm_runtime}/rt_rocm_constants.h)

add_library(wick_rocm MODULE ${rocm_objects} ${rocm_runtime}/rt_rocm_hip.cpp ${rocm_runtime}/rt_rocm_image.cpp
            ${rocm_runtime}/rt_rocm_objects.cpp ${rocm_runtime}/rt_rocm_system.cpp
            ${rocm_runtime}/staging.cpp ${rocm_runtime}/find_library.cpp ${rocm_runtime}/kernel_compiler.cpp
            ${rocm_libraries}/libraries.cpp
            ${rocm_libraries}/vendors_rocm.cpp ${rocm_libraries}/blas_lt.cpp ${rocm_libraries}/rocblas.cpp
            ${rocm_libraries}/tensile_files.cpp
            ${rocm_libraries}/miopen.cpp)
target_include_directories(wick_rocm PRIVATE ${rocm_includes})
target_compile_features(wick_rocm PRIVATE cxx_std_20)
target_compile_options(wick_rocm PRIVATE -ffp-contract=off -Wall -Wextra)
set_target_properties(wick_rocm PROPERTIES PREFIX "" LINKER_LANGUAGE CXX CXX_VISIBILITY_PRESET hidden
                      VISIBILITY_INLINES_HIDDEN ON LINK_DEPENDS ${rocm_runtime}/exports.map)
target_link_libraries(wick_rocm PRIVATE ${WICK_ZSTD_LIBRARY} ${CMAKE_DL_LIBS})
# -Bsymbolic: a process that exports __hipRegisterFunction and the like, as PyTorch's does, must not take ours over.
target_link_options(wick_rocm PRIVATE -Wl,--version-script=${rocm_runtime}/exports.map -Wl,-Bsymbolic -Wl,-z,defs
                    $<$<NOT:$<CONFIG:Debug>>:-s>)

if(BUILD_TESTING)
  find_package(GTest REQUIRED)
  set(fake_hip ${CMAKE_CURRENT_BINARY_DIR}/fake_hip)
  function(add_fake_hip folder file version)  # further arguments: definitions
    set(name fake_hip_${folder})
    add_library(${name} SHARED ${PROJECT_SOURCE_DIR}/tests/unit/gpu/fake_hip/fake_hip.cpp)
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/include)
    target_compile_features(${name} PRIVATE cxx_std_20)
    target_compile_definitions(${name} PRIVATE FAKE_HIP_VERSION=${version} ${ARGN})
    # Made by hand, since CMake would have libX.so.7.0 and links to it.
    set_target_properties(${name} PROPERTIES PREFIX "" OUTPUT_NAME ${file} SUFFIX "" NO_SONAME ON
                          LIBRARY_OUTPUT_DIRECTORY ${fake_hip}/${folder})
    target_link_options(${name} PRIVATE -Wl,-soname,${file})
  endfunction()
  add_fake_hip(7 libamdhip64.so.7 7)
  add_fake_hip(6 libamdhip64.so.6 6)
  add_fake_hip(5 libamdhip64.so.5 5)
  add_fake_hip(incomplete libamdhip64.so.7 7 FAKE_HIP_INCOMPLETE)
  add_fake_hip(without_graphs libamdhip64.so.6 6 FAKE_HIP_WITHOUT_GRAPHS)
  add_fake_hip(renamed libamdhip64-1a2b3c.so 7)
  add_fake_hip(dependent libamdhip64.so.7 7)
  foreach(name dependency python)
    add_library(fake_${name} SHARED ${PROJECT_SOURCE_DIR}/tests/unit/gpu/fake_hip/fake_${name}.cpp)
    set_target_properties(fake_${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${fake_hip})
  endforeach()
  # As AMD's libraries are linked: a dependency is searched for in the library's own folder.
  target_link_libraries(fake_hip_dependent PRIVATE -Wl,--no-as-needed fake_dependency)
  set_target_properties(fake_hip_dependent PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN")

  add_executable(rocm_runtime_test ${PROJECT_SOURCE_DIR}/tests/unit/gpu/rocm_runtime_test.cpp)
  target_include_directories(rocm_runtime_test PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR})
  target_compile_features(rocm_runtime_test PRIVATE cxx_std_20)
  target_link_libraries(rocm_runtime_test PRIVATE GTest::gtest ${CMAKE_DL_LIBS} pthread)
  target_compile_definitions(
    rocm_runtime_test PRIVATE WICK_ROCM_MODULE="$<TARGET_FILE:wick_rocm>" WICK_FAKE_HIP_FOLDER="${fake_hip}"
                              WICK_ROCM_TARGETS="${rocm_target_list}"
                              WICK_PLAN_KERNELS="${CMAKE_CURRENT_BINARY_DIR}/plan_kernels")
  # It exports registration functions of its own, which the module must not meet.
  set_target_properties(rocm_runtime_test PROPERTIES ENABLE_EXPORTS ON)
  add_dependencies(rocm_runtime_test wick_rocm fake_hip_7 fake_hip_6 fake_hip_5 fake_hip_incomplete
                   fake_hip_without_graphs fake_hip_renamed fake_hip_dependent fake_python)
  add_test(NAME rocm_runtime COMMAND rocm_runtime_test)

  # Users' kernels: a code object FOLDER/NAME.TARGET.hsaco for each target.
  function(add_code_objects out source)  # further arguments: targets
    get_filename_component(name ${source} NAME_WE)
    set(folder ${CMAKE_CURRENT_BINARY_DIR}/${name})
    file(MAKE_DIRECTORY ${folder})
    set(hip_words ${PROJECT_SOURCE_DIR}/tests/unit/gpu/hip_words)
    set(includes -I ${hip_words})
    foreach(include IN LISTS rocm_includes)
      list(APPEND includes -I ${include})
    endforeach()
    set(objects)
    foreach(target IN LISTS ARGN)
      wick_amd_code_object_version(version ${target})
      set(code ${folder}/${name}.${target}.hsaco)
      add_custom_command(
        OUTPUT ${code}
        COMMAND ${WICK_AMD_CLANG} -x hip -std=c++20 -O2 -ffp-contract=off -nogpuinc -nogpulib ${includes}
                --offload-arch=${target} ${version} --cuda-device-only --no-gpu-bundle-output -c ${source} -o ${code} -MD -MF ${code}.d
        DEPENDS ${source} DEPFILE ${code}.d VERBATIM)
      list(APPEND objects ${code})
    endforeach()
    set(${out} ${objects} PARENT_SCOPE)
  endfunction()
  set(gpu_tests ${PROJECT_SOURCE_DIR}/tests/unit/gpu)
  add_code_objects(axpy_objects ${gpu_tests}/axpy.hip ${WICK_ROCM_TARGETS})
  add_executable(rocm_memory_test ${gpu_tests}/rocm_memory_test.cpp ${axpy_objects})
  target_link_libraries(rocm_memory_test PRIVATE wick_test_devices wick GTest::gtest_main ${CMAKE_DL_LIBS})
  target_compile_definitions(rocm_memory_test PRIVATE WICK_AXPY_FOLDER="${CMAKE_CURRENT_BINARY_DIR}/axpy")
  add_dependencies(rocm_memory_test wick_rocm)
  add_test(NAME rocm_memory COMMAND rocm_memory_test)

  # Those of ctx.h's operations that no op of wick reaches in every form.
  add_code_objects(exchange_objects ${gpu_tests}/exchange_kernels.hip ${WICK_ROCM_TARGETS})
  set(plan_targets ${WICK_ROCM_TARGETS} gfx942 gfx1100)  # these two always: for a bundle
  list(REMOVE_DUPLICATES plan_targets)
  add_code_objects(plan_objects ${gpu_tests}/plan_kernels.hip ${plan_targets})
  add_executable(rocm_kernel_test ${gpu_tests}/rocm_kernel_test.cpp ${plan_objects} ${exchange_objects})
  target_link_libraries(rocm_kernel_test PRIVATE wick_test_devices wick GTest::gtest_main ${WICK_ZSTD_LIBRARY})
  target_compile_definitions(rocm_kernel_test PRIVATE WICK_PLAN_KERNELS="${CMAKE_CURRENT_BINARY_DIR}/plan_kernels"
                                                      WICK_EXCHANGE_KERNELS="${CMAKE_CURRENT_BINARY_DIR}/exchange_kernels")
  add_dependencies(rocm_kernel_test wick_rocm)
  target_sources(rocm_runtime_test PRIVATE ${plan_objects})
  add_test(NAME rocm_kernel COMMAND rocm_kernel_test)

  # rocBLAS and MIOpen, computed on the host, and a rocBLAS that lacks a function.
  set(fake_libraries ${CMAKE_CURRENT_BINARY_DIR}/fake_libraries)
  function(add_fake_library name source file folder)
    add_library(${name} SHARED ${gpu_tests}/fake_libraries/${source}.cpp)
    set_target_properties(${name} PROPERTIES PREFIX "" OUTPUT_NAME ${file} SUFFIX "" NO_SONAME ON CXX_VISIBILITY_PRESET default
                          LIBRARY_OUTPUT_DIRECTORY ${fake_libraries}/${folder})
    target_compile_features(${name} PRIVATE cxx_std_20)
    target_link_libraries(${name} PRIVATE ${CMAKE_DL_LIBS})
  endfunction()
  add_fake_library(fake_rocblas fake_rocblas librocblas.so.5 .)
  add_fake_library(fake_rocblas_incomplete fake_rocblas librocblas.so.5 incomplete)
  add_fake_library(fake_miopen fake_miopen libMIOpen.so.1 .)
  target_compile_definitions(fake_rocblas_incomplete PRIVATE FAKE_ROCBLAS_INCOMPLETE)
  add_executable(rocm_library_test ${gpu_tests}/rocm_library_test.cpp)
  target_link_libraries(rocm_library_test PRIVATE wick_test_devices wick GTest::gtest)
  target_compile_definitions(rocm_library_test PRIVATE WICK_FAKE_LIBRARIES="${fake_libraries}")
  add_dependencies(rocm_library_test wick_rocm fake_rocblas fake_rocblas_incomplete fake_miopen)
  add_test(NAME rocm_library COMMAND rocm_library_test)

  add_fake_library(fake_rccl fake_rccl librccl.so.1 .)
  add_fake_library(fake_rccl_incomplete fake_rccl librccl.so.1 incomplete)
  target_compile_definitions(fake_rccl_incomplete PRIVATE FAKE_RCCL_INCOMPLETE)
  add_executable(rocm_collectives_test ${gpu_tests}/rocm_collectives_test.cpp)
  target_link_libraries(rocm_collectives_test PRIVATE wick_test_devices wick GTest::gtest)
  target_compile_definitions(rocm_collectives_test PRIVATE WICK_FAKE_LIBRARIES="${fake_libraries}")
  add_dependencies(rocm_collectives_test wick_rocm fake_rccl fake_rccl_incomplete)
  add_test(NAME rocm_collectives COMMAND rocm_collectives_test)

  add_code_objects(example_objects ${PROJECT_SOURCE_DIR}/examples/custom_kernel.hip ${WICK_ROCM_TARGETS})
  add_custom_target(example_kernels DEPENDS ${example_objects})

  find_path(WICK_HIP_INCLUDE hip/hip_runtime_api.h DOC "Folder of HIP's headers, for a test of our own declarations")
  add_executable(hip_declarations_test ${PROJECT_SOURCE_DIR}/tests/unit/gpu/hip_declarations_test.cpp)
  target_include_directories(hip_declarations_test PRIVATE ${rocm_includes})
  if(WICK_HIP_INCLUDE)
    target_include_directories(hip_declarations_test SYSTEM PRIVATE ${WICK_HIP_INCLUDE})
  endif()
  target_compile_features(hip_declarations_test PRIVATE cxx_std_20)
  target_link_libraries(hip_declarations_test PRIVATE GTest::gtest_main)
  add_test(NAME hip_declarations COMMAND hip_declarations_test)
endif()
