#include "quasar/cli/progress.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "quasar/base/digits.hpp"
#include "quasar/base/system/terminal.hpp"

namespace quasar::cli {
namespace {

constexpr const char* green = "\033[32m";
constexpr const char* red = "\033[31m";
constexpr const char* yellow = "\033[33m";
constexpr const char* plain = "\033[0m";

struct Part {
  std::string text;
  const char* colour = "";
  int rank = 0;  // the greatest goes first when there is no room
};

}  // namespace

std::string progress_bar(double share) {
  const auto filled = static_cast<size_t>(16 * std::clamp(share, 0.0, 1.0));
  return "[" + std::string(filled, '#') + std::string(16 - filled, '.') + "]";
}

std::string duration(double seconds) {
  if (seconds < 100) return fmt::format("{:.0f} s", seconds);
  if (seconds < 6000) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

bool wants_colour() {
  const char* off = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal == nullptr || std::string_view(terminal) == "dumb";
  return errors_are_terminal() && (off == nullptr || *off == '\0') && !dumb;
}

void ProgressLine::hear(const search::Event& event) {
  left_.hear(event);
  counts_ = event.counts;
  total_ = event.total;
  if (event.best != nullptr && !event.best->values.empty()) best_ = event.best->values.front();
}

std::string ProgressLine::draw(size_t width, bool colour) const {
  const size_t done = counts_.finished();
  std::vector<Part> parts{{total_ ? fmt::format("trial {}/{}", done, *total_) : fmt::format("trial {}", done), "", 0}};
  if (total_ && *total_ > 0) {
    const size_t filled = 16 * std::min<uint64_t>(done, *total_) / *total_;
    parts.push_back({"[" + std::string(filled, '#') + std::string(16 - filled, '.') + "]", "", 5});
  }
  if (best_) parts.push_back({fmt::format("best {} {}", objective_, plain_digits(*best_, 5)), green, 1});
  parts.push_back({fmt::format("{} run", counts_.executed()), "", 4});
  if (counts_.duplicates > 0) parts.push_back({fmt::format("{} dup", counts_.duplicates), "", 4});
  if (counts_.pruned > 0) parts.push_back({fmt::format("{} pruned", counts_.pruned), yellow, 3});
  if (counts_.failed > 0) parts.push_back({fmt::format("{} failed", counts_.failed), red, 2});
  if (const auto left = left_.seconds()) parts.push_back({duration(*left) + " left", "", 1});
  const auto columns = [&] {
    size_t sum = 0;
    for (const auto& part : parts) sum += part.text.size() + 2;
    return sum - 2;
  };
  while (parts.size() > 1 && columns() >= width) {
    parts.erase(std::max_element(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.rank < b.rank; }));
  }
  std::string line;
  for (const auto& part : parts) {
    line += line.empty() ? "" : "  ";
    line += colour && *part.colour != '\0' ? part.colour + part.text + plain : part.text;
  }
  return line;
}

}  // namespace quasar::cli
