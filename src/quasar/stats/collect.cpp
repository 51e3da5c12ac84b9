#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "quasar/base/error.hpp"
#include "quasar/base/machine.hpp"
#include "quasar/base/parallel.hpp"
#include "quasar/runtime/prepare.hpp"
#include "quasar/runtime/session.hpp"
#include "quasar/stats/accumulator.hpp"
#include "quasar/stats/channels.hpp"
#include "quasar/stats/statistics.hpp"

namespace quasar::stats {
namespace {

constexpr size_t most_bytes_held = size_t{128} << 20;

size_t index_of(const std::vector<graph::Value>& values, const std::string& name) {
  const auto found = std::find_if(values.begin(), values.end(), [&](const graph::Value& value) { return value.name == name; });
  return static_cast<size_t>(found - values.begin());
}

void require_float(const graph::Value& value) {
  if (value.type == DataType::float32) return;
  throw Error("statistics are kept of float32 values only, but '" + value.name + "' is " + std::string(name_of(value.type)));
}

// Gives the named values for a sample: graph inputs as they are, the others from a run.
class Source {
 public:
  Source(const graph::Model& model, std::vector<std::string> names) : names_(std::move(names)) {
    std::vector<std::string> inner;
    for (const auto& name : names_) {
      const size_t input = index_of(model.inputs, name);
      const bool given = input < model.inputs.size();
      if (given) require_float(model.inputs[input]);
      places_.push_back({given, given ? input : inner.size()});
      if (!given) inner.push_back(name);
    }
    if (inner.empty()) return;
    session_.emplace(runtime::tapped(model, inner));
    for (const auto& output : session_->outputs()) require_float(output);
    for (const auto& input : session_->inputs()) fed_.push_back(index_of(model.inputs, input.name));
  }

  const std::vector<std::string>& names() const { return names_; }

  // What the model itself says of a value that it computes; nullopt: not even the rank.
  std::optional<Shape> declared(size_t value) const {
    return places_[value].given ? std::nullopt : session_->outputs().at(places_[value].index).shape;
  }

  std::vector<Tensor> at(const data::Sample& sample) const {
    std::vector<Tensor> outputs;
    if (session_) {
      std::vector<Tensor> inputs;
      for (const size_t input : fed_) inputs.push_back(sample.at(input));
      outputs = session_->run(inputs);
    }
    std::vector<Tensor> values;
    for (const auto& [given, place] : places_) values.push_back(given ? sample.at(place) : outputs.at(place));
    return values;
  }

 private:
  struct Place {
    bool given;
    size_t index;  // of the model's inputs, or of the session's outputs
  };
  std::vector<std::string> names_;
  std::vector<Place> places_;
  std::optional<runtime::Session> session_;
  std::vector<size_t> fed_;  // the model's input for each of the session's
};

std::vector<size_t> sizes_of(const std::vector<Tensor>& values) {
  std::vector<size_t> sizes;
  for (const Tensor& value : values) sizes.push_back(value.bytes().size());
  return sizes;
}

// Where a value stands in the model decides what it may hold besides finite numbers: outputs nothing, inputs −inf (a mask),
// values between them both infinities.
enum class Place { input, inside, output };

bool is_allowed(float x, Place place) {
  if (place == Place::output) return std::isfinite(x);
  return !std::isnan(x) && (place == Place::inside || x < std::numeric_limits<float>::infinity());
}

std::string_view what_is_wrong(Place place) {
  if (place == Place::output) return "not finite (NaN or infinite)";
  return place == Place::input ? "not finite (NaN or +inf)" : "not numbers (NaN)";
}

// One pass over the samples: chunks are run sample by sample in parallel, then every value takes its chunk in the order of the
// samples, values in parallel. So nothing depends on the number of threads, and no thread keeps a histogram of its own.
class Pass {
 public:
  Pass(const Source& source, const data::Dataset& samples, const Requests& requests, const std::map<std::string, Place>& ends,
       const std::map<std::string, int>& axes, size_t threads)
      : source_(source),
        samples_(samples),
        ends_(ends),
        threads_(threads == 0 ? cores() : threads),
        seen_(source.names().size(), Accumulator(requests)),
        channels_(source.names().size()) {
    for (size_t v = 0; v < channels_.size(); ++v) {
      const auto axis = axes.find(source.names()[v]);
      if (axis != axes.end()) channels_[v].emplace(axis->second);
    }
  }

  // Observes the samples up to `end`, at most `chunk` at a time.
  void advance(size_t end, size_t chunk) {
    while (next_ < end) {
      const size_t count = std::min(chunk, end - next_);
      std::vector<std::vector<Tensor>> values(count);
      parallel_for(count, threads_, [&](size_t i) { values[i] = source_.at(samples_.at(next_ + i)); });
      observe(values);
      next_ += count;
    }
  }

  TensorStats seen(size_t value) const {
    TensorStats out = seen_[value].result();
    if (channels_[value]) out.channels = channels_[value]->result();
    return out;
  }

