#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>

#include "quasar/base/error.hpp"
#include "quasar/base/machine.hpp"
#include "quasar/base/parallel.hpp"
#include "quasar/runtime/observed_session.hpp"
#include "quasar/runtime/prepare.hpp"
#include "quasar/stats/accumulator.hpp"
#include "quasar/stats/channels.hpp"
#include "quasar/stats/statistics.hpp"

namespace quasar::stats {
namespace {

size_t index_of(const std::vector<graph::Value>& values, const std::string& name) {
  const auto found = std::find_if(values.begin(), values.end(), [&](const graph::Value& value) { return value.name == name; });
  return static_cast<size_t>(found - values.begin());
}

// Gives the named values for a sample: graph inputs as they are, the others from a run.
class Source {
 public:
  Source(const graph::Model& model, const std::vector<std::string>& names) : names_(names) {
    std::vector<std::string> inner;
    for (size_t i = 0; i < names.size(); ++i) {
      const size_t input = index_of(model.inputs, names[i]);
      if (input < model.inputs.size()) {
        given_.push_back({i, input});
      } else {
        computed_.push_back(i);
        inner.push_back(names[i]);
      }
    }
    if (inner.empty()) return;
    session_.emplace(model, inner);
    for (const auto& input : session_->inputs()) fed_.push_back(index_of(model.inputs, input.name));
  }

  const std::vector<std::string>& names() const { return names_; }

  // Shows every value of the sample by its place among the names.
  void show(const data::Sample& sample, const runtime::Observer& see) const {
    for (const auto& [value, input] : given_) see(value, sample.at(input));
    if (!session_) return;
    std::vector<Tensor> inputs;
    for (const size_t input : fed_) inputs.push_back(sample.at(input));
    session_->run(inputs, [&](size_t number, const Tensor& value) { see(computed_[number], value); });
  }

 private:
  struct Given {
    size_t value, input;
  };
  std::vector<std::string> names_;
  std::vector<Given> given_;
  std::vector<size_t> computed_;
  std::optional<runtime::ObservedSession> session_;
  std::vector<size_t> fed_;  // the model's input for each of the session's
};

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

// What is kept of a value of one sample until its turn comes.
struct Seen {
  Summary summary;
  Shape shape;
  std::optional<ChannelAccumulator> channels;
  bool is_wrong = false;
  size_t times = 0;  // of a body's value, which a sample may show never or several times

  void merge(Seen other) {
    if (times == 0) return void(*this = std::move(other));
    const bool first = summary.count == 0, nothing = other.summary.count == 0;
    if (!nothing) summary.low = first ? other.summary.low : std::min(summary.low, other.summary.low);
    if (!nothing) summary.high = first ? other.summary.high : std::max(summary.high, other.summary.high);
    summary.sum += other.summary.sum;
    summary.sum_squares += other.summary.sum_squares;
    summary.count += other.summary.count;
    summary.not_finite += other.summary.not_finite;
    if (shape.size() != other.shape.size()) shape.clear();
    for (size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] != other.shape[i]) shape[i] = -1;
    }
    if (channels) channels->add(*other.channels);
    is_wrong = is_wrong || other.is_wrong;
    times += other.times;
  }
};

// A value over the samples. Histograms are the same in whatever order samples come; the rest is added in the samples' order.
struct Running {
  explicit Running(const Requests& requests) : all(requests) {}

  Accumulator all;
  std::optional<ChannelAccumulator> channels;
  std::mutex counting;
};

// One pass over the samples: they are run in parallel, and every value is looked at as soon as it is computed.
class Pass {
 public:
  struct Ground {
    const Source& source;
    const data::Dataset& samples;
    const std::map<std::string, Place>& ends;
    Parts& parts;
  };

  Pass(const Ground& ground, const Requests& requests, const std::map<std::string, int>& axes, size_t threads)
      : source_(ground.source),
        samples_(ground.samples),
        ends_(ground.ends),
        parts_(ground.parts),
        threads_(threads == 0 ? cores() : threads) {
    for (const auto& name : source_.names()) {
      auto& running = running_.emplace_back(std::make_unique<Running>(requests));
      if (const auto axis = axes.find(name); axis != axes.end()) running->channels.emplace(axis->second);
    }
  }

