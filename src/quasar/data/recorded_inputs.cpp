#include "quasar/data/recorded_inputs.hpp"

#include <algorithm>

#include "quasar/base/names.hpp"

namespace quasar::data {
namespace {

bool is_cache_name(const std::string& name) {
  const std::string word = normalized(name);
  return word.starts_with("past") || word.find("cache") != std::string::npos || name.ends_with(".key") ||
         name.ends_with(".value");
}

// Of a recurrent layer; hidden states are what another model gives.
bool is_state_name(const std::string& name) {
  const std::string word = normalized(name);
  return word.find("hiddenstates") == std::string::npos && word.find("state") != std::string::npos;
}

// The shape of a cache that holds nothing; "" for an input that cannot be empty.
std::string empty_shape(const graph::Value& input) {
  const auto is_open = [](int64_t size) { return size < 0; };
  if (!input.shape || input.shape->size() < 3 || std::none_of(input.shape->begin() + 1, input.shape->end(), is_open)) return "";
  std::string shape = "samples";
  for (size_t k = 1; k < input.shape->size(); ++k) shape += "," + std::to_string(std::max<int64_t>(0, (*input.shape)[k]));
  return "[" + shape + "]";
}

}  // namespace

std::string how_to_record(const graph::Value& input) {
  if (is_cache_name(input.name)) {
    const std::string shape = empty_shape(input);
    return (shape.empty() ? "" : "; for a cache that is empty at first, add an array of the shape " + shape) +
           "; what a cache holds at later tokens is recorded by quasar.cache_samples() in Python, and for several models by "
           "quasar.pipeline_samples() (docs/language.md)";
  }
  if (!is_state_name(input.name)) return "";
  return "; a state is zeros at first, and then what the model gave for the sample before: run the float model (quasar.Session "
         "in "
         "Python), and store its output beside the next sample (docs/language.md)";
}

}  // namespace quasar::data
