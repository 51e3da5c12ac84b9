// One model in which every operator can be switched between float and quantized, so that the effect of any subset is a run and
// not a new model and session.
//
// Beside each unit of the float graph stands its quantized copy; a boolean input of the model says whose result is read
// further on. Quantization is simulated in float arithmetic, whatever the types, with the weights that the plan holds:
//   y = unit(x),  ŷ = Q(unit(Q(x), Q(w))),  v = where(switch, ŷ, y)
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "quasar/base/error.hpp"
#include "quasar/data/dataset.hpp"
#include "quasar/graph/model.hpp"
#include "quasar/quant/plan.hpp"
#include "quasar/runtime/session.hpp"

namespace quasar::tune {

// An operator that can be left in float by itself: a weighted sum or an elementwise one, with the activations that its kernel
// absorbs. Movements go with their producer.
struct Unit {
  std::string node;
  std::string op_type;
  double inputs_per_output = 1;  // products that one output is the sum of
};

// The instrumented model cannot be made or run: what it would have measured is missing, and nothing else.
struct ToggledModelFailed : Error {
  explicit ToggledModelFailed(const Error& why) : Error(why.what(), why.blame()) {}
};

// Thread-safe.
class ToggledModel {
 public:
  // Units in topological order. Throws ToggledModelFailed with ONNX Runtime's message when the model does not run; so do
  // outputs() and locals().
  ToggledModel(const graph::Model& model, const quant::Plan& plan);
  ~ToggledModel();

  const std::vector<Unit>& units() const { return units_; }

  // The outputs with the units whose switch is on quantized; one switch per unit. Outputs that are not float32 are left out.
  std::vector<Tensor> outputs(const data::Sample& sample, const std::vector<bool>& on) const;

  // What each unit's own quantization does to its result, given inputs from the units before as they are switched.
  struct Local {
    double noise = 0;   // ‖y − ŷ‖²
    double signal = 0;  // ‖y‖²
    double size = 0;    // number of elements of y
  };
  std::vector<Local> locals(const data::Sample& sample, const std::vector<bool>& on) const;

 private:
  struct Locals;

  void make(const graph::Model& model, const quant::Plan& plan);

  std::vector<Unit> units_;
  std::vector<std::string> outputs_;  // names of graph outputs
  std::unique_ptr<runtime::Session> session_;
  std::function<std::unique_ptr<Locals>()> make_locals_;  // a session of its own, when somebody looks at them
  mutable std::once_flag once_;
  mutable std::unique_ptr<Locals> locals_;
};

}  // namespace quasar::tune
