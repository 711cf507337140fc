# AMD code objects without a ROCm SDK: clang-19, lld-19 and rocm-device-libs as Debian has them, one rule for each unit
# and gfx target. The host's pass is made once a unit; what it registers as its "binary" is the unit's name, a key into
# the table of objects that is generated here.
#
#   wick_amd_objects(OUT UNITS source ... HOST_ONLY source ... TARGETS gfx942 ... INCLUDES folder ... DEFINES NAME ...
#                    CONSTANTS header)
#     OUT        variable that receives the object files to link: the host passes, and the table kObjects
#     HOST_ONLY  files without kernels that must see what the units' host passes see
#     CONSTANTS  included in device passes by the command line
#
# CMAKE_COMPILE_WARNING_AS_ERROR holds for these commands too.

find_program(WICK_AMD_CLANG NAMES clang++-19 DOC "clang 19, which compiles kernels for AMD cards")
find_program(WICK_AMD_NEWER_CLANG NAMES clang++-22 clang++-21 clang++-20 DOC "clang 20 or newer, which compiles for cards that clang 19 does not know")
find_program(WICK_ZSTD NAMES zstd DOC "Compresses code objects")
find_program(WICK_CCACHE NAMES ccache DOC "Keeps compiled objects")
find_file(WICK_OCML NAMES ocml.bc PATHS /usr/lib/x86_64-linux-gnu/amdgcn/bitcode /usr/lib/aarch64-linux-gnu/amdgcn/bitcode
          /usr/lib/amdgcn/bitcode /opt/rocm/amdgcn/bitcode DOC "ocml of rocm-device-libs: math functions as bitcode")

find_library(WICK_ZSTD_LIBRARY zstd DOC "Decompresses code objects")

# wick_missing_amd_tools(OUT): what is missing, as "Debian's packages;variable;packages;variable ...".
function(wick_missing_amd_tools out)
  set(missing)
  foreach(tool "clang-19 lld-19;WICK_AMD_CLANG" "zstd;WICK_ZSTD" "libzstd-dev;WICK_ZSTD_LIBRARY" "rocm-device-libs;WICK_OCML")
    list(GET tool 1 variable)
    if(NOT ${variable})
      list(APPEND missing ${tool})
    endif()
  endforeach()
  set(${out} ${missing} PARENT_SCOPE)
endfunction()

function(wick_check_amd_tools)
  wick_missing_amd_tools(missing)
  if(missing)
    list(GET missing 0 packages)
    list(GET missing 1 variable)
    message(FATAL_ERROR "WICK_ROCM=ON needs ${packages} (on Debian: apt install ${packages}), or set ${variable}; "
                        "-DWICK_ROCM=OFF builds without AMD cards")
  endif()
endfunction()

# wick_amd_clang(OUT TARGET): the compiler for a target, WICK_AMD_CLANG unless only WICK_AMD_NEWER_CLANG knows it.
function(wick_amd_clang out target)
  foreach(clang WICK_AMD_CLANG WICK_AMD_NEWER_CLANG)
    if(NOT ${clang})
      continue()
    endif()
    get_property(known GLOBAL PROPERTY processors_of_${${clang}})
    if(NOT known)
      execute_process(COMMAND ${${clang}} --target=amdgcn -print-supported-cpus OUTPUT_VARIABLE known ERROR_VARIABLE known)
      string(REGEX MATCHALL "gfx[0-9a-z-]+" known "${known}")
      set_property(GLOBAL PROPERTY processors_of_${${clang}} ${known})
    endif()
    if(target IN_LIST known)
      set(${out} ${${clang}} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "WICK_ROCM_TARGETS: ${WICK_AMD_CLANG} does not know ${target}; name a newer one with -DWICK_AMD_NEWER_CLANG=/path/to/clang++, "
                      "or leave this target away")
endfunction()

# wick_amd_code_object_version(OUT TARGET): the flags for the version of code object that a target takes.
function(wick_amd_code_object_version out target)
  set(flags)
  if(target MATCHES "-generic$")
    # clang 19 warns of version 6 as such, which only -w turns off; other passes show the units' warnings.
    set(flags -mcode-object-version=6 -w)
  endif()
  set(${out} ${flags} PARENT_SCOPE)
endfunction()

