// What kinds of heads look at: outputs with their shapes, the pieces that they are joined of, and what they held.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "quasar/eval/metric.hpp"
#include "quasar/graph/model.hpp"

namespace quasar::eval {

// What the float model answered on samples: all outputs of each, one behind the other, as its layout says. The texts are empty
// where nothing was run.
struct Seen {
  std::vector<Layout> layouts = {};
  std::vector<std::span<const float>> values = {};
};

struct HeadOutput {
  std::string name;
  DataType type = DataType::undefined;
  Shape shape = {};  // of one sample, [1, …]; sizes that are not known are −1, those of a picture of open size assumed
  size_t place = 0;  // among the model's outputs
  Shape shown = {};  // without what was assumed

  bool is_float() const { return type == DataType::float32 || type == DataType::float16 || type == DataType::float64; }
};

std::string in_words(const HeadOutput& output);  // "'dets' [1,84,8400]"

// Neighbours along an axis that the same operator made.
struct Piece {
  int64_t size = -1;                  // −1: not known
  std::string op;                     // "Sigmoid", "Conv" …; "Softmax" only along this axis; "": a constant or an input
  const graph::Node* node = nullptr;  // null: a constant or an input

  bool is_score() const { return op == "Sigmoid" || op == "HardSigmoid"; }
  bool is_probability() const { return op == "Softmax" || op == "LogSoftmax"; }
};

class HeadFacts {
 public:
  HeadFacts(const graph::Model& model, const Seen& seen);

  const graph::Model& model() const { return model_; }
  const std::vector<HeadOutput>& outputs() const { return outputs_; }
  const HeadOutput* only() const { return outputs_.size() == 1 ? &outputs_.front() : nullptr; }

  // Of the first input, where it is a picture of 1, 3 or 4 channels; sizes that are open are −1.
  struct Picture {
    int64_t channels = 0, height = -1, width = -1;
  };
  const std::optional<Picture>& picture() const { return picture_; }
  bool reads_tokens() const { return !token_lengths_.empty(); }  // an input [1,length] of whole numbers
  bool is_token_length(int64_t size) const;

  // What an output is joined of along an axis, looked at through what only moves values; one piece where nothing joins.
  std::vector<Piece> pieces(const HeadOutput& output, size_t axis) const { return pieces(output.name, axis, 0); }
  // The one operator behind it; a piece of op "" where there are several.
  Piece maker(const HeadOutput& output, size_t axis) const;
  // A product with constant weights and a bias: Gemm, Conv, or an Add behind MatMul.
  bool is_affine(const Piece& piece, bool with_bias = true) const;
  bool has(const std::string& op_type) const { return types_.contains(op_type); }
  const graph::Index& index() const { return index_; }
  const Shape* shape_of(const std::string& value) const;  // null: not known

  size_t samples() const { return seen_.values.size(); }
  std::span<const float> values(size_t sample, const HeadOutput& output) const;
  const Shape& shape_in(size_t sample, const HeadOutput& output) const { return seen_.layouts[sample].outputs[output.place]; }
  // Whether on all samples, of which there are some, the values along this axis are at least 0 and sum to 1.
  bool sums_to_one(const HeadOutput& output, size_t axis) const;
  bool are_probabilities(const HeadOutput& output, size_t axis) const;  // by operator or by value

 private:
  void read_inputs();
  void read_outputs();
  void infer_shapes();
  std::vector<Piece> pieces(const std::string& value, size_t axis, int depth) const;
  std::vector<Piece> joined_pieces(const graph::Node& node, size_t axis, int depth) const;
  std::optional<size_t> axis_before(const graph::Node& node, size_t axis) const;
  Piece alone(const std::string& value, size_t axis) const;

  const graph::Model& model_;
  const Seen& seen_;
  graph::Index index_;
  std::map<std::string, Shape> shapes_;
  std::vector<Shape> input_shapes_;
  std::vector<HeadOutput> outputs_;
  std::optional<Picture> picture_;
  std::vector<int64_t> token_lengths_;
  std::set<std::string> types_;
};

// How many cells the usual grids have on such a picture, strides 8, 16, 32 with 4 or 64 or without: any of them is `cells`, or a
// size is not known.
bool fits_grids(const HeadFacts& facts, int64_t cells, int64_t anchors = 1);

// Whether the outputs, the finest first, are grids of strides 8, 16, 32, 64 (as many as there are outputs), counted in cells.
bool fits_strides(const HeadFacts& facts, std::span<const int64_t> cells);

}  // namespace quasar::eval
