#include "quasar/eval/label_doubt.hpp"

#include <algorithm>
#include <cmath>

#include "quasar/base/digits.hpp"
#include "quasar/eval/boxes.hpp"

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

// Labels that are greater or smaller by one and fit far better; "": none do. `things`: what the answers are of.
std::string other_numbering(std::span<const int32_t> answers, std::span<const int64_t> labels, size_t classes,
                            const std::string& things) {
  const size_t now = hits(answers, labels, 0);
  for (const int64_t offset : {1, -1}) {
    const size_t moved = hits(answers, labels, offset);
    if (static_cast<double>(moved) <= guessed(labels.size(), classes, hardly_chance)) continue;
    if (static_cast<double>(moved) <= far_better * static_cast<double>(now)) continue;
    return "the labels do not seem to be numbered as the model's classes are: it is right on " + in_percent(now, labels.size()) +
           " of the " + things + ", and on " + in_percent(moved, labels.size()) + " with every label " +
           (offset > 0 ? "greater by one (label_offset: 1 beside the labels, for models whose class 0 is the background)"
                       : "smaller by one (label_offset: -1 beside the labels, or 0 where it is 1)");
  }
  return "";
}

// The best detection at the place of a box; nullptr: there is none.
const Detection* detection_at(const std::vector<Detection>& found, const data::Box& box) {
  constexpr double same_place = 0.5;
  const Detection there{box.left, box.top, box.right, box.bottom};
  const auto at = std::ranges::find_if(found, [&](const Detection& one) { return iou(one, there) >= same_place; });
  return at == found.end() ? nullptr : &*at;
}

}  // namespace

bool are_classes(std::span<const int32_t> answers, std::span<const int64_t> labels, size_t classes) {
  return classes > 1 && static_cast<double>(hits(answers, labels, 0)) > guessed(labels.size(), classes, hardly_chance);
}

std::string label_doubt(std::span<const int32_t> answers, std::span<const int64_t> labels, size_t classes) {
  const size_t count = labels.size();
  if (count < fewest_labels || classes < 2) return "";
  if (std::string other = other_numbering(answers, labels, classes, "samples"); !other.empty()) return other;
  const size_t now = hits(answers, labels, 0);
  if (static_cast<double>(now) > guessed(count, classes, may_be_chance)) return "";
  return "the float model is right on " + in_percent(now, count) + " of the samples, which guessing among " +
         std::to_string(classes) +
         " classes reaches too: scores by labels say nothing. Do the labels have the model's numbers (label_offset), and are the "
         "samples prepared as in its training (mean, std, order of channels)?";
}

std::string box_doubt(std::span<const std::vector<Detection>> found, std::span<const data::Boxes> boxes) {
  constexpr double hardly_any = 0.02;
  size_t count = 0;
  std::vector<int32_t> answers;
  std::vector<int64_t> labels;
  int64_t greatest = 1;
  for (size_t i = 0; i < boxes.size(); ++i) {
    for (const data::Box& box : boxes[i]) {
      if (box.crowd) continue;
      ++count;
      const Detection* const there = detection_at(found[i], box);
      if (there == nullptr) continue;
      answers.push_back(static_cast<int32_t>(there->label));
      labels.push_back(box.label);
      greatest = std::max({greatest, there->label, box.label});
    }
  }
  if (count < fewest_labels) return "";
  if (static_cast<double>(answers.size()) < hardly_any * static_cast<double>(count))
    return "where " + std::to_string(count) + " boxes are labelled the float model finds " +
           (answers.empty() ? std::string("nothing") : "something at " + std::to_string(answers.size())) +
           ": scores by them say nothing. Are they in pixels of the model's input, is `decoder` the one of its head, and are the "
           "samples prepared as in its training (mean, std, order of channels)?";
  if (answers.size() < fewest_labels) return "";
  return other_numbering(answers, labels, static_cast<size_t>(greatest) + 1, "labelled boxes that it finds");
}

}  // namespace quasar::eval