function(wick_amd_objects out)
  cmake_parse_arguments(PARSE_ARGV 1 amd "" "CONSTANTS" "UNITS;HOST_ONLY;TARGETS;INCLUDES;DEFINES")
  wick_check_amd_tools()

  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${out})
  file(MAKE_DIRECTORY ${folder})
  set(launcher)
  if(WICK_CCACHE)
    # The bitcode is an input that ccache does not know of.
    set(launcher env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_EXTRAFILES=${WICK_OCML} ${WICK_CCACHE})
  endif()
  set(flags -x hip -std=c++20 -O2 -ffp-contract=off -nogpuinc -nogpulib)
  list(TRANSFORM amd_INCLUDES PREPEND -I OUTPUT_VARIABLE includes)
  list(TRANSFORM amd_DEFINES PREPEND -D OUTPUT_VARIABLE defines)
  set(warnings -Wall -Wextra)
  if(CMAKE_COMPILE_WARNING_AS_ERROR)
    list(APPEND warnings -Werror)
  endif()
  list(APPEND flags ${warnings} ${includes} ${defines})
  set(host_flags --cuda-host-only -fPIC -fvisibility=hidden -fvisibility-inlines-hidden)

  set(results)
  set(packed)
  set(rows)
  set(assembly)
  foreach(unit IN LISTS amd_UNITS)
    get_filename_component(name ${unit} NAME_WE)

    # The key is a text: 64 bytes, the rest zero.
    set(key ${folder}/${name}.key)
    file(CONFIGURE OUTPUT ${key}.txt CONTENT "${name}" @ONLY)
    add_custom_command(OUTPUT ${key} COMMAND ${CMAKE_COMMAND} -E copy ${key}.txt ${key} COMMAND truncate -s 64 ${key}
                       DEPENDS ${key}.txt VERBATIM)
    set(object ${folder}/${name}.host.o)
    add_custom_command(
      OUTPUT ${object}
      COMMAND ${launcher} ${WICK_AMD_CLANG} ${flags} ${host_flags} -Xclang -cuid=${name} -Xclang -fcuda-include-gpubinary
              -Xclang ${key} -MD -MF ${object}.d -MT ${object} -c ${unit} -o ${object}
      DEPENDS ${unit} ${key} DEPFILE ${object}.d COMMENT "clang ${name} for the host" VERBATIM)
    list(APPEND results ${object})

    foreach(target IN LISTS amd_TARGETS)
      wick_amd_code_object_version(version ${target})
      wick_amd_clang(clang ${target})
      if(NOT clang STREQUAL WICK_AMD_CLANG)  # ccache's preprocessing passes -MF alone, of which clang 22 warns
        list(APPEND version -Wno-unused-command-line-argument)
      endif()
      set(code ${folder}/${name}.${target}.co)
      add_custom_command(
        OUTPUT ${code}
        # Kernels add floats atomically to memory of hipMalloc only, where instructions that do so work.
        COMMAND ${launcher} ${clang} ${flags} --offload-arch=${target} ${version} --cuda-device-only -munsafe-fp-atomics
                --no-gpu-bundle-output -Xclang -mlink-builtin-bitcode -Xclang ${WICK_OCML} -include ${amd_CONSTANTS} -MD
                -MF ${code}.d -MT ${code} -c ${unit} -o ${code}
        DEPENDS ${unit} ${amd_CONSTANTS} ${WICK_OCML} DEPFILE ${code}.d COMMENT "clang ${name} for ${target}" VERBATIM)
      add_custom_command(OUTPUT ${code}.zst COMMAND ${WICK_ZSTD} -q -19 -f ${code} -o ${code}.zst DEPENDS ${code}
                         VERBATIM)
      list(APPEND packed ${code}.zst)
      string(MAKE_C_IDENTIFIER "wick_object_${name}_${target}" symbol)
      string(APPEND assembly
             "__asm__(\".section .rodata\\n${symbol}_begin: .incbin \\\"${code}.zst\\\"\\n${symbol}_end: .byte 0\\n"
             ".globl ${symbol}_begin, ${symbol}_end\\n.hidden ${symbol}_begin, ${symbol}_end\\n.previous\");\n"
             "extern \"C\" const unsigned char ${symbol}_begin[], ${symbol}_end[];\n")
      string(APPEND rows "    {\"${name}\", \"${target}\", ${symbol}_begin, ${symbol}_end},\n")
    endforeach()
  endforeach()

  foreach(file IN LISTS amd_HOST_ONLY)
    get_filename_component(name ${file} NAME_WE)
    set(object ${folder}/${name}.o)
    add_custom_command(
      OUTPUT ${object}
      COMMAND ${launcher} ${WICK_AMD_CLANG} ${flags} ${host_flags} -Xclang -cuid=${name} -MD -MF ${object}.d
              -MT ${object} -c ${file} -o ${object}
      DEPENDS ${file} DEPFILE ${object}.d COMMENT "clang ${name} for the host" VERBATIM)
    list(APPEND results ${object})
  endforeach()

  set(table ${folder}/objects.cpp)
  file(CONFIGURE OUTPUT ${table} @ONLY CONTENT
"// Made by cmake/AmdObjects.cmake.
#include \"runtime/rt_rocm_objects.h\"
@assembly@
namespace wick::gpu {
extern const Object kObjects[] = {
@rows@};
extern const int kNumObjects = sizeof kObjects / sizeof kObjects[0];
}  // namespace wick::gpu
")
  add_custom_command(
    OUTPUT ${table}.o
    COMMAND ${WICK_AMD_CLANG} -std=c++20 -O2 -fPIC -fvisibility=hidden ${warnings} ${includes} -c ${table} -o ${table}.o
    DEPENDS ${table} ${packed} VERBATIM)
  set(${out} ${results} ${table}.o PARENT_SCOPE)
endfunction()
