#!/bin/sh
# Unpacks ROCm 7's HIP headers (Debian's libamdhip64-dev of sid or experimental, whichever is newer) into DIR/usr/include, without
# touching the installed packages or apt sources. Needs apt with a Debian mirror; about 12 s.
set -eu
dir=$1; mkdir -p "$dir"; dir=$(cd "$dir" && pwd)
[ -e "$dir/usr/include/hip/hip_runtime_api.h" ] && exit 0
mirror=$(sed -n 's/^URIs: *//p' /etc/apt/sources.list.d/*.sources 2>/dev/null | grep -m1 debian || true)
[ -n "$mirror" ] || mirror=$(sed -n 's/^deb  *\(\[[^]]*\] *\)\{0,1\}\([^ ]*debian[^ ]*\) .*/\2/p' /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null | head -n 1)
[ -n "$mirror" ] || { echo "no Debian mirror found in apt's sources" >&2; exit 1; }
state=$(mktemp -d); trap 'rm -rf "$state"' EXIT; chmod 755 "$state"
mkdir -p "$state/lists/partial" "$state/cache/archives/partial" "$state/none"; : > "$state/status"
key=/usr/share/keyrings/debian-archive-keyring.gpg
for s in sid experimental; do echo "deb [signed-by=$key] $mirror $s main"; done > "$state/sources.list"
opts="-o Dir::Etc::sourcelist=$state/sources.list -o Dir::Etc::sourceparts=$state/none -o Dir::State::lists=$state/lists
 -o Dir::State::status=$state/status -o Dir::Cache=$state/cache -o APT::Architecture=amd64 -o Acquire::Languages=none -o APT::Sandbox::User=root"
apt-get $opts update -qq >"$state/log" 2>&1 || { cat "$state/log" >&2; exit 1; }
(cd "$state" && { apt-get $opts download -qq -t experimental libamdhip64-dev || apt-get $opts download -qq libamdhip64-dev; } >>"$state/log" 2>&1) || { cat "$state/log" >&2; exit 1; }
dpkg -x "$state"/libamdhip64-dev_*.deb "$dir"
ls "$dir/usr/include/hip/hip_runtime_api.h"
