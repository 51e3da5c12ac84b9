#include "quasar/api/search.hpp"

#include "quasar/job/job.hpp"
#include "quasar/report/contents.hpp"
#include "quasar/report/recorded_search.hpp"
#include "quasar/report/result.hpp"
#include "quasar/report/writer.hpp"
#include "quasar/strategy/parse_job.hpp"
#include "quasar/studies/written_result.hpp"

namespace quasar::api {

Json read_job(const std::filesystem::path& file) {
  return tune::read_words(file);
}

Found search(const Json& job, const std::filesystem::path& base, const Monitor& monitor) {
  const tune::Job parsed = tune::parse_job(job, base);
  report::refuse_to_overwrite(parsed);
  report::Searched searched = report::search(parsed, {.log = monitor.log, .listener = monitor.listener, .stop = monitor.stop});
  Found found{.result = std::move(searched.result),
              .table = report::result_table(searched.job.aim, searched.summary),
              .trials = {},
              .output_dir = searched.job.output.dir,
              .storage = tune::storage_url(searched.job.study)};
  found.trials = std::move(searched.summary.trials);
  return found;
}

Json dry_run(const Json& job, const std::filesystem::path& base) {
  return tune::dry_run(tune::parse_job(job, base));
}

std::string report(const std::filesystem::path& output_dir, const std::string& format, const std::string& storage) {
  const auto writer = report::writers::table().make(format);
  Json contents = report::open_contents(output_dir, storage);
  contents["name"] = std::filesystem::absolute(output_dir / "").lexically_normal().parent_path().filename().string();
  return tune::with_result_of(output_dir, [&] { return writer->write({contents}); });
}

}  // namespace quasar::api
