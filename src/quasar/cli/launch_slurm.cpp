#include "quasar/cli/launch_files.hpp"

namespace quasar::cli {
namespace {

// Tasks of an array are jobs of their own: each begins when there is a node for it, and may be taken back by the cluster alone.
constexpr const char* slurm_beginning = R"sh(#!/bin/bash
# Made by `quasar launch slurm`: a search with {{workers}} workers. Task 0 of the array leads{{and_serves}}; every other task
# is a worker, which begins when a node is free and may end at any time.
#   sbatch FILE            begins the search, or continues what a job before has left
#   quasar study stop …    ends it with its results; scancel JOB ends everything at once
#SBATCH --job-name=quasar
#SBATCH --array=0-{{workers}}
#SBATCH --ntasks=1
#SBATCH --cpus-per-task={{cpus}}
#SBATCH --mem={{memory}}G
{{gpus}}#SBATCH --time={{hours}}:00:00
#SBATCH --output=quasar-%A_%a.log
#SBATCH --open-mode=append
# A node that fails, or is taken back, costs nothing: the task begins again elsewhere.
#SBATCH --requeue
# Two minutes before the time is over the leader writes what it has, and workers finish what they run.
#SBATCH --signal=B:TERM@120
{{sbatch}}set -u
configuration={{configuration}}
folder={{folder}}
job=${SLURM_ARRAY_JOB_ID:?is missing: give this file to sbatch}
finished=$folder/finished-$job  # the search is over
ending=0
child=

trap 'ending=1; [ -z "$child" ] || kill -TERM "$child" 2>/dev/null' TERM INT

# Runs a program to its end, hands SIGTERM on to it, and returns its exit code.
run() {
  "$@" &
  child=$!
  wait "$child"
  local code=$? again
  if [ "$ending" -eq 1 ]; then  # the first wait may have ended with the signal
    wait "$child" 2>/dev/null
    again=$?
    [ "$again" -eq 127 ] || code=$again
  fi
  child=
  return "$code"
}
)sh";

constexpr const char* slurm_private_database = R"sh(
# The leader's node runs the database, and says where in a file that all nodes see.
address=$folder/address-$job

serve() {
  rm -f "$address" "$address.new"
  (umask 077 && : > "$address.new")  # it will hold a password
  quasar serve "$folder/studies" --listen "0.0.0.0:$((20000 + job % 20000))" > "$address.new" &
  server=$!
  until grep -q '^postgresql://' "$address.new"; do
    kill -0 "$server" 2>/dev/null || { echo "the database did not start" >&2; exit 1; }
    sleep 1
  done
  mv "$address.new" "$address"
}

# Where it has died, of too little memory or disk.
serve_again() {
  kill -0 "$server" 2>/dev/null || { rm -f "$address"; serve; find_database; }
}

stop_serving() {
  rm -f "$address"
  kill -TERM "$server" 2>/dev/null
  wait "$server"
}

# Half an hour for a leader that the cluster starts again; fails when there is nothing to wait for any more.
find_database() {
  local i found
  for ((i = 0; i < 1800; ++i)); do
    [ "$ending" -eq 0 ] && [ ! -e "$finished" ] || return 1
    if found=$(cat "$address" 2>/dev/null) && [ -n "$found" ]; then
      # Not on the command line, which others see.
      PGPASSWORD=$(sed -E 's|^[^:]*://[^:]*:([^@]*)@.*|\1|' <<< "$found")
      export PGPASSWORD
      storage=$(sed -E 's|:[^:@/]*@|@|' <<< "$found")
      return 0
    fi
    sleep 1
  done
  return 1
}
)sh";

constexpr const char* slurm_given_database = R"sh(
storage={{storage}}
serve() { :; }
serve_again() { :; }
stop_serving() { :; }
find_database() { [ "$ending" -eq 0 ] && [ ! -e "$finished" ]; }
)sh";

constexpr const char* slurm_end = R"sh(
lead() {
  local code failures=0
  mkdir -p "$folder"
  serve
  find_database
  while :; do
    run quasar search "$configuration" --quiet --set "study_storage_db=$storage" --set load_study_if_exists=true{{devices}}
    code=$?
    # 75: the machine or the database failed, and may not a minute later.
    [ "$code" -eq 75 ] && [ "$ending" -eq 0 ] && [ "$failures" -lt 5 ] || break
    failures=$((failures + 1))
    run sleep 60
    [ "$ending" -eq 0 ] || break
    serve_again
  done
  # 130: it was ended from outside, and goes on another time.
  [ "$code" -ge 126 ] || touch "$finished"
  stop_serving
  exit "$code"
}

work() {
  local failures=0 begin
  while [ "$failures" -lt 5 ] && find_database; do
    begin=$SECONDS
    run quasar worker "$storage" --study {{study}} --wait 1800 --drain 90{{code}}{{devices}}
    case $? in
      0) exit 0 ;;        # the search is over, whatever its leader still measures
      130) failures=0 ;;  # the leader was interrupted, and comes back
      75) failures=$((failures + 1)); sleep 60 ;;  # the machine or the database failed, and may not a minute later
      *) failures=$((failures + 1)) ;;
    esac
    [ $((SECONDS - begin)) -ge 5 ] || sleep 5
  done
  [ "$failures" -lt 5 ]
  exit
}

if [ "${SLURM_ARRAY_TASK_ID:-0}" -eq 0 ]; then
  lead
else
  work
fi
)sh";

}  // namespace

std::string slurm_script(const LaunchOptions& options) {
  std::string lines;
  for (const auto& line : options.sbatch) lines += "#SBATCH --" + line + "\n";
  const bool is_private = options.storage.empty();
  return filled(std::string(slurm_beginning) + (is_private ? slurm_private_database : slurm_given_database) + slurm_end,
                {{"workers", std::to_string(options.workers)},
                 {"and_serves", is_private ? " and runs the database" : ""},
                 {"cpus", std::to_string(options.cpus)},
                 {"memory", std::to_string(options.memory)},
                 {"gpus", options.gpus > 0 ? "#SBATCH --gres=gpu:" + std::to_string(options.gpus) + "\n" : ""},
                 {"devices", devices_option(options.gpus)},
                 {"code", code_option(options)},
                 {"hours", std::to_string(options.hours)},
                 {"sbatch", lines},
                 {"configuration", as_word(options.configuration.string())},
                 {"folder", as_word(options.folder.string())},
                 {"study", as_word(options.study)},
                 {"storage", as_word(options.storage)}});
}

}  // namespace quasar::cli
