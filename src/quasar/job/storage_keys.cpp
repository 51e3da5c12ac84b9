// The keys of a configuration that say where a study is kept, and how processes share it.
#include "quasar/job/job_parts.hpp"
#include "quasar/search/misspelt.hpp"
#include "quasar/search/optuna/optuna_format.hpp"
#include "quasar/search/storage.hpp"

namespace quasar::tune {
namespace fs = std::filesystem;

std::vector<OptionSpec> storage_key_specs() {
  return {
      {.name = "study_name", .fallback = "AutoSearch", .help = "name of the study in its database", .local = true},
      {.name = "study_storage_db",
       .fallback = "auto_search.db",
       .help = "file in output_dir, sqlite:///path, or postgresql://user@host:port/database, which workers share",
       .aliases = {"storage"},
       .local = true},
      {.name = "statistics_dir",
       .fallback = nullptr,
       .help = "folder through which processes share what they observe of the calibration samples (default: each observes)",
       .local = true},
      {.name = "heartbeat_interval",
       .fallback = 10.0,
       .help = "seconds; of a shared study, how often a process says that it lives",
       .low = 0.05,
       .local = true},
      {.name = "grace_period",
       .fallback = 60.0,
       .help = "seconds without a heartbeat after which a worker is taken for dead",
       .low = 0.1,
       .local = true},
      {.name = "max_retry",
       .fallback = 2,
       .help = "how often a trial whose worker died runs again before it has failed (0: it fails)",
       .low = 0,
       .local = true},
      {.name = "study_files_limit",
       .fallback = 268435456,
       .help = "bytes of model and samples that a shared study keeps for workers on machines without them (0: none)",
       .low = 0,
       .local = true},
      {.name = "load_study_if_exists", .fallback = false, .help = "continue a study that exists", .local = true},
  };
}

std::string sqlite_from(const fs::path& folder, const std::string& storage) {
  const std::string scheme = "sqlite:///";
  if (!storage.starts_with(scheme)) return storage;
  return scheme + fs::absolute(folder / storage.substr(scheme.size())).lexically_normal().string();
}

StudyKeys study_of(const Options& keys, const fs::path& base, const fs::path& folder) {
  StudyKeys study;
  study.folder = folder;
  study.name = keys.text("study_name");
  const size_t length = search::optuna::characters_of(study.name);
  if (length > search::longest_name)
    throw Error("study_name has " + std::to_string(length) + " characters, but may have " + std::to_string(search::longest_name) +
                " at most");
  search::optuna::expect_storable("study_name", study.name);
  search::refuse_misspelt("study_storage_db", keys.text("study_storage_db"));
  study.storage = sqlite_from(base, keys.text("study_storage_db"));
  study.load_if_exists = keys.flag("load_study_if_exists");
  study.heartbeat = {keys.real("heartbeat_interval"), keys.real("grace_period"), keys.integer("max_retry")};
  study.files_limit = static_cast<uint64_t>(keys.integer("study_files_limit"));
  if (study.heartbeat.grace < 2 * study.heartbeat.interval)
    throw Error("grace_period is " + Json(study.heartbeat.grace).dump() + " s, but must be at least twice heartbeat_interval (" +
                Json(study.heartbeat.interval).dump() + " s)");
  return study;
}

// Throws Error for a database in the output folder that is a link, which whoever writes to it would follow to another place, and
// for what SQLite cannot open. A database elsewhere, which the user named, may be a link.
std::string storage_url(const StudyKeys& study) {
  if (study.storage.find("://") != std::string::npos || study.storage == "memory") return study.storage;
  const fs::path file = study.folder / study.storage;
  std::error_code ignored;
  if (fs::path(study.storage).is_relative() && fs::is_symlink(file, ignored))
    throw Error("'" + file.string() +
                "' is a symbolic link, which a study in output_dir does not follow: remove it, or name the file that it leads to "
                "(study_storage_db)");
  if (file.string().find('"') != std::string::npos)
    throw Error("the study's database would be " + file.string() +
                ", but its path must not hold quotes: choose another output_dir or study_storage_db");
  return file.string();
}

}  // namespace quasar::tune
