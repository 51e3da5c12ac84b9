// A model whose large weights are not handed to ONNX Runtime, which would copy them: they are inputs in their place.
#pragma once

#include <map>
#include <string>

#include "quasar/graph/model.hpp"

namespace quasar::runtime {

struct WeightsApart {
  graph::Model model;  // the weights are its last inputs, of their types and shapes
  std::map<std::string, Tensor> weights;

  // Back into a model that was made of this one, as far as its nodes still read them.
  void put_back(graph::Model& other) const;
};

// Float weights which types and shapes do not depend on. `model` has no open bodies (graph::closed).
WeightsApart apart_for_types(const graph::Model& model);

// Those into which no optimization of ONNX Runtime's basic level looks: weights of MatMul and tables of Gather that work on what
// the model's inputs hold. `model` has no open bodies.
WeightsApart apart_for_clean_up(const graph::Model& model);

}  // namespace quasar::runtime
