// A model in which every operator can be switched between float and quantized, by one plan or several, so that the effect of any
// subset is a run and not a new model and session.
//
// The model is cut into pieces (toggled_pieces.hpp), and each piece runs as its switch says: nothing is computed twice, and
// after a switch is turned only what depends on it runs again.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "quasar/base/error.hpp"
#include "quasar/data/dataset.hpp"
#include "quasar/runtime/session.hpp"
#include "quasar/sensitivity/toggled_pieces.hpp"

namespace quasar::tune {

// The model's pieces cannot be made or run: what they would have measured is missing, and nothing else.
struct ToggledModelFailed : Error {
  explicit ToggledModelFailed(const Error& why) : Error(why.what(), why.blame()) {}
};

// Thread-safe.
class ToggledModel {
 public:
  // Of the values that samples on their way through the model keep.
  static constexpr size_t most_kept_bytes = size_t{2} << 30;

  // `memory_limit`: bytes that may be kept, where those are fewer. Throws ToggledModelFailed where a type cannot be simulated;
  // whatever runs throws it with ONNX Runtime's message.
  ToggledModel(const graph::Model& model, const quant::Plan& plan, size_t memory_limit = most_kept_bytes);
  // Units that can be quantized in several ways, which is what differs between the plans; the first one decides what a unit is.
  ToggledModel(const graph::Model& model, std::span<const quant::Plan> plans, size_t memory_limit = most_kept_bytes);
  ~ToggledModel();

  // Of each unit: 0 is float, k quantized by the plan k − 1, or float where that plan leaves it so.
  using Levels = std::vector<uint8_t>;

  const std::vector<Unit>& units() const { return units_; }
  size_t kept_bytes() const { return kept_bytes_; }

  // The outputs with the units whose switch is on quantized; one switch per unit. Outputs without numbers are left out.
  std::vector<Tensor> outputs(const data::Sample& sample, const std::vector<bool>& on) const;

  // What each unit's own quantization does to its result, given inputs from the units before as they are switched.
  struct Local {
    double noise = 0;   // ‖y − ŷ‖²
    double signal = 0;  // ‖y‖²
    double size = 0;    // number of elements of y
  };
  std::vector<Local> locals(const data::Sample& sample, const std::vector<bool>& on) const;

  // One sample's way through the model, with all that passes between pieces. The model must outlive it.
  class Passage {
   public:
    Passage(const ToggledModel& model, const data::Sample& sample, const std::vector<bool>& on);
    Passage(const ToggledModel& model, const data::Sample& sample, Levels levels);

    std::vector<Tensor> outputs() const { return model_.outputs_in(values_); }
    std::vector<Tensor> flipped(size_t unit) const;              // the outputs with this switch turned, which stays as it is
    void flip(size_t unit);                                      // turns it
    std::vector<Tensor> outputs_at(const Levels& levels) const;  // with all switches so; only what depends on a change runs
    void turn_to(const Levels& levels);                          // the same for good
    size_t bytes() const;                                        // of what is held

   private:
    const ToggledModel& model_;
    Levels levels_;
    std::vector<Tensor> values_;
  };

 private:
  struct Part;
  struct Run;

  void make(const graph::Model& model, std::span<const quant::Plan> plans);
  size_t number_of(const std::string& value);
  std::vector<Tensor> start(const data::Sample& sample) const;
  std::vector<Tensor> outputs_in(const std::vector<Tensor>& values) const;
  void run(std::vector<Tensor>& values, const Levels& levels, const Run& how) const;
  void run_changes(std::vector<Tensor>& values, const Levels& before, const Levels& after, bool keep) const;

  size_t kept_bytes_;
  std::vector<Unit> units_;
  std::vector<std::unique_ptr<Part>> parts_;
  std::vector<size_t> part_of_;            // of each unit
  std::map<std::string, size_t> numbers_;  // of the values that pass between pieces
  std::vector<size_t> inputs_, outputs_;   // of the graph
  std::map<size_t, Tensor> constants_;     // graph outputs that are constants
};

}  // namespace quasar::tune
