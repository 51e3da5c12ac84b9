#include "quasar/report/live.hpp"

#include <algorithm>
#include <fstream>
#include <span>

#include "quasar/base/error.hpp"
#include "quasar/report/contents.hpp"
#include "quasar/report/result.hpp"
#include "quasar/report/writer.hpp"

namespace quasar::report {
namespace {

// Whole or not at all, but not flushed to disk: the next writing comes soon.
void replace_page(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::path beside = file;
  beside += ".part";
  std::error_code nothing_there;
  std::filesystem::remove(beside, nothing_there);  // a link would be followed, a pipe waited for
  std::ofstream out(beside, std::ios::binary);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  out.close();
  std::error_code code;
  if (out) std::filesystem::rename(beside, file, code);
  if (!out || code) std::filesystem::remove(beside, code);
}

Json progress_of(const search::Event& event, double seconds, std::optional<double> left) {
  const size_t done = event.counts.finished();
  Json progress{{"done", done}, {"elapsed_s", seconds}};
  if (!event.total) return progress;
  progress["total"] = *event.total;
  if (left) progress["left_s"] = *left;
  return progress;
}

// The trials that earlier runs left in the study which the job continues.
std::vector<search::Trial> earlier_trials(const tune::Job& job) try {
  if (!job.study.load_if_exists) return {};
  const auto storage = search::open_to_read(tune::storage_url(job.study));
  if (storage == nullptr) return {};
  for (const auto& study : storage->studies()) {
    if (study.name == job.study.name) return storage->trials(study.id);
  }
  return {};
} catch (const Error&) {  // the final report will have them
  return {};
}

}  // namespace

void LiveReport::begin(const tune::Measured& baseline) {
  baseline_ = baseline_json(job_.model, baseline);
}

void LiveReport::hear(const search::Event& event) {
  left_.hear(event);
  if (event.kind == search::Event::Kind::started) return;
  if (trials_.empty()) earlier_ = (trials_ = earlier_trials(job_)).size();
  const auto earlier = std::span(trials_).first(earlier_);
  const auto known = std::ranges::find(earlier, event.trial.number, &search::Trial::number);
  if (known != earlier.end()) {
    *known = event.trial;
  } else {
    trials_.push_back(event.trial);
  }
  if (watch_.seconds() < next_) return;
  const Stopwatch writing;
  write(event);
  spent_ += writing.seconds();
  next_ = watch_.seconds() + std::max(1.0, 50 * writing.seconds());
}

void LiveReport::write(const search::Event& event) {
  Json contents = contents_of(result_so_far(event), trials_, job_.words);
  contents["progress"] = progress_of(event, watch_.seconds(), left_.seconds());
  replace_page(file_, writers::table().make("html")->write({contents}));
}

Json LiveReport::result_so_far(const search::Event& event) const {
  Json result = header_json(job_);
  result["status"] = "running";
  result["seconds"] = watch_.seconds();
  if (!baseline_.is_null()) result["baseline"] = baseline_;
  result["trials"] = counts_json(event.counts);
  if (event.best != nullptr) result["best"] = best_so_far_json(*event.best);
  return result;
}

}  // namespace quasar::report
