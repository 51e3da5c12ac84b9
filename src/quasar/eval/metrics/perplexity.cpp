// Perplexity of a language model: exp(Σ −ln p(token) / n) over the n tokens of all samples. p is the softmax of the logits at the
// place that predicts the token, the first output [batch, positions, vocabulary] (Jelinek et al. 1977). Each sample is a window
// by itself: its first token is not predicted, and no context reaches from one sample into the next.
#include <algorithm>
#include <cmath>

#include "quasar/base/error.hpp"
#include "quasar/data/options.hpp"
#include "quasar/eval/answers.hpp"
#include "quasar/eval/metric.hpp"
#include "quasar/eval/sums.hpp"

namespace quasar::eval::metrics {
namespace {

constexpr const char* metric_perplexity = "metric perplexity";
constexpr double most_nats = 700;  // whose exponential is finite, as databases need it

// Parts are pairs: the sum of losses, the number of tokens.
class PerplexityPool : public Pool {
 public:
  explicit PerplexityPool(std::span<const Part> parts) : parts_(parts) {
    if (std::ranges::all_of(parts, [](const Part& part) { return part[1] == 0; }))
      throw Error(
          std::string(metric_perplexity) +
          ": no sample has a token that the model predicts; samples need two tokens that are neither padding nor ignored");
  }

  double value(std::span<const uint32_t> counts) const override {
    double loss = 0, tokens = 0;
    for (size_t i = 0; i < parts_.size(); ++i) {
      loss += counts[i] * parts_[i][0];
      tokens += counts[i] * parts_[i][1];
    }
    return tokens == 0 ? 0 : std::exp(std::min(most_nats, loss / tokens));
  }

 private:
  std::span<const Part> parts_;
};

// −ln of the token's share in the softmax of these logits, in nats.
double loss_of_token(std::span<const float> logits, size_t token) {
  const double top = logits[arg_max(logits)];
  const double total = sum(logits.size(), [&](size_t i) { return std::exp(logits[i] - top); });
  return std::log(total) + top - logits[token];
}

class Perplexity : public PooledMetric {
 public:
  explicit Perplexity(const Options& options)
      : ids_(options.text("ids")),
        from_labels_(ids_ == "labels"),
        shift_(options.has("shift") ? options.integer("shift")
               : from_labels_       ? 0
                                    : 1),
        ignore_(options.integer("ignore")),
        mask_(options) {
    if (shift_ < 0)
      throw Error(std::string(metric_perplexity) + ": option 'shift' is " + std::to_string(shift_) + ", but must be 0 or more");
  }
  Direction direction() const override { return Direction::minimize; }
  Truth needs() const override { return from_labels_ ? Truth::target : Truth::none; }
  bool compares_to_float() const override { return false; }

  std::vector<WantedInput> looks_at() const override {
    auto wanted = mask_.looks_at();
    if (!from_labels_) wanted.push_back({ids_, "ids", "name the one that holds the tokens, or give ids=labels"});
    return wanted;
  }

  Part part(const Pair& x, const Context&) const override {
    const Shape shape = x.layout == nullptr || x.layout->outputs.empty() ? Shape{} : x.layout->outputs.front();
    if (shape.size() != 3 || shape[2] < 1)
      throw Error(std::string(metric_perplexity) +
                  " needs logits [batch,positions,vocabulary] as the model's first output, found " + to_string(shape));
    const auto rows = static_cast<size_t>(shape[0]), places = static_cast<size_t>(shape[1]),
               vocabulary = static_cast<size_t>(shape[2]), shift = static_cast<size_t>(shift_);
    const std::vector<int64_t> ids = ids_of(x, shape);
    const std::vector<bool> counts = mask_.of(x, rows, places, metric_perplexity);
    double loss = 0, tokens = 0;
    for (size_t at = 0; at < rows * places; ++at) {
      if (at % places < shift || !counts[at] || !counts[at - shift] || ids[at] == ignore_) continue;
      check_id(x, ids[at], at % places, vocabulary);
      loss += loss_of_token(x.candidate.subspan((at - shift) * vocabulary, vocabulary), static_cast<size_t>(ids[at]));
      tokens += 1;
    }
    return {loss, tokens};
  }
  std::unique_ptr<Pool> pool(std::span<const Part> parts) const override { return std::make_unique<PerplexityPool>(parts); }

 private:
  // One for each place of the logits.
  std::vector<int64_t> ids_of(const Pair& x, const Shape& logits) const {
    const Tensor* ids = from_labels_ ? x.target : nullptr;
    if (!from_labels_ && x.inputs != nullptr && x.inputs->contains(ids_)) ids = &x.inputs->at(ids_);
    const auto fail = [&](const std::string& found) {
      throw Error(std::string(metric_perplexity) + " needs a token id for each place of the logits " + to_string(logits) +
                  ", but " + found + " (sample " + std::to_string(x.index) + ")");
    };
    const std::string source = from_labels_ ? "the data's labels" : "the input '" + ids_ + "'";
    if (ids == nullptr) fail(source + (from_labels_ ? " are" : " is") + " not there");
    if (data::is_floating(ids->type())) fail(source + " holds numbers of type " + std::string(name_of(ids->type())));
    if (ids->count() != count_of({logits[0], logits[1]})) fail(source + " has the shape " + to_string(ids->shape()));
    const Tensor whole = converted(*ids, DataType::int64);
    const auto values = whole.as<int64_t>();
    return {values.begin(), values.end()};
  }

  static void check_id(const Pair& x, int64_t id, size_t position, size_t vocabulary) {
    if (id >= 0 && static_cast<uint64_t>(id) < vocabulary) return;
    throw Error(std::string(metric_perplexity) + ": token id " + std::to_string(id) + " at position " + std::to_string(position) +
                " of sample " + std::to_string(x.index) + " is beyond the model's vocabulary of " + std::to_string(vocabulary));
  }

  std::string ids_;
  bool from_labels_;
  int64_t shift_, ignore_;
  PlaceMask mask_;
};

}  // namespace

Entry<Metric> perplexity() {
  return {.help = "perplexity of a language model: token ids in, logits [batch,positions,vocabulary] out",
          .make = make_as<Perplexity, Metric>,
          .options = {{"ids", "input_ids", "the model's input with the tokens that it predicts; labels: the data's labels"},
                      {"shift", nullptr,
                       "how many places before a token stand the logits that predict it; left out: 1, and 0 for labels"},
                      {"ignore", -100, "an id that does not count"},
                      PlaceMask::option()},
          .aliases = {"ppl"}};
}

}  // namespace quasar::eval::metrics
