#include "quasar/eval/answers.hpp"

#include <algorithm>

#include "quasar/base/error.hpp"

namespace quasar::eval {

std::vector<int64_t> answers_of(std::span<const float> values, const Layout* layout, ClassAxis axis, const std::string& owner) {
  const Shape shape = layout == nullptr || layout->outputs.empty() ? Shape{} : layout->outputs.front();
  const bool time_first = axis == ClassAxis::last && shape.size() == 3 && shape[1] == 1;
  if (shape.size() < 3 || (shape[0] != 1 && !time_first)) {
    throw Error(owner + " expects an output with one axis of classes besides its places, such as " +
                (axis == ClassAxis::last ? "[1,length,classes]" : "[1,classes,height,width]") + ", found " + to_string(shape));
  }
  const auto classes = static_cast<size_t>(axis == ClassAxis::last ? shape.back() : shape[1]);
  if (classes == 1) {
    throw Error(
        owner + " chooses among classes, but the output " + to_string(shape) + " has one value at each place" +
        (axis == ClassAxis::channels ? "; classes=threshold compares it with threshold (0.5; of logits threshold=0)" : ""));
  }
  const size_t places = classes == 0 ? 0 : count_of(shape) / classes;
  const size_t step = axis == ClassAxis::last ? 1 : places;
  std::vector<int64_t> out;
  for (size_t i = 0; i < places; ++i) {
    const float* at = values.data() + (axis == ClassAxis::last ? i * classes : i);
    size_t best = 0;
    for (size_t c = 1; c < classes; ++c) best = at[c * step] > at[best * step] ? c : best;
    out.push_back(static_cast<int64_t>(best));
  }
  return out;
}

std::vector<int64_t> truth_of(const Pair& sample, bool as_float, ClassAxis axis, size_t places, const std::string& owner) {
  if (as_float) return answers_of(sample.reference, sample.layout, axis, owner);
  const auto labels = sample.target->as<int64_t>();
  if (labels.size() != places) {
    throw Error(owner + ": a sample has labels of shape " + to_string(sample.target->shape()) + ", " +
                std::to_string(labels.size()) + " in all, but the model answers for " + std::to_string(places) + " places");
  }
  return {labels.begin(), labels.end()};
}

std::vector<int64_t> ctc_text(std::vector<int64_t> classes, int64_t blank) {
  const auto repeats = std::ranges::unique(classes);
  classes.erase(repeats.begin(), repeats.end());
  std::erase(classes, blank);
  return classes;
}

OptionSpec blank_option() {
  return {"blank", nullptr, "CTC's blank class: repeats are merged and blanks dropped; left out: no CTC"};
}

std::vector<int64_t> without_ignored(const Tensor& labels, int64_t ignore) {
  const auto values = labels.as<int64_t>();
  std::vector<int64_t> out(values.begin(), values.end());
  std::erase(out, ignore);
  return out;
}

std::optional<int64_t> class_option(const Options& options, const std::string& name, const std::string& owner) {
  if (!options.has(name)) return std::nullopt;
  if (!options.json(name).is_number_integer() || options.json(name) < 0)
    throw Error(owner + ": option '" + name + "' is " + options.json(name).dump() + ", but must be a class, 0 or greater");
  return options.integer(name);
}

bool masks_other_places(const Shape& mask, const std::vector<Shape>& inputs, int64_t places) {
  if (mask.size() != 2 || places < 0 || mask[1] <= places) return false;
  const auto has_as_many = [&](const Shape& input) {
    return (input.size() == 2 || input.size() == 3) && input[0] == mask[0] && input[1] == mask[1];
  };
  return std::ranges::count_if(inputs, has_as_many) > 1;
}

PlaceMask::PlaceMask(const Options& options) : input_(options.text("mask")), asked_(options.given("mask")) {}

OptionSpec PlaceMask::option() {
  return {"mask", "attention_mask",
          "the model's input that is 0 at padded places, which do not count, where it has one; none: all places count"};
}

std::vector<WantedInput> PlaceMask::looks_at() const {
  if (input_ == "none") return {};
  return {{input_, "mask", asked_ ? "none: all places count" : ""}};
}

std::vector<bool> PlaceMask::of(const Pair& sample, size_t rows, size_t places, const std::string& owner) const {
  std::vector<bool> out(rows * places, true);
  if (input_ == "none" || sample.inputs == nullptr) return out;
  const auto found = sample.inputs->find(input_);
  if (found == sample.inputs->end()) return out;
  const Shape& shape = found->second.shape();
  if (!asked_ && sample.layout != nullptr && masks_other_places(shape, sample.layout->inputs, static_cast<int64_t>(places)))
    return out;
  const std::vector<double> mask = to_doubles(found->second);
  const size_t columns = rows == 0 ? 0 : mask.size() / rows;
  if (columns < places || columns * rows != mask.size() || shape.size() != 2) {
    throw Error(owner + ": the input '" + input_ + "' " + to_string(shape) + " does not mask " + std::to_string(rows) + " x " +
                std::to_string(places) + " places (sample " + std::to_string(sample.index) + "); mask=none counts all places");
  }
  for (size_t i = 0; i < out.size(); ++i) out[i] = mask[i / places * columns + columns - places + i % places] > 0;
  return out;
}

OptionSpec truth_option() {
  return {.name = "truth",
          .fallback = "labels",
          .help = "what is right: the labels, or what the float model answers",
          .choices = {"labels", "float"}};
}

}  // namespace quasar::eval
