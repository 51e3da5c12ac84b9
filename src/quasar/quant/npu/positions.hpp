// A quantized network as a processor sees it that shifts instead of multiplying. The position p of a tensor is −log2 of its
// scale: value = code · 2^−p. Source of the rules: the limits that AMD Quark 0.13 keeps for NPUs ("DPU compiler constraints").
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "quasar/base/plugin.hpp"
#include "quasar/quant/codes/scheme.hpp"

namespace quasar::quant {

// −log2 of a scale; nullopt when the scale is no power of two.
std::optional<int> position_of(float scale);
float scale_at(int position);

struct Fixed {
  std::string name;  // of the value, or of the constant
  QuantParams params;
  int position = 0;      // meaningless unless the scale is one power of two
  bool shifted = false;  // it is
  bool shared = false;   // values of other ranges have it too: it must not become finer
  bool zeros = false;    // it holds nothing else, and its position was found for nothing
};

// A node, with the activation behind it that runs in the same operation. Indices are those of Network::tensors; a tensor that is
// not quantized has none.
struct Layer {
  std::string node, type;
  std::vector<std::optional<size_t>> inputs;  // activations, and constants in their place
  std::optional<size_t> weight, bias, output;
  std::string activation = {};          // type of the fused activation; "": none
  float alpha = 0;                      // LeakyRelu, HardSigmoid: of the node itself
  float beta = 0.5F;                    // HardSigmoid
  bool swish = false;                   // a Mul of x and HardSigmoid(x)
  bool pair_before_activation = false;  // an activation that could be fused is kept apart by a pair
  bool float_bias = false;              // it has a constant bias that is not quantized
  bool own_codes = false;               // an operator that takes or makes codes by itself, without pairs (QLinearConv)
  bool interpolates = false;            // a Resize that computes what it writes (linear …)
};

struct Network {
  std::vector<Fixed> tensors;
  std::vector<Layer> layers;
  std::vector<std::string> in_float = {};  // nodes with weights that are not quantized, between values that are

  bool shifted(std::optional<size_t> tensor) const { return tensor && tensors[*tensor].shifted; }
  int position(std::optional<size_t> tensor) const { return tensors[*tensor].position; }
  // Makes a tensor coarser (or, where a rule must, finer).
  void move(std::optional<size_t> tensor, int position) { tensors[*tensor].position = position; }
};

// What is wrong with a layer: a sentence, and the numbers in it.
struct Fault {
  std::string what;
  Json figures = Json::object();
};

class Rule {
 public:
  virtual ~Rule() = default;
  virtual std::vector<Fault> check(const Layer& layer, const Network& network) const = 0;
  // Moves positions so that the rule holds for this layer; nothing where it holds. Where there is a choice, tensors become
  // coarser: that cannot clip anything, and lets all rules together come to an end.
  virtual void mend(const Layer&, Network&) const {}
  // The switch that keeps it; "": it holds by construction.
  virtual std::string switched_by() const { return ""; }
};

// A fault when the positions of a layer's inputs and output are not all the same.
std::vector<Fault> unequal_positions(const Layer& layer, const Network& network);

}  // namespace quasar::quant

namespace quasar::quant::rules {
const Table<Rule>& table();
}
