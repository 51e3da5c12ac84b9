#include "quasar/tune/study_guard.hpp"

#include "quasar/base/error.hpp"

namespace quasar::tune {
namespace fs = std::filesystem;

StudyGuard::StudyGuard(search::Storage& storage, const Job& job, const Monitor& monitor)
    : storage_(storage), job_(job), outer_(monitor), ending_(monitor.stop) {}

Monitor StudyGuard::monitor() {
  Monitor inner = outer_;
  inner.stop = ending_.token();
  inner.listener = [this](const search::Event& event) {
    if (outer_.listener) outer_.listener(event);
    std::error_code code;
    if (storage_.lost().empty() && (fs::exists(job_.output_dir, code) || code)) return;
    stopped_ = true;
    ending_.stop();
  };
  return inner;
}

void StudyGuard::expect_folder() const {
  std::error_code code;
  if (fs::exists(job_.output_dir, code) || code) return;
  throw Error("output_dir '" + job_.output_dir.string() +
                  "' was removed or renamed while the search ran, and nothing can be written there; if it was renamed, --resume "
                  "goes on under its new name",
              Blame::world);
}

std::string StudyGuard::lost() const {
  const std::string why = storage_.lost();
  if (why.empty()) return "";
  return why + ": --resume, reports and `quasar quantize --from-study` do not find the trials of this search; the results in '" +
         job_.output_dir.string() + "' are written all the same";
}

}  // namespace quasar::tune
