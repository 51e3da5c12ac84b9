#include "quasar/report/search.hpp"

#include "quasar/base/file.hpp"
#include "quasar/base/secrets.hpp"
#include "quasar/report/contents.hpp"
#include "quasar/report/live.hpp"
#include "quasar/report/pages.hpp"
#include "quasar/report/pictures.hpp"
#include "quasar/report/result.hpp"
#include "quasar/report/results.hpp"
#include "quasar/tune/continuation.hpp"

namespace quasar::report {
namespace fs = std::filesystem;

namespace {

// A study that the search would leave behind, with its results replaced.
void refuse_to_forget(const tune::Job& job) {
  const std::string storage = tune::storage_url(job), folder = "output_dir '" + job.output_dir.string() + "'";
  if (!fs::is_directory(job.output_dir)) return;
  const bool exists = search::storage_exists(storage);
  for (const auto& file : fs::directory_iterator(job.output_dir)) {
    if (exists || file.path().extension() != ".db") continue;
    throw Error(folder + " holds the study of an earlier search (" + file.path().filename().string() +
                "), but there is none in " + without_password(storage) +
                ": name the study_storage_db of that search, or choose another folder");
  }
  if (!fs::exists(job.output_dir / "result.json")) return;
  try {
    const auto known = exists ? search::open_to_read(storage) : nullptr;
    if (known != nullptr && !known->studies().empty()) return;
  } catch (const Error&) {
    return;  // the search says what is wrong with it
  }
  throw Error(folder + " holds the results of an earlier search (result.json), but there is no study in " +
              without_password(storage) +
              ", and a new one would replace them: name the study_storage_db of that search, move the results away, or choose "
              "another folder");
}

}  // namespace

void refuse_to_overwrite(const tune::Job& job, const fs::path& configuration) {
  std::error_code code;
  if (fs::status(job.output_dir / "result.json", code).type() == fs::file_type::none)
    throw Error("output_dir '" + job.output_dir.string() + "' cannot be used: " + code.message());
  check_results(job, configuration);
  if (job.load_if_exists) return refuse_to_forget(job);
  for (const char* name : {"auto_search.db", "result.json", "best.onnx"}) {
    if (!fs::exists(job.output_dir / name)) continue;
    throw Error("output_dir '" + job.output_dir.string() + "' holds an earlier search (" + name +
                "): continue it with --resume (load_study_if_exists: true), or choose another folder");
  }
}

Searched search(const tune::Job& asked, tune::Monitor monitor) {
  const tune::Job job = tune::continued(asked);
  std::error_code code;
  fs::create_directories(job.output_dir, code);
  if (code) throw Error("cannot create output_dir '" + job.output_dir.string() + "': " + code.message());
  LiveReport live(job, job.output_dir / "report.html");
  monitor.listener = [&live, outer = std::move(monitor.listener)](const search::Event& event) {
    if (outer) outer(event);
    live.hear(event);
  };
  monitor.baseline = [&live, outer = std::move(monitor.baseline)](const tune::Measured& baseline) {
    if (outer) outer(baseline);
    live.begin(baseline);
  };
  Searched out;
  monitor.results = [&](const tune::Summary& summary, const fs::path& folder) {
    out.result = result_json(job, summary);
    write_file(folder / "result.json", out.result.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  };
  out.summary = tune::search(job, monitor);
  if (out.result.is_null()) monitor.results(out.summary, job.output_dir);
  try {
    Json contents = contents_of(out.result, out.summary.trials, job.words);
    contents["pictures"] = pictures_of(out.result, job.output_dir);
    write_pages(job, contents);
  } catch (const Error& e) {
    throw Error(std::string(e.what()) + "; the results are whole but for the report, which `quasar report " +
                    job.output_dir.string() + "` makes again",
                e.blame());
  }
  tell(monitor.log, Level::debug, "report.html was written during the search in " + Json(live.seconds()).dump() + " s");
  return out;
}

}  // namespace quasar::report
