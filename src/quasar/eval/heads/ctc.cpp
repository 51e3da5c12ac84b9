// Connectionist temporal classification (Graves et al. 2006) and other sequences of classes: [1, time, classes] or
// [time, 1, classes]. On samples CTC shows itself: the first or the last class, the blank, is the most frequent answer and stands
// between others. Padding at the end is no blank: then places are compared one by one.
#include <algorithm>
#include <map>

#include "quasar/eval/head.hpp"
#include "quasar/eval/head_facts.hpp"

namespace quasar::eval::heads {
namespace {

struct Sequence {
  int64_t length = -1, classes = -1;
  bool time_first = false;
};

std::optional<Sequence> sequence_of(const HeadFacts& facts, const HeadOutput& output) {
  const Shape& shape = output.shape;
  if (!output.is_float() || shape.size() != 3 || shape[2] < 3) return std::nullopt;
  const bool batch_first = shape[0] == 1;
  if (!batch_first && shape[1] != 1) return std::nullopt;
  const int64_t length = batch_first ? shape[1] : shape[0];
  if ((length >= 0 && length < 2) || facts.is_token_length(length)) return std::nullopt;
  return Sequence{length, shape[2], !batch_first};
}

std::vector<int64_t> answers_in(std::span<const float> values, size_t classes) {
  std::vector<int64_t> out;
  for (size_t start = 0; start + classes <= values.size(); start += classes) {
    const auto place = values.subspan(start, classes);
    out.push_back(std::ranges::max_element(place) - place.begin());
  }
  return out;
}

// Whether it stands between answers of other classes somewhere.
bool stands_between(const std::vector<int64_t>& answers, int64_t blank) {
  const auto other = [&](int64_t one) { return one != blank; };
  const auto first = std::ranges::find_if(answers, other);
  const auto last = std::find_if(answers.rbegin(), answers.rend(), other).base();
  return first != answers.end() && std::find(first, last, blank) != last;
}

struct Habit {
  int64_t most_frequent = 0;
  bool between = false, several = false;  // several: classes that were answered
};

Habit habit_of(const HeadFacts& facts, const HeadOutput& output, size_t classes) {
  std::map<int64_t, size_t> counts;
  std::vector<std::vector<int64_t>> all;
  for (size_t sample = 0; sample < facts.samples(); ++sample) {
    all.push_back(answers_in(facts.values(sample, output), classes));
    for (const int64_t one : all.back()) ++counts[one];
  }
  const int64_t most = std::ranges::max_element(counts, {}, [](const auto& one) { return one.second; })->first;
  return {most, std::ranges::any_of(all, [&](const auto& one) { return stands_between(one, most); }), counts.size() > 1};
}

// Whether the steps are cut out of one vector: places of fixed meaning, not time.
bool is_cut_from_a_vector(const HeadFacts& facts, const HeadOutput& output, const Sequence& sequence) {
  std::string value = output.name;
  for (int step = 0; step < 6; ++step) {
    const graph::Node* node = facts.index().producer(value);
    if (node == nullptr || node->inputs.empty()) return false;
    value = node->inputs.front();
    const Shape* shape = facts.shape_of(value);
    if (!node->is("Reshape") || shape == nullptr) continue;
    if (std::ranges::find(*shape, sequence.length * sequence.classes) != shape->end()) return true;
  }
  return false;
}

// Without samples: the length follows the picture's width, or the layout is that of a recurrent network.
bool follows_width(const HeadFacts& facts, const Sequence& sequence) {
  if (sequence.time_first) return true;
  if (!facts.picture()) return false;
  const int64_t width = facts.picture()->width;
  if (sequence.length < 0) return width < 0;
  for (const int64_t stride : {2, 4, 8}) {
    if (width > 0 && std::abs(width / stride - sequence.length) <= 1) return true;
  }
  return false;
}

std::optional<Claim> claim_of_ctc(const HeadFacts& facts) {
  const HeadOutput* output = facts.only();
  const auto sequence = output == nullptr ? std::nullopt : sequence_of(facts, *output);
  if (!sequence) return std::nullopt;
  const bool probabilities = facts.are_probabilities(*output, 2);
  if (!probabilities && !facts.is_affine(facts.maker(*output, 2))) return std::nullopt;
  Claim claim{{.name = "ctc",
               .why = "output " + in_words(*output) + ": " + (probabilities ? "probabilities" : "scores") + " of " +
                      std::to_string(sequence->classes) + " classes for every step",
               .outputs = {output->name},
               .metric = "sequence_accuracy(truth=float)"}};
  if (facts.samples() == 0) {
    claim.sure = follows_width(facts, *sequence) && !is_cut_from_a_vector(facts, *output, *sequence);
    claim.head.why += claim.sure ? "; samples tell which class is the blank" : "; samples tell whether one class is a blank";
    return claim;
  }
  const Habit habit = habit_of(facts, *output, static_cast<size_t>(sequence->classes));
  const bool blank = habit.most_frequent == 0 || habit.most_frequent + 1 == sequence->classes;
  if (blank && habit.between) {
    claim.head.why +=
        "; class " + std::to_string(habit.most_frequent) + " is the most frequent and stands between others: the blank";
    claim.head.metric = "sequence_accuracy(truth=float,blank=" + std::to_string(habit.most_frequent) + ")";
    return claim;
  }
  claim.head.name = "sequence";
  claim.head.why += "; none of them is a blank between others";
  claim.head.metric = "token_accuracy(truth=float)";
  claim.sure = habit.several;
  return claim;
}

}  // namespace

Entry<HeadKind> ctc() {
  return kind_of("CTC: classes over time with a blank, [1,time,classes] or [time,1,classes]; or a sequence of classes without",
                 claim_of_ctc);
}

}  // namespace quasar::eval::heads
