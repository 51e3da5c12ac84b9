#include "quasar/quant/shared_grids.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "quasar/base/digits.hpp"
#include "quasar/ops/movers.hpp"
#include "quasar/quant/codes/scheme_words.hpp"

namespace quasar::quant {
namespace {

constexpr double most_error = 0.1;  // of a part's root mean square: 20 dB
constexpr double least_factor = 4;  // between the steps of the shared grid and of the part's own: 12 dB
constexpr double whole_signal = 1;  // rounding cannot take more than there is

// One of the values that a grid holds, as it was before it was joined with others.
struct Part {
  std::string value;
  stats::Range range;
  double power = 0;
};

// A node, and the part that it costs most.
struct Loss {
  std::string node, words;
  double error = 0;  // relative
};

double error_of(double step, double power) {
  return std::min(whole_signal, step / std::sqrt(12 * power));
}

class LostParts {
 public:
  explicit LostParts(const Ground& ground) : at_(ground), model_(ground.index.model()), floats_(ops::float_values(model_)) {}

  SharedGrids run() {
    for (const auto& node : model_.nodes) {
      if (loses_parts(node) && has_grid(node)) look_at(node);
    }
    note(kept_, "in float, as one grid for all that is joined would lose a part");
    note(demanded_, "on one grid, which is demanded there, and a part is lost");
    note(computed_, "on one grid, with which the sums behind it are computed, and a part is lost");
    return std::move(out_);
  }

 private:
  // Of a sum, and of what chooses the larger one, little is lost where a small part is. A product is off by as much as each part.
  bool loses_parts(const graph::Node& node) const {
    return node.is("Concat") || node.is("Where") || ((node.is("Mul") || node.is("Div")) && at_.target.unifies(node));
  }

  bool has_grid(const graph::Node& node) const {
    const std::string& output = node.outputs.front();
    const auto seen = at_.seen.find(output);
    const bool given = at_.config.tensors.contains(output) || (seen != at_.seen.end() && seen->second.given);
    return !given && at_.placement.roles(&node) != nullptr && at_.placement.values.contains(output) &&
           is_integer(at_.schemes.written(output).type);
  }

  void look_at(const graph::Node& node) {
    std::vector<Part> parts;
    std::set<std::string> known;
    for (const size_t input : at_.placement.roles(&node)->activations) {
      const bool own_grid = !node.is("Concat") && !node.is("Where") && model_.initializer(node.inputs[input]) != nullptr;
      if (!own_grid) add_parts(node.inputs[input], parts, known);
    }
    const Loss loss = worst_of(parts, node);
    if (loss.words.empty()) return;
    std::vector<std::string> behind;
    std::set<std::string> passed;
    if (at_.target.shifts() || at_.npu || (node.is("Concat") && at_.on("AlignConcat")) || at_.target.unifies(node)) {
      demanded_.push_back(loss);
    } else if (ends_in_float(node.outputs.front(), passed, behind)) {
      kept_.push_back(loss);
      out_.left[node.name] = "one grid for all that it joins would lose a part";
      for (const auto& name : behind) out_.left.try_emplace(name, "what it reads has parts that one grid would lose");
    } else if (loss.error >= whole_signal) {
      computed_.push_back(loss);
    }
  }

  // The values that were joined, as they were before, however often and whatever rearranged them since.
  void add_parts(const std::string& value, std::vector<Part>& parts, std::set<std::string>& known) const {
    if (value.empty() || !known.insert(value).second) return;
    const graph::Node* producer = at_.index.producer(value);
    if (producer != nullptr && producer->is("Concat")) {
      for (const auto& input : producer->inputs) add_parts(input, parts, known);
    } else if (producer != nullptr && ops::keeps_all(*producer)) {
      add_parts(producer->inputs.front(), parts, known);
    } else if (const Tensor* constant = model_.initializer(value); constant != nullptr) {
      if (constant->type() == DataType::float32) add(value, stats::of_values(constant->as<float>(), {}), parts);
    } else if (const auto seen = at_.seen.find(value); seen != at_.seen.end()) {
      add(value, seen->second, parts);
    }
  }

  static void add(const std::string& value, const stats::TensorStats& seen, std::vector<Part>& parts) {
    parts.push_back({value, seen.range, seen.mean_square});
  }

  // No words: none is lost.
  Loss worst_of(const std::vector<Part>& parts, const graph::Node& node) const {
    stats::Range all;
    for (const Part& part : parts) all = {std::min(all.low, part.range.low), std::max(all.high, part.range.high)};
    const double step = step_for(all, node);
    Loss out{node.name, "", most_error};
    for (const Part& part : parts) {
      if (part.power <= 0) continue;  // zeros have a code on every grid
      const double own = step_for(part.range, node), error = error_of(step, part.power);
      if (step < least_factor * own || error <= out.error) continue;
      out.error = error;
      out.words = "'" + part.value + "' (" + in_digits(part.range.low) + " … " + in_digits(part.range.high) +
                  ") would be off by " + percent(error) + " with a step of " + in_digits(step) + ", and by " +
                  percent(error_of(own, part.power)) + " on a grid of its own";
    }
    return out;
  }

  double step_for(const stats::Range& range, const graph::Node& node) const {
    const Scheme& scheme = at_.schemes.written(node.outputs.front());
    return scale_for(range, scheme.type, scheme.symmetric, scheme.scale_type).scale;
  }

  // Whether nothing behind the value computes sums in integers. `behind`: what is quantized there, and has no use for it then.
  bool ends_in_float(const std::string& value, std::set<std::string>& passed, std::vector<std::string>& behind) const {
    if (!floats_.contains(value) || !passed.insert(value).second) return true;
    return std::ranges::all_of(at_.index.consumers(value), [&](const graph::Node* reader) {
      if (const ops::Roles* roles = at_.placement.roles(reader); roles != nullptr) {
        if (roles->kind == ops::Kind::compute) return false;
        behind.push_back(reader->name);
      }
      return std::ranges::all_of(reader->outputs,
                                 [&](const std::string& output) { return ends_in_float(output, passed, behind); });
    });
  }

  // One sentence for all of a kind.
  void note(const std::vector<Loss>& losses, const std::string& where) {
    if (losses.empty()) return;
    const Loss& worst = *std::ranges::max_element(losses, {}, &Loss::error);
    const size_t others = losses.size() - 1;
    out_.notes.push_back(worst.node +
                         (others == 0 ? " stays " : " and " + std::to_string(others) + " more that join values stay ") + where +
                         ": " + worst.words);
  }

  static std::string percent(double share) { return in_digits(100 * share) + " %"; }

  const Ground& at_;
  const graph::Model& model_;
  const std::set<std::string> floats_;
  std::vector<Loss> kept_, demanded_, computed_;
  SharedGrids out_;
};

}  // namespace

SharedGrids find_lost_parts(const Ground& ground) {
  return LostParts(ground).run();
}

}  // namespace quasar::quant
