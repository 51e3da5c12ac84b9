#!/usr/bin/env bash
# Installs the packages of `make deb` into a bare Debian 12, with apt, and works with them there. Exit 77: that cannot be done here.
# usage: tests/packages/deb.sh BUILD_FOLDER SOURCE_FOLDER VERSION
set -euo pipefail
build=$1 source=$2 version=$3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/root.sh"
work=$build/packages
packages=("$source"/build/deb/*_"$version"-*.deb)
[[ -e ${packages[0]} ]] || { echo "no Debian packages here: make deb makes them"; exit 77; }
mkdir -p "$work"
bare_root "$work/debian" "$work/deb-root"
trial=$work/deb-root/trial
mkdir "$trial/debs"
cp "${packages[@]}" "$trial/debs"
cp -r "$source/examples/digits" "$here/tour.sh" "$trial/"

# What they depend on is fetched from outside: apt here works on the root's list of packages.
resolve=(apt-get -qq -o Dir::State::status="$work/deb-root/var/lib/dpkg/status" -o Dir::Cache::archives="$trial/debs" -o APT::Sandbox::User=root)
mkdir "$trial/debs/partial"
"${resolve[@]}" --yes --no-install-recommends --download-only install "${packages[@]}" || { echo "what the packages need cannot be had here"; exit 77; }
in_root "$work/deb-root" sh -c 'DEBIAN_FRONTEND=noninteractive dpkg --install /trial/debs/*.deb > /trial/dpkg.log' || { tail -20 "$trial/dpkg.log"; exit 1; }
in_root "$work/deb-root" sh -c "cd /trial/digits && sh ../tour.sh $version"
in_root "$work/deb-root" sh -c 'test -e /usr/share/man/man1/quasar.1.gz -a -e /usr/include/quasar/api/search.hpp -a -e /usr/lib/libquasar.so'
rm -rf "$work/deb-root"
