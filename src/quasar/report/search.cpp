#include "quasar/report/search.hpp"

#include "quasar/base/file.hpp"
#include "quasar/base/secrets.hpp"
#include "quasar/report/contents.hpp"
#include "quasar/report/live.hpp"
#include "quasar/report/pages.hpp"
#include "quasar/report/pictures.hpp"
#include "quasar/report/result.hpp"
#include "quasar/tune/continuation.hpp"
#include "quasar/tune/search_parts.hpp"

namespace quasar::report {
namespace fs = std::filesystem;

void refuse_to_overwrite(const tune::Job& job) {
  const std::string storage = tune::storage_url(job);
  if (job.load_if_exists && search::storage_exists(storage)) return;
  for (const char* name : {"auto_search.db", "result.json", "best.onnx"}) {
    if (!fs::exists(job.output_dir / name)) continue;
    const std::string folder = "output_dir '" + job.output_dir.string() + "' holds an earlier search (" + name + ")";
    if (job.load_if_exists)
      throw Error(folder + ", but not in " + without_password(storage) + ": name its study_storage_db, or choose another folder");
    throw Error(folder + ": continue it with --resume (load_study_if_exists: true), or choose another folder");
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
  Searched out{tune::search(job, monitor), {}};
  out.result = result_json(job, out.summary);
  write_file(job.output_dir / "result.json", out.result.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  Json contents = contents_of(out.result, out.summary.trials, job.words);
  contents["pictures"] = pictures_of(out.result, job.output_dir);
  write_pages(job, contents);
  tell(monitor.log, Level::debug, "report.html was written during the search in " + Json(live.seconds()).dump() + " s");
  return out;
}

}  // namespace quasar::report
