#!/bin/sh
# Builds libhipemu.so (for LD_PRELOAD) and lib/libamdhip64.so.7 (for LD_LIBRARY_PATH or dlopen) into OUT (default: beside this file).
# HIP_INCLUDE: a folder with ROCm 7's HIP headers (default: the system's). Run it where the programs will run.
here=$(cd "$(dirname "$0")" && pwd) && OUT=${OUT:-$here} && mkdir -p "$OUT/lib" && HIP_INCLUDE=${HIP_INCLUDE:-/usr/include} &&
CXX=${CXX:-$(command -v clang++-22 || command -v clang++-19 || command -v clang++)} &&
F="-std=c++17 -O2 -fPIC -shared -fvisibility=hidden -D__HIP_PLATFORM_AMD__ -I$HIP_INCLUDE -w" &&
$CXX $F "$here/hipemu.cpp" -o "$OUT/libhipemu.so" -ldl -lpthread &&
$CXX $F "$here/hipemu.cpp" -Wl,-soname,libamdhip64.so.7 -o "$OUT/lib/libamdhip64.so.7" -ldl -lpthread &&
ls -l "$OUT/libhipemu.so" "$OUT/lib/libamdhip64.so.7"
