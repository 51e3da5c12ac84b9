#include "quasar/cli/search_run.hpp"

#include <filesystem>
#include <iostream>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/digits.hpp"
#include "quasar/base/file_lock.hpp"
#include "quasar/base/system/signals.hpp"
#include "quasar/base/version.hpp"
#include "quasar/cli/command.hpp"
#include "quasar/cli/console.hpp"
#include "quasar/report/recorded_search.hpp"
#include "quasar/report/result.hpp"
#include "quasar/runtime/oldest_release.hpp"
#include "quasar/runtime/session.hpp"
#include "quasar/studies/continuation.hpp"
#include "quasar/worker/launch.hpp"

namespace quasar::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* log_name = "auto_search.log";

// A folder that was made for a search which could not begin, unless another one has it by now.
void remove_if_bare(const fs::path& folder) {
  try {
    const FileLock alone(folder / ".quasar-lock", "output_dir", "leave it");
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
      const std::string name = entry.path().filename().string();
      if (name != log_name && name != ".quasar-lock") return;
    }
    fs::remove_all(folder, ignored);
  } catch (const Error&) {  // it is another's, or gone
  }
}

std::string nodes_in_words(const tune::Winner& best) {
  if (best.broken_rules) return " nodes in integers as planned for the NPU, ";
  return best.nodes_by == "plan" ? " nodes in integers as planned, " : " nodes in integer kernels of " + best.nodes_by + ", ";
}

void show(const tune::Job& job, const tune::Summary& summary) {
  const search::Counts& counts = summary.counts;
  std::cout << report::result_table(job.aim, summary);
  std::cout << "\n"
            << counts.executed() << " trials executed, " << counts.duplicates << " duplicates, " << counts.pruned << " pruned, "
            << counts.failed << " failed, in " << seconds_in_words(summary.seconds) << "\n";
  if (!summary.reason.empty()) std::cout << "ended: " << summary.reason << "\n";
  for (const auto& trial : summary.trials) {
    if (trial.state != search::State::failed) continue;
    std::cout << "first failure: trial " << trial.number << ": "
              << trial.user_attributes.value("error", std::string("another program says so")) << "\n";
    break;
  }
  if (summary.best) {
    const auto& rules = summary.best->broken_rules;
    std::cout << "best: trial " << summary.best->trial.number << ", " << summary.best->quantized_nodes
              << nodes_in_words(*summary.best) << summary.best->float_nodes << " in float";
    if (rules) std::cout << ", " << *rules << " of its rules broken";
    for (const auto& piece : summary.best->pieces)
      std::cout << "\n  " << (job.output.dir / piece.file).string() << ": " << piece.bytes << " bytes, float "
                << piece.float_bytes << "; " << piece.quantized_nodes << " nodes in integers, " << piece.float_nodes
                << " in float; " << in_digits(piece.bits, 3) << " bits a weight";
    std::cout << "\nneeds: " << runtime::needs_in_words(summary.best->needs) << "\n";
  }
  std::cout << "results: " << job.output.dir.string() << " (status " << report::name_of(summary.status)
            << ")\nreport: " << (job.output.dir / "report.html").string() << "\n";
}

int exit_code(tune::Status status) {
  switch (status) {
    case tune::Status::ok:
      return exit_done;
    case tune::Status::interrupted:
      return exit_interrupted;
    case tune::Status::goal_missed:
    case tune::Status::no_candidate:
    case tune::Status::strategy_failed:
      return exit_goal_missed;
  }
  return exit_done;
}

int search(const tune::Job& job, const SearchRun& how) {
  Console console(how.quiet, job.aim, tune::name_among_others(job.study));
  std::error_code code;
  fs::create_directories(job.output.dir, code);
  if (code) throw Error("cannot create output_dir '" + job.output.dir.string() + "': " + code.message(), blame_of(code.value()));
  console.log_to(job.output.dir / log_name);
  console.note("search started: quasar " + version() + ", ONNX Runtime " + runtime::version() + ", " + runtime::cpu_name() +
               "; model " + job.model.string() + ", objective " + job.aim.goals.objectives.front().metric);
  const auto [found, summary, result] =
      report::search(job, {.log = console.log(),
                           .listener = console.listener(),
                           .stop = stop_requested(),
                           .baseline = [&](const tune::Measured& baseline) { console.compare_with(baseline); },
                           .goes_on = [&](const tune::Job& next) { console.follow(next.aim); },
                           .launch = tune::launch()});
  console.close_progress();
  console.note(report::result_table(found.aim, summary) + "status=" + report::name_of(summary.status) +
               " reason=" + summary.reason);
  if (how.json) {
    std::cout << result.dump(2) << "\n";
  } else {
    show(found, summary);
  }
  if (!summary.lost.empty()) return exit_input;
  const bool poor = summary.best && summary.best->quality.poor();
  return poor && summary.status == tune::Status::ok ? exit_goal_missed : exit_code(summary.status);
}

}  // namespace

int run_search(tune::Job job, const SearchRun& how) {
  report::refuse_to_overwrite(job, how.configuration);
  if (how.resume) {
    const CancelScope scope(stop_requested());
    tune::expect_study(job);
  }
  if (fs::exists(job.output.dir)) return search(job, how);
  try {
    return search(job, how);
  } catch (const Error&) {
    remove_if_bare(job.output.dir);
    throw;
  }
}

}  // namespace quasar::cli
