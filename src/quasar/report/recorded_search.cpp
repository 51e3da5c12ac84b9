#include "quasar/report/recorded_search.hpp"

#include "quasar/base/cancellation.hpp"
#include "quasar/base/file.hpp"
#include "quasar/base/secrets.hpp"
#include "quasar/job/job.hpp"
#include "quasar/report/contents.hpp"
#include "quasar/report/live.hpp"
#include "quasar/report/pictures.hpp"
#include "quasar/report/result.hpp"
#include "quasar/report/results.hpp"
#include "quasar/report/svg.hpp"
#include "quasar/report/writer.hpp"
#include "quasar/studies/continuation.hpp"
#include "quasar/tune/output_folder.hpp"
#include "quasar/tune/rescue.hpp"

namespace quasar::report {
namespace {

std::string page(const Json& contents, const char* view) {
  return writers::table().make("html", {{"view", view}})->write({contents});
}

// report.html in the output folder; with plot_results also opt_history and param_importance, each as .html and .svg.
void write_pages(const tune::Job& job, const Json& contents) {
  write_file(job.output.dir / "report.html", page(contents, "report"));
  if (!job.output.plot_results) return;
  Json plots = contents;
  plots.erase("pictures");
  write_file(job.output.dir / "opt_history.html", page(plots, "history"));
  write_file(job.output.dir / "opt_history.svg", history_svg(contents));
  write_file(job.output.dir / "param_importance.html", page(plots, "importance"));
  write_file(job.output.dir / "param_importance.svg", importance_svg(contents));
}

}  // namespace

namespace fs = std::filesystem;

namespace {

// A study that the search would leave behind, with its results replaced.
void refuse_to_forget(const tune::Job& job) {
  const std::string storage = tune::storage_url(job.study), folder = "output_dir '" + job.output.dir.string() + "'";
  if (!fs::is_directory(job.output.dir)) return;
  const bool exists = search::storage_exists(storage);
  for (const auto& file : fs::directory_iterator(job.output.dir)) {
    if (exists || file.path().extension() != ".db") continue;
    throw Error(folder + " holds the study of an earlier search (" + file.path().filename().string() +
                "), but there is none in " + without_password(storage) +
                ": name the study_storage_db of that search, or choose another folder");
  }
  if (!fs::exists(job.output.dir / "result.json")) return;
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

std::string earlier_search(const fs::path& folder) {
  for (const char* name : {"auto_search.db", "result.json", "best.onnx"}) {
    if (std::error_code code; fs::exists(folder / name, code)) return name;
  }
  return "";
}

void refuse_to_overwrite(const tune::Job& job, const fs::path& configuration, const std::string& how_to_continue) {
  std::error_code code;
  if (fs::status(job.output.dir / "result.json", code).type() == fs::file_type::none)
    throw Error("output_dir '" + job.output.dir.string() + "' cannot be used: " + code.message());
  check_results(job, configuration);
  if (job.study.load_if_exists) return refuse_to_forget(job);
  if (const std::string name = earlier_search(job.output.dir); !name.empty())
    throw Error("output_dir '" + job.output.dir.string() + "' holds an earlier search (" + name + "): continue it with " +
                how_to_continue + ", or choose another folder");
}

namespace {

void write_result(const Json& result, const fs::path& folder) {
  write_file(folder / "result.json", result.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

void write_report(const Searched& found) {
  const fs::path& folder = found.job.output.dir;
  try {
    Json contents = contents_of(found.result, found.summary.trials, found.job.words);
    contents["pictures"] = pictures_of(found.result, folder);
    write_pages(found.job, contents);
  } catch (const Error& e) {
    throw Error(std::string(e.what()) + "; the results are whole but for the report, which `quasar report " + folder.string() +
                    "` makes again",
                e.blame());
  }
}

// One search, with its files in its output folder.
Searched search_once(const tune::Job& job, tune::Monitor monitor) {
  std::error_code code;
  fs::create_directories(job.output.dir, code);
  if (code) throw Error("cannot create output_dir '" + job.output.dir.string() + "': " + code.message());
  LiveReport live(job, job.output.dir / "report.html");
  monitor.listener = [&live, outer = std::move(monitor.listener)](const search::Event& event) {
    if (outer) outer(event);
    live.hear(event);
  };
  monitor.baseline = [&live, outer = std::move(monitor.baseline)](const tune::Measured& baseline) {
    if (outer) outer(baseline);
    live.begin(baseline);
  };
  Searched out{.job = job, .summary = {}, .result = {}};
  monitor.results = [&](const tune::Summary& summary, const fs::path& folder) {
    out.result = result_json(job, summary);
    write_result(out.result, folder);
  };
  out.summary = tune::search(job, monitor);
  if (out.result.is_null()) monitor.results(out.summary, job.output.dir);
  write_report(out);
  tell(monitor.log, Level::debug, "report.html was written during the search in " + Json(live.seconds()).dump() + " s");
  return out;
}

// What the first search came to, for who reads of the second.
Json before_json(const Json& first) {
  Json out;
  for (const char* key : {"status", "quality", "reason", "study_name", "seconds", "trials"}) out[key] = first.value(key, Json());
  out["reasons"] = first.value(Json::json_pointer("/best/answers/reasons"), Json());
  out["metrics"] = first.value(Json::json_pointer("/best/metrics"), Json());
  return out;
}

// The files of a pipeline's models.
std::vector<std::string> pieces_in(const Json& result) {
  std::vector<std::string> out;
  const Json best = result.value("best", Json());
  if (!best.is_object()) return out;
  for (const Json& model : best.value("models", Json::array())) out.push_back(model.at("file"));
  return out;
}

// Repair's results into the place of the first search's.
void take_the_place(Searched& repaired, const Searched& first) {
  const fs::path from = repaired.job.output.dir, to = first.job.output.dir;
  repaired.job.output.dir = to;
  repaired.result["before"] = before_json(first.result);
  tune::OutputFolder folder(to);
  const std::vector<std::string> files = tune::result_files(pieces_in(repaired.result));
  for (const auto& name : files) {
    if (!fs::exists(from / name)) continue;
    fs::create_directories((folder.unfinished() / name).parent_path());
    fs::rename(from / name, folder.unfinished() / name);
  }
  write_result(repaired.result, folder.unfinished());
  folder.put_in_place(files, "result.json");
  for (const auto& entry : fs::directory_iterator(from)) {
    const fs::path place = to / entry.path().filename();
    if (entry.is_directory() && fs::is_empty(entry.path())) continue;  // that of a pipeline's models
    if (entry.is_directory()) fs::remove_all(place);                   // pictures of samples
    if (!fs::exists(place)) fs::rename(entry.path(), place);
  }
}

}  // namespace

Searched search(const tune::Job& asked, tune::Monitor monitor) {
  const tune::Job whole = [&] {
    const CancelScope scope(monitor.stop);
    return tune::continued(asked);
  }();
  Searched first = search_once(tune::is_rescued(whole) ? tune::with_two_thirds(whole) : whole, monitor);
  const fs::path folder = whole.output.dir / "repair";
  const auto rescue = tune::is_rescued(whole) ? tune::rescue_of(whole, first.summary, folder, monitor.log) : std::nullopt;
  if (!rescue) return first;
  tell(monitor.log, Level::warning, tune::why_rescued(whole, first.summary));
  tell(monitor.log, Level::warning, "the search goes on with strategy repair");
  if (monitor.goes_on) monitor.goes_on(*rescue);
  try {
    Searched repaired = search_once(*rescue, monitor);
    if (tune::takes_the_place_of(first.summary, repaired.summary)) {
      tune::judge_by(whole.aim, repaired.summary);
      repaired.result = result_json(repaired.job, repaired.summary);
      take_the_place(repaired, first);
      write_report(repaired);
      first = std::move(repaired);
    } else {
      tell(monitor.log, Level::warning, "strategy repair found nothing better: " + repaired.summary.reason);
    }
  } catch (const Error& e) {
    tell(monitor.log, Level::warning, std::string("strategy repair ended: ") + e.what());
  }
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  return first;
}

}  // namespace quasar::report
