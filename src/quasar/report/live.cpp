#include "quasar/report/live.hpp"

#include <algorithm>
#include <fstream>

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

Json progress_of(const search::Event& event, double seconds) {
  const size_t done = event.counts.finished();
  Json progress{{"done", done}, {"elapsed_s", seconds}};
  if (!event.total) return progress;
  progress["total"] = *event.total;
  if (done > 0 && done < *event.total)
    progress["left_s"] = seconds / static_cast<double>(done) * static_cast<double>(*event.total - done);
  return progress;
}

}  // namespace

void LiveReport::begin(const tune::Measured& baseline) {
  baseline_ = baseline_json(job_.model, baseline);
}

void LiveReport::hear(const search::Event& event) {
  if (event.kind == search::Event::Kind::started) return;
  trials_.push_back(event.trial);
  if (watch_.seconds() < next_) return;
  const Stopwatch writing;
  write(event);
  spent_ += writing.seconds();
  next_ = watch_.seconds() + std::max(1.0, 50 * writing.seconds());
}

void LiveReport::write(const search::Event& event) {
  Json contents = contents_of(result_so_far(event), trials_, job_.words);
  contents["progress"] = progress_of(event, watch_.seconds());
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
