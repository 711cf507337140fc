# wick_cuda: the kernels and their runtime for NVIDIA cards, one module. nvcc is called unit by unit, since CMake's own
# CUDA language would claim kernels/*.cpp for itself, which the other modules compile too.
#   WICK_NVCC         the compiler, when it is not in PATH, CUDA_PATH/bin or /usr/local/cuda/bin
#   WICK_CUDA_ARCHS   the cards that get machine code; all later ones get PTX of the lowest

set(WICK_CUDA_ARCHS "75;80;86;89;90;100;120" CACHE STRING "Architectures (sm_NN) that wick_cuda has code for")

foreach(arch IN LISTS WICK_CUDA_ARCHS)
  if(NOT arch MATCHES "^[1-9][0-9][0-9]?$" OR arch LESS 75)
    message(FATAL_ERROR "WICK_CUDA_ARCHS: \"${arch}\" is none of 75, 80, 86, 89, 90, 100, 120 ... (sm_75 is the oldest served)")
  endif()
endforeach()
if(NOT WICK_CUDA_ARCHS)
  message(FATAL_ERROR "WICK_CUDA_ARCHS is empty: name at least one architecture, as in -DWICK_CUDA_ARCHS=90")
endif()

# ---- the toolkit

find_program(WICK_NVCC nvcc HINTS ENV CUDA_PATH ENV CUDA_HOME PATHS /usr/local/cuda PATH_SUFFIXES bin)
if(NOT WICK_NVCC)
  message(FATAL_ERROR "WICK_CUDA=ON needs nvcc 12.8 or newer, and there is none in PATH, CUDA_PATH/bin or /usr/local/cuda/bin; "
                      "install the CUDA toolkit, name it by -DWICK_NVCC=/path/to/nvcc, or build with -DWICK_CUDA=OFF")
endif()
execute_process(COMMAND ${WICK_NVCC} --version OUTPUT_VARIABLE nvcc_says ERROR_VARIABLE nvcc_says RESULT_VARIABLE nvcc_result)
if(NOT nvcc_result EQUAL 0 OR NOT nvcc_says MATCHES "release ([0-9]+\\.[0-9]+)")
  message(FATAL_ERROR "${WICK_NVCC} --version does not answer as nvcc does: ${nvcc_says}")
endif()
set(nvcc_version ${CMAKE_MATCH_1})
if(nvcc_version VERSION_LESS 12.8)
  message(FATAL_ERROR "WICK_CUDA=ON needs nvcc 12.8 or newer, ${WICK_NVCC} is ${nvcc_version}")
endif()

# The toolkit stands around nvcc itself, links followed.
file(REAL_PATH ${WICK_NVCC} nvcc_file)
cmake_path(GET nvcc_file PARENT_PATH nvcc_folder)
cmake_path(GET nvcc_folder PARENT_PATH cuda_root)
find_library(WICK_CUDART_STATIC libcudart_static.a
             HINTS ${cuda_root} /usr/local/cuda PATH_SUFFIXES lib64 lib targets/x86_64-linux/lib targets/sbsa-linux/lib)
if(NOT WICK_CUDART_STATIC)
  message(FATAL_ERROR "WICK_CUDA=ON: no libcudart_static.a of the CUDA toolkit at ${cuda_root}; name it by -DWICK_CUDART_STATIC=")
endif()
message(STATUS "wick_cuda: nvcc ${nvcc_version} (${WICK_NVCC}), code for ${WICK_CUDA_ARCHS}")

# ---- what the module has code for

# In ascending order: the host's part of a unit is made with the last architecture, and registers that one's kernels. An
# older one has fewer kernels.
set(cuda_archs ${WICK_CUDA_ARCHS})
list(SORT cuda_archs COMPARE NATURAL)
list(REMOVE_DUPLICATES cuda_archs)
list(GET cuda_archs 0 cuda_lowest)
set(cuda_gencode "-gencode=arch=compute_${cuda_lowest},code=[compute_${cuda_lowest},sm_${cuda_lowest}]")
foreach(arch IN LISTS cuda_archs)
  if(NOT arch EQUAL cuda_lowest)
    list(APPEND cuda_gencode "-gencode=arch=compute_${arch},code=sm_${arch}")
  endif()
endforeach()

set(cuda_build ${CMAKE_CURRENT_BINARY_DIR}/cuda)
list(JOIN cuda_archs ", " cuda_arch_list)
file(CONFIGURE OUTPUT ${cuda_build}/cuda_code.h @ONLY CONTENT
"// Made by cuda.cmake: what code the module holds.
#pragma once
namespace wick::gpu {
inline constexpr int kCodeFor[] = {@cuda_arch_list@};  // machine code: sm_NN
inline constexpr int kPtxFor = @cuda_lowest@;  // what the driver compiles for later cards
}  // namespace wick::gpu
")

# ---- units

# 186: that a formula asks whether an unsigned integer is below 0.
set(cuda_flags -std=c++20 -O2 --fmad=false -diag-suppress=186 -ccbin=${CMAKE_CXX_COMPILER}
    -Xcompiler=-fPIC,-fvisibility=hidden,-fvisibility-inlines-hidden,-ffp-contract=off,-Wall,-Wextra
    -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_SOURCE_DIR}/src -I${CMAKE_CURRENT_SOURCE_DIR} -I${cuda_build})
