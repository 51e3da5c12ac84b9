#include "quasar/cli/steps.hpp"

#include <algorithm>
#include <cstdio>
#include <mutex>

#include "quasar/base/stopwatch.hpp"
#include "quasar/base/system/terminal.hpp"
#include "quasar/cli/progress.hpp"

namespace quasar::cli {
namespace {

constexpr double between_drawings = 0.1;  // seconds
constexpr double least_known = 1;         // seconds, before which nothing is said of the time left

}  // namespace

std::string step_line(const std::string& work, double share, double seconds, size_t width) {
  const std::string bar = "  " + progress_bar(share);
  std::string left;
  if (share > 0 && share < 1 && seconds >= least_known) left = "  " + duration(seconds * (1 - share) / share) + " left";
  if (work.size() + bar.size() + left.size() < width) return work + bar + left;
  const std::string line = work.size() + left.size() < width ? work + left : work;
  return line.substr(0, width - std::min<size_t>(width, 1));
}

struct Steps::Impl {
  const bool terminal = errors_are_terminal();
  std::mutex guard;
  std::string work;
  Stopwatch begun, drawn;
  bool open = false;

  void hear(const std::string& now, double share) {
    const std::lock_guard lock(guard);
    const bool is_new = now != work;
    if (is_new) {
      work = now;
      begun = Stopwatch();
    } else if (drawn.seconds() < between_drawings) {
      return;
    }
    drawn = Stopwatch();
    open = true;
    std::fprintf(stderr, "\r\033[K%s", step_line(work, share, begun.seconds(), terminal_columns()).c_str());
    std::fflush(stderr);
  }
};

Steps::Steps() : impl_(std::make_unique<Impl>()) {}

Steps::~Steps() {
  if (impl_->open) std::fputs("\r\033[K", stderr);
}

Progress Steps::progress() {
  if (!impl_->terminal) return {};
  return [this](const std::string& work, double share) { impl_->hear(work, share); };
}

}  // namespace quasar::cli
