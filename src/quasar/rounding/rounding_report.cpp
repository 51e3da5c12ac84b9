#include "quasar/rounding/rounding_report.hpp"

#include <algorithm>
#include <cmath>

#include "quasar/base/digits.hpp"

namespace quasar::tune {
namespace {

constexpr size_t few_samples = 16;  // MobileNet, A8W8: distance 0.22 with 1, 0.12 with 8, 0.07 with 25, 0.065 with 100

std::string few_samples_in_words(size_t samples) {
  return "rounding: codes are chosen for " + std::to_string(samples) + (samples == 1 ? " sample" : " samples") +
         ", which is few: the model fits these, and others less. 32 samples or more give a nearer model";
}

// Before the work begins: what becomes of samples is known when it ends.
std::string too_many_samples_in_words(size_t fit, size_t wanted, size_t memory_limit) {
  const size_t left = std::max<size_t>(fit, 1);
  return "rounding: memory_limit (" + std::to_string(memory_limit) + " bytes) is too little for the values between layers of " +
         std::to_string(wanted) + " samples: at most " + std::to_string(left) +
         " will be left for the last layers. More stay with a memory_limit of at least " +
         std::to_string(memory_limit / left * wanted) + " bytes; a data_size of " + std::to_string(left) + " takes less time";
}

std::string percent(double value) {
  return formatted("%.3g %%", 100 * value);
}

// null: the layer's output does not vary.
Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json();
}

}  // namespace

std::string in_words(const LayerError& error) {
  if (!std::isfinite(error.before)) return error.node + ": its output does not vary";
  return error.node + ": relative output error " + percent(error.before) + " -> " + percent(error.after);
}

std::string summary_of(const std::string& method, const RoundingReport& report) {
  double ratio = 0, count = 0;
  for (const auto& layer : report.layers) {
    if (!std::isfinite(layer.before)) continue;
    if (layer.before > 0) ratio += std::log(std::max(layer.after / layer.before, 1e-9));
    count++;
  }
  return method + ": " + std::to_string(report.layers.size()) + (report.layers.size() == 1 ? " layer on " : " layers on ") +
         std::to_string(report.samples) + (report.samples == 1 ? " sample" : " samples") +
         (count > 0 ? ", output error of nearest rounding × " + formatted("%.3f", std::exp(ratio / count)) + " (geometric mean), "
                    : ", whose outputs do not vary, ") +
         (report.refined > 0
              ? std::to_string(report.refined) + (report.refined == 1 ? " activation scale" : " activation scales") + " refined, "
              : "") +
         "in " + formatted("%.2f s", report.seconds);
}

void warn_of_samples(const Log& log, size_t wanted, size_t fit, size_t memory_limit) {
  if (wanted > 0 && wanted < few_samples) tell(log, Level::warning, few_samples_in_words(wanted));
  if (fit < wanted) tell(log, Level::warning, too_many_samples_in_words(fit, wanted, memory_limit));
}

std::string samples_given_up(size_t left, size_t wanted, size_t memory_limit) {
  return "rounding: activations of " + std::to_string(wanted) + " samples do not fit into memory_limit (" +
         std::to_string(memory_limit) + " bytes); the last layers saw " + std::to_string(left) +
         (left == 1 ? " sample" : " samples");
}

Json to_json(const RoundingReport& report) {
  Json layers = Json::array();
  for (const auto& layer : report.layers)
    layers.push_back({layer.node, number(layer.before), number(layer.after), number(layer.alone)});
  return {{"samples", report.samples},   {"seconds", report.seconds},   {"refined", report.refined},
          {"refine_s", report.refine_s}, {"layers", std::move(layers)}, {"kept", report.kept}};
}

Json errors_by_layer(const RoundingReport& report) {
  Json out = Json::object();
  for (const auto& layer : report.layers)
    out[layer.node] = {{"before", number(layer.before)}, {"after", number(layer.after)}, {"alone", number(layer.alone)}};
  return out;
}

}  // namespace quasar::tune
