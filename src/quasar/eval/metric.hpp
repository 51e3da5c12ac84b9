// Metrics: one file each in metrics/. Most are a mean over samples; the others are made of what every sample contributes.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quasar/base/api.hpp"
#include "quasar/base/direction.hpp"
#include "quasar/base/plugin.hpp"
#include "quasar/data/annotations.hpp"

namespace quasar::eval {

using quasar::Direction;

// What a metric must know of a sample besides the outputs: nothing, its class, its boxes, or a class per place or pixel.
enum class Truth { none, label, boxes, target };

class Decoder;
class OutputParts;

// What all samples share.
struct Context {
  double low = 0, high = 0;            // range of the float model's outputs over the whole evaluation set
  const Decoder* decoder = nullptr;    // what turns outputs into detections; null: none was named
  const OutputParts* parts = nullptr;  // of the outputs (parts.hpp); null: all values are one
};

// How values belong to outputs, and what the model was fed.
struct Layout {
  std::vector<Shape> outputs, inputs;  // in the model's order
  bool operator==(const Layout&) const = default;
};

// All outputs of one sample, flattened and concatenated, from the float model and from the candidate, and what is true of it as
// far as the data tell. Pointers may be null: no layout means one output that is a vector.
struct Pair {
  std::span<const float> reference, candidate;
  std::optional<int64_t> label = {};
  const Layout* layout = nullptr;
  const data::Boxes* boxes = nullptr;
  const Tensor* target = nullptr;
  const std::map<std::string, Tensor>* inputs = nullptr;  // what the model was fed, of the inputs that metrics look at
  size_t index = 0;                                       // of the sample, for messages
  std::optional<Layout> own = {};  // the candidate's layout where it found another number of boxes; left out: `layout`
};

class PooledMetric;

// One of the model's inputs whose values a metric looks at.
struct WantedInput {
  std::string name;
  std::string option;        // of the metric, by which the user may name another one
  std::string instead = "";  // what can be done where the model has none of this name; "": the metric does without
};

class QUASAR_API Metric {
 public:
  virtual ~Metric() = default;
  virtual Direction direction() const = 0;
  virtual Truth needs() const { return Truth::none; }
  virtual bool compares_to_float() const { return needs() == Truth::none; }  // the float model itself has its best value
  virtual bool needs_decoder() const { return false; }
  virtual std::vector<WantedInput> looks_at() const { return {}; }
  virtual bool ranks_classes() const { return false; }  // of one output: values of several have no common order
  virtual bool is_proportion() const { return false; }  // per-sample values are 0 or 1: Wilson's interval

  // The best value that any sample can have (0 for a distance, 1 for a share). nullopt: there is none, or the metric is no mean
  // over samples; its trials are never given up early.
  virtual std::optional<double> best_possible() const { return std::nullopt; }

  // Of a metric in dB the value of equal outputs, of which no share is worth naming; nullopt: it is in another unit.
  virtual std::optional<double> decibels_of_equal() const { return std::nullopt; }

  // The sample's value. Throws Error when outputs or labels are not what the metric is for.
  virtual double of(const Pair& sample, const Context& context) const = 0;

  // Itself when it is no mean over samples, else null.
  virtual const PooledMetric* pooled() const { return nullptr; }
};

// The metric of many samples, some drawn more than once.
class QUASAR_API Pool {
 public:
  virtual ~Pool() = default;
  // counts[i]: how often sample i is in. The same counts give the same value.
  virtual double value(std::span<const uint32_t> counts) const = 0;
};

// What one sample contributes, in a form of the metric's own.
using Part = std::vector<double>;

class QUASAR_API PooledMetric : public Metric {
 public:
  virtual Part part(const Pair& sample, const Context& context) const = 0;
  // The parts live as long as the pool.
  virtual std::unique_ptr<Pool> pool(std::span<const Part> parts) const = 0;

  double of(const Pair& sample, const Context& context) const final {
    const Part only[] = {part(sample, context)};
    const uint32_t once[] = {1};
    return pool(only)->value(once);
  }
  const PooledMetric* pooled() const final { return this; }
};

// A metric as users write it: a name, or with options: "top1", "topk(k=3)", "mAP(iou=0.5,truth=float)"; in a configuration also
// {name: topk, k: 3}. -> the text with the metric's own name and the options that differ from their defaults, by which it is
// known in results. Throws Error for unknown metrics and options, naming `owner`.
QUASAR_API std::string metric_text(const Json& words, const std::string& owner = "metric");

// From such a text. Throws Error as metric_text().
QUASAR_API std::unique_ptr<Metric> make_metric(const std::string& text);

// Options that `suggested` gives (the metric of a model's head) and `metric` knows too and leaves out, as "blank=0"; not those
// with a default. Both are texts as metric_text() makes them.
std::vector<std::string> options_left_out(const std::string& metric, const std::string& suggested);

// A name that is a metric's, whatever its options; false for names of costs.
QUASAR_API bool is_metric(const std::string& text);

// The same for names in results, as metric_text() makes them: other names of a metric ("accuracy", "wer") may be those of custom
// evaluators there.
bool is_metric_in_results(const std::string& text);

}  // namespace quasar::eval

namespace quasar::eval::metrics {
QUASAR_API const Table<Metric>& table();
}
