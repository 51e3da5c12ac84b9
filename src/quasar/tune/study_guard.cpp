#include "quasar/tune/study_guard.hpp"

#include "quasar/base/error.hpp"

namespace quasar::tune {

StudyGuard::StudyGuard(search::Storage& storage, const OutputFolder& folder, const Monitor& monitor)
    : storage_(storage), folder_(folder), outer_(monitor), ending_(monitor.stop) {}

Monitor StudyGuard::monitor() {
  Monitor inner = outer_;
  inner.stop = ending_.token();
  inner.listener = [this](const search::Event& event) {
    const bool has_folder = folder_.lost().empty();
    if (outer_.listener && has_folder) outer_.listener(event);  // who hears writes the report there
    if (has_folder && storage_.lost().empty()) return;
    stopped_ = true;
    ending_.stop();
  };
  return inner;
}

void StudyGuard::expect_folder() const {
  if (const std::string why = folder_.lost(); !why.empty()) throw Error(why, Blame::setup);
}

std::string StudyGuard::lost() const {
  const std::string why = storage_.lost();
  if (why.empty()) return "";
  return why + ": --resume, reports and `quasar quantize --from-study` do not find the trials of this search; the results in '" +
         folder_.path().string() + "' are written all the same";
}

}  // namespace quasar::tune
