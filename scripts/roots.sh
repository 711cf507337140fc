# Debian systems in folders, in which scripts try wick as on a machine without extra packages. To be sourced; a script says
# `program=NAME`, calls need_roots, and may set keep_roots. Needs root and debootstrap.
#
#   new_root FOLDER SUITE PACKAGE...   Debian's minimal system and the packages, from this machine's mirror, into an empty folder
#   in_root FOLDER COMMAND...          runs the command there, with a new login's environment
#   add_root FOLDER                    the folder is removed when the script ends, unless keep_roots is set
#   apart COMMAND...                   runs the command with mounts and processes of its own, which are gone when it ends
# shellcheck shell=bash
set -euo pipefail
give_up() { echo "${program:?}: $*" >&2; exit 2; }

# Debian's own sources of this machine's apt: "bookworm http://deb.debian.org/debian/" and the same for its updates.
need_roots() {
  [ "$(id -u)" = 0 ] || give_up "it makes a root and mounts there: run it as root"
  command -v debootstrap > /dev/null || give_up "no debootstrap here (apt install debootstrap)"
  sources=$(apt-get indextargets --format '$(ORIGIN) $(COMPONENT) $(RELEASE) $(REPO_URI)' 'Created-By: Packages' |
    sed -nE 's/^Debian main (bookworm(-updates|-security)?) /\1 /p' | sort -u)
  mirror=$(sed -n 's/^bookworm //p' <<< "$sources" | head -1)
  [ -n "$mirror" ] || give_up "apt has no list of Debian's bookworm: it is not in its sources, or apt-get update did not run"
  eval "$(apt-config shell http_proxy Acquire::http::Proxy)"  # debootstrap does not ask apt
  [ -z "${http_proxy:-}" ] || export http_proxy
  trap clean_up EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  set -m  # a job's process group is its own: Ctrl-C comes to this script alone, which then ends the job
}

# ---- processes and mounts that end with us

# So none can be left over, and nothing is removed through a mount.
job='' roots=()
apart() {
  local status=0
  unshare --mount --pid --fork --kill-child --mount-proc "$@" < /dev/null &
  job=$!
  wait "$job" || status=$?
  job=
  return $status
}

add_root() { roots+=("$1"); }
clean_up() {
  trap '' INT TERM HUP
  local folder
  if [ -n "$job" ]; then
    echo "$program: interrupted"
    kill -KILL -- "-$job" 2> /dev/null || true
    wait "$job" 2> /dev/null || true
  fi
  for folder in "${roots[@]}"; do
    if [ -n "${keep_roots:-}" ]; then
      echo "$program: the root stays; into it: unshare --mount --pid --fork --mount-proc=$folder/proc chroot $folder"
    else
      # Again where a process that is just ending wrote another file.
      for _ in 1 2 3; do rm -rf --one-file-system "$folder" && break; sleep 1; done
    fi
  done
}

# ---- roots

root_environment=(HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "TERM=${TERM:-dumb}")
for name in http_proxy https_proxy no_proxy; do [ -z "${!name:-}" ] || root_environment+=("$name=${!name}"); done

in_root() {
  # shellcheck disable=SC2016
  apart bash -c 'set -e
    mount -t proc proc "$0/proc"; mount --rbind /sys "$0/sys"; mount -t tmpfs tmpfs "$0/dev/shm"
    mount -t devpts -o newinstance,ptmxmode=666 devpts "$0/dev/pts"
    exec chroot "$0" env -i "$@"' "$1" "${root_environment[@]}" "${@:2}"
}

new_root() {
  local folder=$1 suite=$2 packages
  shift 2
  packages=$(IFS=,; echo "ca-certificates${*:+,$*}")
  chmod 755 "$folder"
  mkdir "$folder/srv"
  local script=/usr/share/debootstrap/scripts/$suite
  [ -e "$script" ] || script=${script%/*}/sid  # a suite that is newer than this machine's debootstrap
  # shellcheck disable=SC2016
  apart sh -c 'exec debootstrap --variant=minbase --include="$3" "$2" "$0" "$1" "$4" > "$0/srv/root.log" 2>&1' \
    "$folder" "$mirror" "$suite" "$packages" "$script" || { tail -20 "$folder/srv/root.log"; give_up "debootstrap failed"; }

  # What apt needs to reach the same packages from there.
  if [ "$suite" = bookworm ]; then
    sed 's/^\([^ ]*\) \(.*\)/deb \2 \1 main/' <<< "$sources" > "$folder/etc/apt/sources.list"
  else
    echo "deb $mirror $suite main" > "$folder/etc/apt/sources.list"
  fi
  apt-config dump | grep -E '^Acquire::(https?|Check-|Retries|ForceIPv)' > "$folder/etc/apt/apt.conf.d/90root" || true
  cp -rn /etc/apt/trusted.gpg* "$folder/etc/apt"
  cp -L --remove-destination /etc/hosts /etc/resolv.conf "$folder/etc"
  if cp /usr/local/share/ca-certificates/*.crt "$folder/usr/local/share/ca-certificates" 2> /dev/null; then
    chroot "$folder" update-ca-certificates > /dev/null 2>&1
  fi
}
