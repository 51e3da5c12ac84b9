#include "quasar/search/storage.hpp"

#include <filesystem>
#include <optional>
#include <string_view>

#include "quasar/base/secrets.hpp"
#include "quasar/base/system/file_facts.hpp"
#include "quasar/search/misspelt.hpp"

namespace quasar::search {
namespace {

constexpr std::string_view sqlite_scheme = "sqlite:///";

// Optuna's users write the driver too: "postgresql+psycopg2://…".
bool is_postgresql(const std::string& url) {
  const std::string scheme = url.substr(0, url.find("://"));
  return scheme == "postgresql" || scheme == "postgres" || scheme.starts_with("postgresql+");
}

// nullopt: on a server, or nowhere.
std::optional<std::string> file_of(const std::string& url) {
  if (url == "memory") return std::nullopt;
  if (url.starts_with(sqlite_scheme)) return url.substr(sqlite_scheme.size());
  return url.find("://") == std::string::npos ? std::optional(url) : std::nullopt;
}

}  // namespace

namespace {

std::string times_in_a_row(int64_t deaths) {
  return deaths > 1 ? ", " + std::to_string(deaths) + " times in a row" : "";
}

}  // namespace

void refuse_name(const std::string& study) {
  throw Error("the study '" + study +
              "' exists already; continue it with --resume (load_study_if_exists: true), or choose another output_dir or "
              "study_name");
}

std::string dead_worker(int64_t deaths) {
  return "the worker that ran it died" + times_in_a_row(deaths) + ": its heartbeat stopped (max_retry)";
}

std::string dead_process(int64_t deaths) {
  return "the process that ran it died" + times_in_a_row(deaths) + " (max_retry)";
}

std::string infinite_value(double value) {
  return std::string("another program stored the value ") + (value > 0 ? "inf" : "-inf") + ", with which nothing can be compared";
}

Json with_lost_run(Json before, const LostRun& run) {
  if (!before.is_array()) before = Json::array();
  const auto microseconds = [](Time time) { return time.time_since_epoch().count(); };
  before.push_back({{"worker", run.worker},
                    {"start_us", run.start ? Json(microseconds(*run.start)) : Json()},
                    {"found_us", microseconds(run.found)}});
  return before;
}

std::vector<LostRun> lost_runs_of(const Trial& trial) {
  std::vector<LostRun> out;
  const Json all = trial.system_attributes.value(lost_runs_attribute, Json());
  if (!all.is_array()) return out;
  const auto time_in = [](const Json& run, const char* key) -> std::optional<Time> {
    constexpr int64_t year_9999 = 253402300800'000000;
    const Json time = run.value(key, Json());
    const bool known = time.is_number_integer() && time >= 0 && time < year_9999;
    return known ? std::optional(Time(std::chrono::microseconds(time.get<int64_t>()))) : std::nullopt;
  };
  for (const Json& run : all) {
    if (!run.is_object()) continue;
    const Json worker = run.value("worker", Json());
    const auto found = time_in(run, "found_us");
    if (found) out.push_back({worker.is_string() ? worker.get<std::string>() : std::string(), time_in(run, "start_us"), *found});
  }
  return out;
}

bool storage_exists(const std::string& url) {
  if (url == "memory") return false;
  refuse_misspelt("the study storage", url);
  const auto path = file_of(url);
  if (!path) return true;
  std::error_code code;
  const auto status = std::filesystem::status(*path, code);
  if (status.type() == std::filesystem::file_type::none)
    throw Error("the study database '" + *path + "' cannot be opened: " + code.message(), blame_of_writing(code.value()));
  return std::filesystem::exists(status);
}

void expect_place(const std::string& url) {
  const auto file = file_of(url);
  if (!file || storage_exists(url)) return;
  const auto folder = std::filesystem::absolute(*file).parent_path();
  std::error_code ignored;
  const bool there = std::filesystem::is_directory(folder, ignored);
  if (there && may_make_files_in(folder)) return;
  throw Error("the study database '" + *file + "' cannot be made: " +
                  (there ? "nothing may be written to the folder '" : "there is no folder '") + folder.string() + "'",
              Blame::setup);
}

namespace {

std::unique_ptr<Storage> opened(const std::string& url, bool to_read) {
  refuse_misspelt("the study storage", url);
  if (url == "memory") return storage::table().make("memory");
  const size_t scheme = url.find("://");
  if (scheme == std::string::npos) return storage::table().make("sqlite", {{"path", url}, {"to_read", to_read}});
  if (url.starts_with(sqlite_scheme))
    return storage::table().make("sqlite", {{"path", url.substr(sqlite_scheme.size())}, {"to_read", to_read}});
  if (is_postgresql(url)) return storage::table().make("postgresql", {{"url", url}, {"to_read", to_read}});
  throw Error("the study storage '" + without_password(url) +
              "' is not supported; write a path, sqlite:///path or postgresql://user@host:port/database");
}

}  // namespace

std::unique_ptr<Storage> open_storage(const std::string& url) {
  return opened(url, false);
}

std::unique_ptr<Storage> open_to_read(const std::string& url) {
  if (!storage_exists(url)) return nullptr;
  try {
    return opened(url, true);
  } catch (const NoStudies&) {
    return nullptr;
  }
}

bool is_shared_storage(const std::string& url) {
  return url.find("://") != std::string::npos && is_postgresql(url);
}

}  // namespace quasar::search
