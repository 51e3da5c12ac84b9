# Packages of another Debian release than the machine's: sourced. $work: a folder of the caller's, in which apt's own folders stand.
mkdir -p "$work"/apt/{lists,own,archives}/partial

# apt with folders of its own: the machine's settings and lists stay as they are, and root is not needed.
apt() { apt-get -qq -o APT::Sandbox::User=root -o Dir::Cache="$work/apt" -o Dir::Cache::archives="$work/apt/archives" "$@"; }

# The archives that give this machine its own release, as apt itself reads its sources, whatever their format.
archives() {
  local release
  release=$(. /etc/os-release && echo "${VERSION_CODENAME:-stable}")
  apt "$@" indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
    awk -v release="$release" '($2 == release || $2 ~ /^(old)*stable$/) && $3 == "main" && !seen[$1]++ { print $1 }'
}

# from_release SUITE apt's words...: runs apt with that release, of the first archive that has it and can do this.
from_release() {
  local suite=$1 uri uris keyring=/usr/share/keyrings/debian-archive-keyring.gpg
  shift
  uris=$(archives)
  if [[ -z $uris ]]; then       # a machine that never ran `apt-get update`
    apt -o Dir::State::lists="$work/apt/own" update
    uris=$(archives -o Dir::State::lists="$work/apt/own")
  fi
  for uri in $uris; do          # Debian's keyring decides which of them is Debian's archive
    echo "deb [signed-by=$keyring] $uri $suite main" > "$work/apt/sources.list"
    local debian=(-o Dir::Etc::sourcelist="$work/apt/sources.list" -o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists="$work/apt/lists")
    if apt "${debian[@]}" update && apt "${debian[@]}" "$@"; then return; fi
  done
  echo "none of apt's archives (${uris:-none found}) can do this for Debian $suite: $*" >&2
  return 1
}
