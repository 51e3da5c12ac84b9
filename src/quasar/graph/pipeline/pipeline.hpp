// Several models that run one after the other, as one model: an encoder and its decoder, a text encoder and a vocoder. Joining is
// a pure function of the float models; what it did stands in the joined model's metadata, so that every model that was made of it
// can be split again.
//
//   encoder: features ─▶ states        joined: features ─▶ encoder/… ─▶ states ─▶ decoder/… ─▶ logits
//   decoder: ids, states ─▶ logits             ids ──────────────────────────────▶
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "quasar/base/json.hpp"
#include "quasar/graph/model.hpp"

namespace quasar::graph {

// One model of a pipeline. `inputs`: where an input of this model comes from, by its name: "encoder.states" is the output (or the
// input) of that name of an earlier model, nullopt an input of the pipeline that no other model has. Inputs without an entry come
// from the last earlier model that has an output of their name, or an output present.X for past_key_values.X; else they are
// inputs of the pipeline, which models share where name, type and shape are the same. But a model that is given another's caches
// reads other tokens, and shares with it only what is called encoder_….
struct Member {
  std::string name;
  std::filesystem::path file;  // whose name the split model gets
  Model model;
  std::map<std::string, std::optional<std::string>> inputs = {};
};

// An input or output of one model: its type and shape there, and its value in the joined model.
struct Port {
  Value own;
  std::string value;
};

struct Part {
  std::string name, file;  // "encoder", "encoder_model.onnx"
  std::vector<Port> inputs, outputs;
  std::map<std::string, std::string> metadata = {};  // of the model as it came
};

struct Pipeline {
  std::vector<Part> parts;  // in the order in which they run

  // Values that one part gives and a later one reads. They are outputs of the joined model, so that no rewriting removes them.
  std::vector<std::string> crossing() const;
};

// The models as one. Names of nodes and inner values get "<model>/" before them; inputs and outputs keep their names where those
// are unique, and are called "<model>.<name>" elsewhere. Outputs of the last model come first, but for one that goes on by
// another's caches. ONNX's operator sets are raised to the highest, weights that are equal are stored once. Throws Error for
// names that cannot be, for fewer than two models, for a connection to what is not there (with the nearest name), to a later
// model or between different types or shapes, and for operator sets that cannot be made one.
Model join(const std::vector<Member>& members);

// What the joined model was made of; nullopt: it is no such model. Throws Error for metadata that cannot be read.
std::optional<Pipeline> pipeline_of(const Model& model);

// The files of the split models, in their order: named as they came ("encoder_model.onnx"), or after the model where names are
// not told apart ("encoder.onnx"), also by case alone.
std::vector<std::string> files_of(const std::vector<Part>& parts);

struct Piece {
  std::string name, file;
  Model model;
};

// A joined model, or one that was made of it by quantization, as its models again, in the order in which they run. Run one after
// the other they give its outputs, bit by bit: a value that crosses in codes gets a QuantizeLinear of the same grid in the later
// model, and Q(DQ(q)) = q. Throws Error for a model that is not joined, and where a later model reads what no earlier one gives
// out.
std::vector<Piece> split(const Model& joined);

// The part to which a node of a joined model belongs, by its name: "encoder" for "encoder/conv1"; "": to none.
std::string part_of_node(const std::string& node, const Pipeline& pipeline);

}  // namespace quasar::graph