  // Observes the samples up to `end`.
  void advance(size_t end) {
    const size_t most = samples_per_thread * threads_;
    while (next_ < end) {
      std::vector<std::vector<Seen>> seen(std::min(most, end - next_));
      parallel_for(seen.size(), threads_, [&](size_t i) { seen[i] = look_at(samples_.at(next_ + i)); });
      for (const auto& sample : seen) {
        add(sample);
        ++next_;
      }
    }
  }

  TensorStats seen(size_t value) const {
    const Running& running = *running_[value];
    TensorStats out = running.all.result();
    if (running.channels) out.channels = running.channels->result();
    return out;
  }

 private:
  static constexpr size_t samples_per_thread = 8;  // between two times that threads wait for each other

  std::vector<Seen> look_at(const data::Sample& sample) {
    std::vector<Seen> out(running_.size());
    source_.show(sample, [&](size_t v, const Tensor& value) { out[v].merge(looked_at(v, value)); });
    parts_.done();
    return out;
  }

  Seen looked_at(size_t v, const Tensor& value) {
    const std::string& name = source_.names()[v];
    if (value.type() != DataType::float32)
      throw Error("statistics are kept of float32 values only, but '" + name + "' is " + std::string(name_of(value.type())));
    Running& running = *running_[v];
    const auto values = value.as<float>();
    Seen out;
    out.summary = summarize(values);
    out.shape = value.shape();
    {
      const std::lock_guard lock(running.counting);
      running.all.count(values, out.summary);
    }
    if (running.channels) {
      out.channels = running.channels->of_the_same_axis();
      out.channels->add(value, name);
    }
    const auto is_wrong = [place = place_of(name)](float x) { return !is_allowed(x, place); };
    out.times = 1;
    out.is_wrong = out.summary.not_finite > 0 && std::ranges::any_of(values, is_wrong);
    return out;
  }

  void add(const std::vector<Seen>& sample) {
    for (size_t v = 0; v < sample.size(); ++v) {
      if (sample[v].times == 0) continue;
      Running& running = *running_[v];
      running.all.add(sample[v].summary);
      running.all.note_shape(sample[v].shape);
      if (running.channels) running.channels->add(*sample[v].channels);
    }
    const auto wrong = std::ranges::find(sample, true, &Seen::is_wrong);
    if (wrong == sample.end()) return;
    const std::string& name = source_.names()[static_cast<size_t>(wrong - sample.begin())];
    throw Error("sample " + std::to_string(next_) + " of " + samples_.source() + ": '" + name + "' has values that are " +
                std::string(what_is_wrong(place_of(name))) + "; such a model or sample cannot be calibrated");
  }

  Place place_of(const std::string& value) const {
    const auto end = ends_.find(value);
    return end == ends_.end() ? Place::inside : end->second;
  }

  const Source& source_;
  const data::Dataset& samples_;
  const std::map<std::string, Place>& ends_;
  Parts& parts_;
  size_t threads_;
  std::vector<std::unique_ptr<Running>> running_;
  size_t next_ = 0;
};

// By output of a Softmax: its shape as far as the model fixes it.
std::map<std::string, Shape> declared_softmaxes(const graph::Model& model, const std::vector<std::string>& values) {
  std::vector<std::string> outputs;
  for (const auto& node : model.nodes) {
    if (node.is("Softmax") && std::ranges::find(values, node.outputs.front()) != values.end())
      outputs.push_back(node.outputs.front());
  }
  std::map<std::string, Shape> out;
  for (const auto& [name, value] : runtime::value_types(model, outputs)) out[name] = value.shape.value_or(Shape{});
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
  refuse_nothing(samples.at(0), samples);
  const std::map<std::string, Shape> softmaxes = declared_softmaxes(model, values);  // before the other session takes its memory
  const Source source(model, values);
  Parts parts(options.progress, "calibration", samples.size());
  Pass pass({source, samples, ends, parts}, requests, options.axes, options.threads);
  for (const size_t stop : stops) {
    pass.advance(stop);
    for (size_t i = 0; i < values.size(); ++i) {
      TensorStats& seen = result[stop][values[i]] = pass.seen(i);
      if (const auto known = softmaxes.find(values[i]); known != softmaxes.end()) open_sizes(known->second, seen.shape);
    }
  }
  return result;
}

}  // namespace quasar::stats
