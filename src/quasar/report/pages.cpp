#include "quasar/report/pages.hpp"

#include "quasar/base/file.hpp"
#include "quasar/report/svg.hpp"
#include "quasar/report/writer.hpp"

namespace quasar::report {
namespace {

std::string page(const Json& contents, const char* view) {
  return writers::table().make("html", {{"view", view}})->write({contents});
}

}  // namespace

void write_pages(const tune::Job& job, const Json& contents) {
  write_file(job.output_dir / "report.html", page(contents, "report"));
  if (!job.plot_results) return;
  Json plots = contents;
  plots.erase("pictures");
  write_file(job.output_dir / "opt_history.html", page(plots, "history"));
  write_file(job.output_dir / "opt_history.svg", history_svg(contents));
  write_file(job.output_dir / "param_importance.html", page(plots, "importance"));
  write_file(job.output_dir / "param_importance.svg", importance_svg(contents));
}

}  // namespace quasar::report
