#!/usr/bin/env bash
# Apache ECharts, which draws the plots of report.html: keeps a copy in the user's cache. It comes from the npm package echarts, packed
# without its install scripts; CMake builds it into the library, so that a report needs no network.
# usage: scripts/echarts.sh            fetch the copy unless it is there
#        scripts/echarts.sh --where    print its folder
#        scripts/echarts.sh --found    succeed when it is there
set -euo pipefail
version=6.1.0
revision=1                # counts changes of what the folder holds
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
copy=${XDG_CACHE_HOME:-$HOME/.cache}/quasar/echarts-$version-$revision

fail() { echo "echarts: $*" >&2; exit 1; }

case ${1:-} in
  --where) echo "$copy"; exit ;;
  --found) [[ -d $copy ]]; exit ;;
  "") [[ ! -d $copy ]] || exit 0 ;;
  *) fail "unknown option $1; usage: scripts/echarts.sh [--where | --found]" ;;
esac

mkdir -p "$(dirname "$copy")"
work=$(mktemp -d "$(dirname "$copy")/.fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT
echo "echarts: fetching $version into $copy"
(cd "$work" && npm pack --loglevel=error "echarts@$version" > /dev/null) || fail "npm could not fetch echarts@$version"
mkdir "$work/copy"
tar -xzf "$work/echarts-$version.tgz" -C "$work/copy" --strip-components=1 package/dist/echarts.min.js package/LICENSE package/NOTICE
while read -r hash file; do
  [[ $hash != \#* ]] || continue
  echo "$hash  $work/copy/$file" | sha256sum --check --status || fail "$file is not the one that scripts/echarts.sha256 names"
done < "$here/echarts.sha256"
mv -T "$work/copy" "$copy" 2> /dev/null || [[ -d $copy ]] || fail "cannot write $copy"   # another run may have been quicker
