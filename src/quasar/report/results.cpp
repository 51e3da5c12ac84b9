#include "quasar/report/results.hpp"

#include <regex>

#include "quasar/base/error.hpp"
#include "quasar/inspect/inputs.hpp"
#include "quasar/tune/flips.hpp"
#include "quasar/tune/pieces.hpp"

namespace quasar::report {
namespace fs = std::filesystem;
namespace {

std::vector<std::string> names_of_results(const tune::Job& job) {
  std::vector<std::string> names{"best.onnx",   "best.onnx.data", "best_params.json", "best_config.yaml",
                                 "result.json", "report.html",    "auto_search.log"};
  if (job.joined) {
    names.push_back(job.model.filename().string());
    for (const auto& piece : tune::files_of_pieces(*job.joined, "best.onnx")) {
      names.push_back(piece.string());
      names.push_back(piece.string() + ".data");
    }
  }
  if (job.output.plot_results) {
    for (const char* name : {"opt_history.html", "opt_history.svg", "param_importance.html", "param_importance.svg"})
      names.push_back(name);
  }
  return names;
}

// A link is replaced, whatever it leads to.
void expect_room(const fs::path& file) {
  std::error_code ignored;
  const auto type = fs::symlink_status(file, ignored).type();
  if (type == fs::file_type::not_found || type == fs::file_type::none || type == fs::file_type::regular ||
      type == fs::file_type::symlink)
    return;
  const char* what = type == fs::file_type::directory ? "a folder" : type == fs::file_type::fifo ? "a pipe" : "no file";
  throw Error("cannot write '" + file.string() + "': it is " + what + "; choose another output_dir");
}

bool is_a_kept_model(const fs::path& file) {
  static const std::regex name("(.*_)?trial_[0-9]+[.]onnx([.]data)?");
  return std::regex_match(file.filename().string(), name);
}

constexpr const char* way_out = "choose another output_dir, or move it away";

OverwriteGuard what_is_read(const tune::Job& job, const fs::path& configuration) {
  OverwriteGuard files;
  files.reads(configuration, "the configuration");
  tune::reads_of(files, job);
  return files;
}

void writes(OverwriteGuard& files, const fs::path& result) {
  expect_room(result);
  files.writes(result, "output_dir");
}

void writes_models(OverwriteGuard& files, const tune::Job& job) {
  if (job.output.keep_models != "best") files.writes_in(job.output.dir, "keep_models", is_a_kept_model);
}

}  // namespace

void check_results(const tune::Job& job, const fs::path& configuration) {
  OverwriteGuard files = what_is_read(job, configuration);
  for (const auto& name : names_of_results(job)) writes(files, job.output.dir / name);
  files.writes_in(job.output.dir / tune::worst_samples, "output_dir", tune::is_picture_of_sample);
  writes_models(files, job);
  files.check(way_out);
}

void check_worker_results(const tune::Job& job, const fs::path& configuration) {
  OverwriteGuard files = what_is_read(job, configuration);
  writes(files, job.output.dir / worker_log);
  writes_models(files, job);
  files.check(way_out);
}

}  // namespace quasar::report
