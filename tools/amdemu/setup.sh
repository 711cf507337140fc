#!/bin/sh
# Makes DIR ready to run AMD code on Debian 12: packages, tinygrad and numpy in a venv, ROCm's headers, the stand-in, DIR/env.
#   setup.sh DIR && . DIR/env && AMDEMU_ARCH=gfx942 ./program        a second call finds all in place
set -eu
here=$(cd "$(dirname "$0")" && pwd); dir=${1:?usage: setup.sh DIR}; mkdir -p "$dir"; dir=$(cd "$dir" && pwd)
need=; for p in clang-19 lld-19 rocm-device-libs libpython3.11 python3-venv; do dpkg -s "$p" >/dev/null 2>&1 || need="$need $p"; done
[ -z "$need" ] || { apt-get update -qq; DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $need >/dev/null; }
[ -e "$dir/venv/bin/python" ] || /usr/bin/python3 -m venv "$dir/venv"
"$dir/venv/bin/python" -c 'import tinygrad, numpy' 2>/dev/null || "$dir/venv/bin/pip" -q --disable-pip-version-check install tinygrad==0.14.0 numpy
"$here/hip-headers.sh" "$dir/hip" >/dev/null
stamp=$(cat "$here/hipemu.cpp" "$here/build.sh" | cksum)
[ "$(cat "$dir/lib/stamp" 2>/dev/null)" = "$stamp" ] || { CXX=clang++-19 OUT="$dir" HIP_INCLUDE="$dir/hip/usr/include" "$here/build.sh" >/dev/null; echo "$stamp" > "$dir/lib/stamp"; }
cat > "$dir/env" <<END
export AMDEMU_CC=clang-19 AMDEMU_DIR='$here' AMDEMU_LIBPYTHON=/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0 AMDEMU_CACHE='$dir/cache' PYTHONPYCACHEPREFIX='$dir/cache'
export AMDEMU_SITE='$dir/venv/lib/python3.11/site-packages' LD_LIBRARY_PATH='$dir/lib'\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}
END
echo "ready: . $dir/env"
