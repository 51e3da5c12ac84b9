#include "quasar/sensitivity/output_loss.hpp"

#include <algorithm>
#include <cmath>

#include "quasar/base/names.hpp"
#include "quasar/eval/flattened.hpp"

namespace quasar::tune {
namespace {

bool is_float(DataType type) {
  return type == DataType::float32 || type == DataType::float64 || type == DataType::float16 || type == DataType::bfloat16;
}

Tensor as_float32(const Tensor& tensor) {
  return tensor.type() == DataType::float32 ? tensor : converted(tensor, DataType::float32);
}

// Several values along one axis: the scores of classes.
bool is_vector(const Tensor& tensor) {
  return tensor.count() > 1 && std::ranges::find(tensor.shape(), static_cast<int64_t>(tensor.count())) != tensor.shape().end();
}

}  // namespace

OutputLoss::OutputLoss(const Options& options, const std::vector<graph::Value>& outputs, const data::Dataset& samples)
    : name_("hawq_v2_loss " + options.loss), loss_(losses::table().make(options.loss)), samples_(samples) {
  for (size_t i = 0; loss_->needs_labels() && i < samples.size(); i++) {
    if (!samples.label(i)) throw TraceFailed(name_ + " needs labels, and " + samples.source() + " has none");
  }
  const eval::OutputWeights weights(options.output_weights, outputs);
  std::vector<std::string> others;
  for (size_t i = 0; i < outputs.size(); i++) {
    if (!is_float(outputs[i].type) || weights.of(i) == 0) {
      others.push_back(outputs[i].name + " (" + (weights.of(i) == 0 ? "factor 0" : std::string(name_of(outputs[i].type))) + ")");
      continue;
    }
    names_.push_back(outputs[i].name);
    factors_.push_back(static_cast<double>(weights.of(i)));
  }
  if (names_.empty()) throw TraceFailed(name_ + " is of float outputs, and the model has none that count: " + joined(others));
}

double OutputLoss::of(size_t sample, const std::vector<Tensor>& outputs, const std::vector<Tensor>& references) const {
  double sum = 0;
  for (const size_t i : looked_at(references))
    sum += factors_[i] * of_one(sample, i, as_float32(outputs[i]), as_float32(references[i]));
  return sum;
}

std::vector<size_t> OutputLoss::looked_at(const std::vector<Tensor>& references) const {
  const bool one = loss_->needs_labels() && references.size() > 1;
  std::vector<size_t> out;
  std::vector<std::string> names;
  for (size_t i = 0; i < references.size(); i++) {
    if (one && !is_vector(references[i])) continue;
    out.push_back(i);
    names.push_back(names_[i]);
  }
  if (!one || out.size() == 1) return out;
  throw TraceFailed(name_ + " is of one output with a score per class, and " +
                    (out.empty() ? "none of " + joined(names_) + " is a vector" : joined(names) + " are vectors") +
                    "; give the others the factor 0 in output_weights");
}

double OutputLoss::of_one(size_t sample, size_t output, const Tensor& values, const Tensor& reference) const {
  const std::string where =
      (names_.size() > 1 ? "output '" + names_[output] + "' of " : "") + "calibration sample " + std::to_string(sample);
  if (!loss_->takes_any_size() && values.shape() != reference.shape()) {
    throw TraceFailed(name_ + " failed on " + where + ": it compares value by value, and the output has shape " +
                      to_string(values.shape()) + " with weights moved a little, but " + to_string(reference.shape()) +
                      " without");
  }
  double loss = 0;
  try {
    loss = loss_->of(values, reference, samples_.label(sample));
  } catch (const Error& e) {
    throw TraceFailed(name_ + " failed on " + where + ": " + e.what());
  }
  if (std::isfinite(loss)) return loss;
  throw TraceFailed(name_ + " gives " + (std::isnan(loss) ? "NaN" : "infinity") + " on " + where +
                    ", but must give a finite number for every sample");
}

}  // namespace quasar::tune