if(CMAKE_COMPILE_WARNING_AS_ERROR)
  list(APPEND cuda_flags --Werror=all-warnings -Xcompiler=-Werror)
endif()

# ccache goes by nvcc's list of dependencies, which holds the headers of all its passes: what it preprocesses itself is one
# pass only.
set(cuda_launcher)
if(CMAKE_CXX_COMPILER_LAUNCHER)
  set(cuda_launcher ${CMAKE_COMMAND} -E env CCACHE_DEPEND=1 ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()

# Adds unit's object to cuda_objects. Further arguments: the code to make.
function(add_cuda_unit unit)
  get_filename_component(name ${unit} NAME_WE)
  set(object ${cuda_build}/${name}.o)
  add_custom_command(
    OUTPUT ${object}
    COMMAND ${cuda_launcher} ${WICK_NVCC} ${cuda_flags} ${ARGN} -x cu -c ${unit} -o ${object} -MD -MF ${object}.d
    DEPENDS ${unit} DEPFILE ${object}.d
    COMMENT "nvcc ${name}" VERBATIM COMMAND_EXPAND_LISTS)
  set(cuda_objects ${cuda_objects} ${object} PARENT_SCOPE)
endfunction()

file(GLOB cuda_kernels CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/kernels/*.cpp)
foreach(unit IN LISTS cuda_kernels)
  add_cuda_unit(${unit} ${cuda_gencode} --compress-mode=size)
endforeach()
foreach(unit runtime/rt_cuda runtime/registry libraries/library_kernels libraries/self_check libraries/collectives)  # no kernels in these
  add_cuda_unit(${CMAKE_CURRENT_SOURCE_DIR}/${unit}.cpp -arch=sm_${cuda_lowest})
endforeach()

set(cuda_plain runtime/find_library runtime/kernel_compiler runtime/rt_cuda_image runtime/staging
    libraries/libraries libraries/vendors_cuda libraries/blas_lt libraries/cudnn)
list(TRANSFORM cuda_plain REPLACE "(.+)" "${CMAKE_CURRENT_SOURCE_DIR}/\\1.cpp")
add_library(wick_cuda MODULE ${cuda_objects} ${cuda_plain})
target_include_directories(wick_cuda PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_compile_features(wick_cuda PRIVATE cxx_std_20)
target_compile_options(wick_cuda PRIVATE -Wall -Wextra)
set_target_properties(wick_cuda PROPERTIES PREFIX "" LINKER_LANGUAGE CXX CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
                      LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/runtime/exports.map)
target_link_libraries(wick_cuda PRIVATE ${WICK_CUDART_STATIC} ${CMAKE_DL_LIBS} rt pthread)
target_link_options(wick_cuda PRIVATE -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/runtime/exports.map
                    -Wl,--no-undefined $<$<NOT:$<CONFIG:Debug>>:-s>)

if(BUILD_TESTING)
  find_package(GTest REQUIRED)
  set(tests ${PROJECT_SOURCE_DIR}/tests/unit/gpu)
  add_executable(cuda_runtime_test ${tests}/cuda_runtime_test.cpp)
  target_link_libraries(cuda_runtime_test PRIVATE wick_headers GTest::gtest ${CMAKE_DL_LIBS})
  string(REGEX MATCH "^[0-9]+" cuda_major ${nvcc_version})
  if(cuda_major GREATER_EQUAL 13)
    set(cuda_driver 580)
  else()
    set(cuda_driver 525)
  endif()
  target_compile_definitions(cuda_runtime_test PRIVATE WICK_CUDA_MODULE="$<TARGET_FILE:wick_cuda>"
                             WICK_CUDA_MAJOR="${cuda_major}" WICK_CUDA_DRIVER="${cuda_driver}")
  # It exports registration functions of its own, which the module must not meet.
  set_target_properties(cuda_runtime_test PROPERTIES ENABLE_EXPORTS ON)

  add_library(fake_libcuda SHARED ${tests}/fake_cuda/driver.cpp)
  set_target_properties(fake_libcuda PROPERTIES OUTPUT_NAME cuda SOVERSION 1 CXX_VISIBILITY_PRESET default
                        LIBRARY_OUTPUT_DIRECTORY $<TARGET_FILE_DIR:cuda_runtime_test>/fake_cuda)
  add_dependencies(cuda_runtime_test wick_cuda fake_libcuda)
  add_test(NAME cuda_runtime COMMAND cuda_runtime_test)
endif()
