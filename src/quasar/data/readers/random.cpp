// Seeded random samples: for a first try, for timing and for tests; scales calibrated on them mean little.
#include <algorithm>
#include <array>
#include <cmath>

#include "quasar/base/hash.hpp"
#include "quasar/base/rng.hpp"
#include "quasar/data/options.hpp"
#include "quasar/data/reader.hpp"

namespace quasar::data::readers {
namespace {

const std::string random_reader = "reader random";

struct Source {
  DataType type;
  Shape shape;
  bool real;  // else whole numbers
  bool normal;
  double low, high;
};

Tensor draw_reals(const Source& source, Rng& rng) {
  const size_t count = count_of(source.shape);
  const std::shared_ptr<float[]> values(new float[count]);
  for (size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(source.normal ? rng.normal() : rng.uniform(source.low, source.high));
  }
  return {DataType::float32, source.shape, values, values.get()};
}

Tensor draw_integers(const Source& source, Rng& rng) {
  const auto lowest = static_cast<int64_t>(source.low);
  const uint64_t choices = static_cast<uint64_t>(static_cast<int64_t>(source.high) - lowest) + 1;
  const size_t count = count_of(source.shape);
  const std::shared_ptr<int64_t[]> values(new int64_t[count]);
  for (size_t i = 0; i < count; ++i) values[i] = lowest + static_cast<int64_t>(rng.below(choices));
  return {DataType::int64, source.shape, values, values.get()};
}

// Sample i depends on the seed, i and the input's place only, so nothing is kept.
class RandomDataset : public Dataset {
 public:
  RandomDataset(std::vector<Source> sources, size_t count, uint64_t seed)
      : sources_(std::move(sources)), count_(count), seed_(seed) {}

  size_t size() const override { return count_; }
  std::string source() const override { return "random samples"; }
  std::optional<int64_t> label(size_t) const override { return std::nullopt; }

  Sample at(size_t index) const override {
    Sample sample;
    for (size_t input = 0; input < sources_.size(); ++input) {
      Rng rng(seed_of(seed_of(seed_, index), input));
      const Source& source = sources_[input];
      const Tensor values = source.real ? draw_reals(source, rng) : draw_integers(source, rng);
      sample.push_back(values.type() == source.type ? values : converted(values, source.type));
    }
    return sample;
  }

 private:
  std::vector<Source> sources_;
  size_t count_;
  uint64_t seed_;
};

class Random : public Reader {
 public:
  explicit Random(const Options& options) : options_(options) { reject_batches(options, random_reader); }

  DatasetPtr open(const std::vector<graph::Value>& inputs, const std::filesystem::path&) const override {
    check_inputs(inputs);
    check_input_names(options_, {"shapes", "low", "high"}, inputs, random_reader);
    std::vector<Source> sources;
    const bool all_real = std::ranges::all_of(inputs, [](const graph::Value& input) { return is_floating(input.type); });
    for (const auto& input : inputs) sources.push_back(source_of(input, all_real));
    const auto count = static_cast<size_t>(integer_option(options_, "count", 100));
    const auto limit = static_cast<size_t>(integer_option(options_, "limit", 0));
    const auto seed = static_cast<uint64_t>(integer_option(options_, "seed", 0));
    return std::make_shared<RandomDataset>(std::move(sources), limit == 0 ? count : std::min(count, limit), seed);
  }

 private:
  Source source_of(const graph::Value& input, bool all_real) const {
    const double low = bound(input, "low", 0), high = bound(input, "high", 1);
    if (low > high) {
      throw Error(random_reader + ": low " + Json(low).dump() + " is above high " + Json(high).dump() + " for the input '" +
                  input.name + "'");
    }
    const bool real = is_floating(input.type);
    if (!real) check_range(input, low, high);
    const std::string distribution = options_.text("distribution");
    const bool normal = distribution.empty() ? !has_bounds(input, all_real) : distribution == "normal";
    Shape shape = shape_of(input);
    check_room(input, real ? DataType::float32 : DataType::int64, shape);
    return {input.type, std::move(shape), real, normal, low, high};
  }

  // Bounds for all inputs may be meant for the integer ones alone, where there are some.
  bool has_bounds(const graph::Value& input, bool all_real) const {
    return std::ranges::any_of(std::array{"low", "high"}, [&](const char* name) {
      const bool own = options_.has(name) && options_.json(name).is_object();
      return option_for(options_, name, input) != nullptr && (own || all_real);
    });
  }

  double bound(const graph::Value& input, const std::string& name, double fallback) const {
    const Json* value = option_for(options_, name, input);
    if (value == nullptr) return fallback;
    if (value->is_number() && std::isfinite(value->get<double>())) return value->get<double>();
    throw Error(random_reader + ": option '" + name + "' is " + value->dump() + ", but must be a number");
  }

  static void check_range(const graph::Value& input, double low, double high) {
    for (const double value : {low, high}) {
      const bool whole = std::floor(value) == value && std::abs(value) <= 0x1p53;
      if (whole && to_doubles(converted(Tensor::scalar(value), input.type))[0] == value) continue;
      throw Error(random_reader + ": " + Json(value).dump() + " (low or high) is no " + std::string(name_of(input.type)) +
                  ", which the input '" + input.name + "' needs");
    }
  }

  // The model's shape with 1 for sizes that are not fixed, or the given one.
  Shape shape_of(const graph::Value& input) const {
    const Json* given = option_for(options_, "shapes", input);
    if (given != nullptr) return given_shape(*given, input);
    if (!input.shape) {
      throw Error(random_reader + ": the input '" + input.name + "' has no known shape; give it with shapes: {" + input.name +
                  ": [...]}");
    }
    Shape shape = *input.shape;
    for (auto& size : shape) size = size < 0 ? 1 : size;
    return shape;
  }

  static Shape given_shape(const Json& given, const graph::Value& input) {
    Shape shape;
    bool valid = given.is_array();
    for (size_t i = 0; valid && i < given.size(); ++i) {
      valid = given[i].is_number_integer() && given[i].get<int64_t>() > 0;
      if (valid) shape.push_back(given[i].get<int64_t>());
    }
    if (valid && input.shape) {
      valid = shape.size() == input.shape->size();
      for (size_t i = 0; valid && i < shape.size(); ++i) valid = (*input.shape)[i] < 0 || (*input.shape)[i] == shape[i];
    }
    if (valid) return shape;
    throw Error(random_reader + ": option 'shapes' gives " + given.dump() + " for the input '" + input.name +
                "', whose shape is " + text_of(input));
  }

  Options options_;
};

}  // namespace

Entry<Reader> random() {
  return {.help = "seeded random samples of the model's shapes, without labels",
          .make = make_as<Random, Reader>,
          .options = {
              {"count", 100, "number of samples", 1},
              constants_option(),
              limit_option(),
              {"seed", 0, "same seed, same samples; a sample does not depend on their number", 0},
              batch_size_option(),
              {.name = "distribution",
               .fallback = "",
               .help = "of floating-point inputs: normal (mean 0, variance 1) or uniform in [low, high); left out: uniform where "
                       "low or high are given for them, else normal",
               .choices = {"normal", "uniform"}},
              {"low", nullptr, "least value (0) where uniform and of integer inputs: a number or {input: number}"},
              {"high", nullptr,
               "greatest value (1) where uniform and of integer inputs, which reach it: a number or {input: number}"},
              {"shapes", Json::object(), "{input: [1, 3, 224, 224]}; left out: the model's, 1 for sizes that are not fixed"}}};
}

}  // namespace quasar::data::readers
