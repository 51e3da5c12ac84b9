# A bare Debian 12 for tests of packages: sourced. Nothing that Quasar is built with is in it. Needs root.
#   bare_root FOLDER COPY    makes FOLDER by debootstrap unless it is there, and COPY anew from it. Exit 77 where that cannot be done here.
#   numpy_wheel FOLDER MACHINE   brings NumPy, the one package that wheels ask for, for Debian 12's Python: such a root has no network
#   in_root COPY COMMAND...  runs a command in it, with /proc and /dev of its own namespace
bare_root() {
  local pristine=$1 copy=$2 archives archive
  [[ $EUID -eq 0 ]] || { echo "not root here"; exit 77; }
  command -v debootstrap > /dev/null || { echo "no debootstrap here: make packages-setup brings it"; exit 77; }
  unshare --mount true 2> /dev/null || { echo "no mounts of one's own here"; exit 77; }
  if [[ ! -e $pristine/complete ]]; then
    rm -rf "$pristine"
    # The archive that apt here takes Debian 12 from.
    archives=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' | awk '$2 == "bookworm" && $3 == "main" && !seen[$1]++ { print $1 }')
    [[ -n $archives ]] || { echo "apt here knows no archive of Debian 12 (apt-get update?)"; exit 77; }
    for archive in $archives; do
      echo "debootstrap: a bare Debian 12"
      debootstrap --variant=minbase --include=python3,python3-venv bookworm "$pristine" "$archive" > "$pristine.log" 2>&1 && break
    done
    [[ -x $pristine/usr/bin/python3 ]] || { tail -5 "$pristine.log"; echo "no bare Debian 12 can be had here"; exit 77; }
    touch "$pristine/complete"
  fi
  rm -rf "$copy"
  cp -a --reflink=auto "$pristine" "$copy"
  rm "$copy/complete"
  mkdir "$copy/trial"
  local alien
  alien=$(chroot "$copy" dpkg-query -W -f '${Package}\n' | grep -E '^(g\+\+|cmake|lib(onnx|protobuf|soci|pq5|yaml-cpp|zip|jpeg|png|spdlog))' || true)
  [[ -z $alien ]] || { echo "the root is not bare: $alien"; exit 1; }
}

numpy_wheel() {
  python3 -m pip download --quiet --dest "$1" --only-binary=:all: --python-version 3.11 --implementation cp \
    --platform "manylinux_2_28_$2" --platform "manylinux_2_17_$2" --platform "manylinux2014_$2" numpy || { echo "no packages from PyPI here"; exit 77; }
}

in_root() {
  local copy=$1
  shift
  # The machine's settings stay out: its paths mean nothing in there.
  unshare --mount bash -c 'mount -t proc proc "$0/proc" 2> /dev/null || mount --bind /proc "$0/proc"; mount --bind /dev "$0/dev"
    exec env -i HOME=/trial PATH=/trial/venv/bin:/usr/sbin:/usr/bin:/sbin:/bin chroot "$0" "$@"' "$copy" "$@"
}
