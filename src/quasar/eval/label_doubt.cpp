#include "quasar/eval/label_doubt.hpp"

#include <cmath>

#include "quasar/base/digits.hpp"

namespace quasar::eval {
namespace {

constexpr size_t fewest_labels = 20;  // fewer say little
constexpr double hardly_chance = 4;   // standard errors
constexpr double may_be_chance = 2;
constexpr double far_better = 2;  // times as often right

size_t hits(std::span<const int32_t> answers, std::span<const int64_t> labels, int64_t offset) {
  size_t out = 0;
  for (size_t i = 0; i < answers.size(); ++i) out += answers[i] >= 0 && answers[i] == labels[i] + offset ? 1 : 0;
  return out;
}

// Who guesses among so many classes is right this often, and rarely more often by so many standard errors.
double guessed(size_t samples, size_t classes, double standard_errors) {
  const auto count = static_cast<double>(samples);
  const double share = 1 / static_cast<double>(classes);
  return count * share + standard_errors * std::sqrt(count * share * (1 - share));
}

std::string in_percent(size_t hits, size_t count) {
  return in_digits(100 * static_cast<double>(hits) / static_cast<double>(count), 3) + " %";
}

}  // namespace

bool are_classes(std::span<const int32_t> answers, std::span<const int64_t> labels, size_t classes) {
  return classes > 1 && static_cast<double>(hits(answers, labels, 0)) > guessed(labels.size(), classes, hardly_chance);
}

std::string label_doubt(std::span<const int32_t> answers, std::span<const int64_t> labels, size_t classes) {
  const size_t count = labels.size();
  if (count < fewest_labels || classes < 2) return "";
  const size_t now = hits(answers, labels, 0);
  for (const int64_t offset : {1, -1}) {
    const size_t moved = hits(answers, labels, offset);
    if (static_cast<double>(moved) <= guessed(count, classes, hardly_chance)) continue;
    if (static_cast<double>(moved) <= far_better * static_cast<double>(now)) continue;
    return "the labels do not seem to be numbered as the model's classes are: it is right on " + in_percent(now, count) +
           " of the samples, and on " + in_percent(moved, count) + " with every label " +
           (offset > 0 ? "greater by one (label_offset: 1 beside the labels, for models whose class 0 is the background)"
                       : "smaller by one (label_offset: -1 beside the labels, or 0 where it is 1)");
  }
  if (static_cast<double>(now) > guessed(count, classes, may_be_chance)) return "";
  return "the float model is right on " + in_percent(now, count) + " of the samples, which guessing among " +
         std::to_string(classes) +
         " classes reaches too: scores by labels say nothing. Do the labels have the model's numbers (label_offset), and are the "
         "samples prepared as in its training (mean, std, order of channels)?";
}

}  // namespace quasar::eval