 private:
  void observe(const std::vector<std::vector<Tensor>>& values) {
    constexpr size_t none = std::numeric_limits<size_t>::max();
    std::vector<size_t> bad(seen_.size(), none);
    parallel_for(seen_.size(), threads_, [&](size_t v) {
      for (size_t i = 0; i < values.size() && bad[v] == none; ++i) {
        const size_t before = seen_[v].not_finite();
        seen_[v].add(values[i][v].as<float>());
        seen_[v].note_shape(values[i][v].shape());
        if (channels_[v]) channels_[v]->add(values[i][v], source_.names()[v]);
        if (seen_[v].not_finite() == before) continue;
        const auto is_wrong = [place = place_of(source_.names()[v])](float x) { return !is_allowed(x, place); };
        if (std::ranges::any_of(values[i][v].as<float>(), is_wrong)) bad[v] = next_ + i;
      }
    });
    const auto first = std::min_element(bad.begin(), bad.end());
    if (first == bad.end() || *first == none) return;
    const std::string& name = source_.names()[static_cast<size_t>(first - bad.begin())];
    throw Error("sample " + std::to_string(*first) + " of " + samples_.source() + ": '" + name + "' has values that are " +
                std::string(what_is_wrong(place_of(name))) + "; such a model or sample cannot be calibrated");
  }

  Place place_of(const std::string& value) const {
    const auto end = ends_.find(value);
    return end == ends_.end() ? Place::inside : end->second;
  }

  const Source& source_;
  const data::Dataset& samples_;
  const std::map<std::string, Place>& ends_;
  size_t threads_;
  std::vector<Accumulator> seen_;
  std::vector<std::optional<ChannelAccumulator>> channels_;
  size_t next_ = 0;
};

// By output of a Softmax: its shape as far as the model fixes it.
std::map<std::string, Shape> declared_softmaxes(const graph::Model& model, const Source& source) {
  std::map<std::string, Shape> out;
  std::set<std::string> outputs;
  for (const auto& node : model.nodes) {
    if (node.is("Softmax")) outputs.insert(node.outputs.front());
  }
  for (size_t i = 0; i < source.names().size(); ++i) {
    if (outputs.contains(source.names()[i])) out[source.names()[i]] = source.declared(i).value_or(Shape{});
  }
  return out;
}

void open_sizes(const Shape& declared, Shape& seen) {
  if (declared.size() != seen.size()) seen.clear();
  for (size_t i = 0; i < seen.size(); ++i) {
    if (declared[i] < 0) seen[i] = -1;
  }
}

// An input without values may have its meaning, such as a cache that is empty yet; a sample of nothing else has none.
void refuse_nothing(const data::Sample& sample, const data::Dataset& samples) {
  if (sample.empty() || !std::ranges::all_of(sample, [](const Tensor& tensor) { return tensor.count() == 0; })) return;
  throw Error("sample 0 of " + samples.source() + " holds no values (shape " + to_string(sample.front().shape()) +
              "): there is nothing to calibrate with");
}

// The values in order, in groups whose sizes stay below the limit (or of one value).
std::vector<std::vector<std::string>> grouped(const std::vector<std::string>& names, const std::vector<size_t>& sizes) {
  std::vector<std::vector<std::string>> groups(1);
  size_t bytes = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!groups.back().empty() && bytes + sizes[i] > most_bytes_held) {
      groups.emplace_back();
      bytes = 0;
    }
    groups.back().push_back(names[i]);
    bytes += sizes[i];
  }
  return groups;
}

}  // namespace

std::map<size_t, Statistics> collect(const graph::Model& model, const data::Dataset& samples,
                                     const std::vector<std::string>& values, const Requests& requests,
                                     const CollectOptions& options) {
  if (samples.size() == 0) throw Error(samples.source() + " has no samples to calibrate with");
  std::set<size_t> stops = options.prefixes;
  if (!stops.empty() && (*stops.begin() == 0 || *stops.rbegin() > samples.size())) {
    const size_t wrong = *stops.begin() == 0 ? 0 : *stops.rbegin();
    throw Error("statistics after " + std::to_string(wrong) + " samples were asked for, but " + samples.source() + " has 1 to " +
                std::to_string(samples.size()));
  }
  stops.insert(samples.size());

  std::map<size_t, Statistics> result;
  for (const size_t stop : stops) result[stop];
  std::map<std::string, Place> ends;
  for (const auto& output : model.outputs) ends[output.name] = Place::output;
  for (const auto& input : model.inputs) ends[input.name] = Place::input;
  if (values.empty()) return result;
  std::optional<Source> source(std::in_place, model, values);
  const std::map<std::string, Shape> softmaxes = declared_softmaxes(model, *source);
  const data::Sample first = samples.at(0);
  refuse_nothing(first, samples);
  const std::vector<size_t> sizes = sizes_of(source->at(first));
  const auto groups = grouped(values, sizes);
  size_t at = 0;
  for (const auto& group : groups) {
    if (groups.size() > 1) source.emplace(model, group);
    size_t bytes = 1;
    for (size_t i = 0; i < group.size(); ++i) bytes += sizes[at + i];
    at += group.size();
    const size_t threads = options.threads == 0 ? cores() : options.threads;
    const size_t chunk = std::clamp<size_t>(most_bytes_held / bytes, 1, 4 * threads);
    tell(options.log, Level::debug,
         "calibration: " + std::to_string(group.size()) + " values of " + std::to_string(samples.size()) + " samples, " +
             std::to_string(chunk) + " at a time");
    Pass pass(*source, samples, requests, ends, options.axes, threads);
    for (const size_t stop : stops) {
      pass.advance(stop, chunk);
      for (size_t i = 0; i < group.size(); ++i) {
        TensorStats& seen = result[stop][group[i]] = pass.seen(i);
        if (const auto known = softmaxes.find(group[i]); known != softmaxes.end()) open_sizes(known->second, seen.shape);
      }
    }
  }
  return result;
}

}  // namespace quasar::stats
