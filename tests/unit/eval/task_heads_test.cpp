// Classes, sequences, maps, pictures and embeddings are known by how they are made and what they held; what only looks like one
// is not.
#include <gtest/gtest.h>

#include <cmath>

#include "quasar/eval/head.hpp"
#include "unit/eval/head_models.hpp"

namespace quasar::eval {
namespace {

using test::float_value;
using test::Noise;
using test::on_picture;
using test::Sketch;

void expect_task(const Head& head, const std::string& name, const std::string& metric) {
  EXPECT_EQ(head.name, name) << head.why;
  EXPECT_EQ(head.metric, metric) << head.why;
  EXPECT_TRUE(head.decoder.is_null());
}

void expect_no_task(const Head& head, const std::string& hint) {
  EXPECT_EQ(head.name, "") << head.why;
  EXPECT_NE(head.why.find(hint), std::string::npos) << head.why;
}

std::string pooled(Sketch& s, int64_t channels) {
  return s.op("Flatten", {s.op("GlobalAveragePool", {s.op("Relu", {s.conv("x", 3, channels, 8)})})});
}

std::string gemm(Sketch& s, const std::string& from, int64_t in, int64_t out) {
  return s.op("Gemm", {from, s.random({in, out}), s.random({out})});
}

TEST(TaskHeads, Classes) {
  Sketch probabilities = on_picture();
  const auto logits = gemm(probabilities, pooled(probabilities, 8), 8, 84);
  const auto model = probabilities.ending_in({probabilities.softmax(logits, 1)});
  expect_task(head_of(model), "classes", "agreement");
  expect_task(head_on(model, Noise(3)), "classes", "agreement");
  Sketch scores = on_picture();
  const auto plain = scores.ending_in({gemm(scores, pooled(scores, 8), 8, 10)});
  expect_task(head_of(plain), "classes", "agreement");
  Sketch several = on_picture();
  const auto sigmoids = several.ending_in({several.op("Sigmoid", {gemm(several, pooled(several, 8), 8, 20)})});
  expect_task(head_of(sigmoids), "classes", "agreement");
}

// Softmax written out, as TensorFlow's exporter does for other axes.
TEST(TaskHeads, ClassesBySoftmaxWrittenOut) {
  Sketch s = on_picture();
  const auto powers = s.op("Exp", {gemm(s, pooled(s, 8), 8, 12)});
  const auto sum = s.op("ReduceSum", {powers, s.constant({1})}, {{"keepdims", int64_t{1}}});
  expect_task(head_of(s.ending_in({s.op("Div", {powers, sum})})), "classes", "agreement");
}

TEST(TaskHeads, CoordinatesAreNotClasses) {
  Sketch few = on_picture();
  expect_no_task(head_of(few.ending_in({gemm(few, pooled(few, 8), 8, 4)})), "angles");
  // Points of a face: what is the same for every sample outweighs what is not.
  Sketch s = on_picture();
  const auto points = s.op("Gemm", {pooled(s, 8), s.random({8, 136}, -0.02, 0.02), s.random({136}, 0, 60)});
  expect_no_task(head_on(s.ending_in({points}), Noise(8)), "coordinates");
}

// Three marks for the quality of a sound, say, are no scores of three classes.
TEST(TaskHeads, FewNumbersOfOneSignAreNotClasses) {
  const Shape sounds{1, 12};
  for (const double bias : {0.0, 40.0}) {
    Sketch s(float_value("x", sounds));
    const auto head =
        head_on(s.ending_in({s.op("Gemm", {"x", s.random({12, 3}, -3, 3), s.random({3}, bias, bias + 1)})}), Noise(8, sounds));
    if (bias == 0) {
      expect_task(head, "classes", "agreement");
    } else {
      expect_no_task(head, "marks");
    }
  }
}

TEST(TaskHeads, TwoVectorsAreNoClasses) {
  Sketch s = on_picture();
  const auto feature = pooled(s, 8);
  expect_no_task(head_of(s.ending_in({s.softmax(gemm(s, feature, 8, 7), 1), s.softmax(gemm(s, feature, 8, 12), 1)})), "no kind");
}

TEST(TaskHeads, Embeddings) {
  Sketch normalized = on_picture();
  const auto vector = gemm(normalized, pooled(normalized, 8), 8, 384);
  const auto norm = normalized.op("ReduceL2",
                                  {
                                      vector,
                                  },
                                  {{"axes", std::vector<int64_t>{1}}, {"keepdims", int64_t{1}}});
  expect_task(head_of(normalized.ending_in({normalized.op("Div", {vector, norm})})), "embedding", "embedding_cos");
  Sketch averages = on_picture();
  expect_task(head_of(averages.ending_in({pooled(averages, 384)})), "embedding", "embedding_cos");
  Sketch open = on_picture();
  expect_no_task(head_of(open.ending_in({open.op("MatMul", {pooled(open, 8), open.random({8, 384})})})), "embedding");
}

Sketch on_text() {
  return Sketch({"ids", DataType::int64, Shape{1, 12}, {}});
}

std::string states(Sketch& s, int64_t size) {
  const auto words = s.op("Gather", {s.random({50, size}), "ids"});
  return s.op("LayerNormalization", {words, s.random({size}), s.random({size})});
}

class Texts : public Noise {
 public:
  using Noise::Noise;
  data::Sample at(size_t i) const override {
    std::vector<int64_t> ids(12);
    for (size_t k = 0; k < ids.size(); ++k) ids[k] = static_cast<int64_t>((i * 7 + k * 5) % 50);
    return {Tensor::of<int64_t>({1, 12}, ids)};
  }
};

TEST(TaskHeads, Texts) {
  Sketch hidden = on_text();
  const auto embedding = hidden.ending_in({states(hidden, 32)});
  Sketch tags = on_text();
  const auto tagger =
      tags.ending_in({tags.op("Add", {tags.op("MatMul", {states(tags, 32), tags.random({32, 9})}), tags.random({9})})});
  Sketch words = on_text();
  const auto writer = words.ending_in({words.op("MatMul", {states(words, 32), words.random({32, 1200})})});
  for (const bool run : {false, true}) {
    const auto head = [&](const graph::Model& model) { return run ? head_on(model, Texts(3)) : head_of(model); };
    expect_task(head(embedding), "embedding", "embedding_cos");
    expect_task(head(tagger), "tokens", "token_accuracy(truth=float)");
    expect_task(head(writer), "tokens", "token_accuracy(truth=float)");
  }
}

// A decoder's states, where the mask is of what the encoder read.
TEST(TaskHeads, AMaskOfOtherPlacesDoesNotCount) {
  Sketch hidden = on_text();
  graph::Model model = hidden.ending_in({states(hidden, 32)});
  for (const auto& [length, metric] : {std::pair{12, "embedding_cos"}, {40, "embedding_cos(mask=none)"}}) {
    model.inputs.resize(1);
    model.inputs.push_back({"attention_mask", DataType::int64, Shape{1, length}, {"", ""}});
    expect_task(head_of(model), "embedding", metric);
  }
}

// What an encoder reads has a mask of its own; beside a cache the mask is of the places, too.
TEST(TaskHeads, AnEncodersMaskDoesNotCountForWhatADecoderWrites) {
  Sketch words = on_text();
  graph::Model model = words.ending_in({words.op("MatMul", {states(words, 32), words.random({32, 1200})})});
  for (const auto& [read, metric] :
       {std::pair{true, "token_accuracy(truth=float,mask=none)"}, {false, "token_accuracy(truth=float)"}}) {
    model.inputs.resize(1);
    model.inputs.push_back({"attention_mask", DataType::int64, Shape{1, 40}, {"", ""}});
    if (read) model.inputs.push_back({"input_ids", DataType::int64, Shape{1, 40}, {"", ""}});
    expect_task(head_of(model), "tokens", metric);
  }
}

// A recognizer of written lines: one step per 8 columns of the picture, or [time,1,classes].
graph::Model line_model(bool time_first) {
  Sketch s = on_picture();
  const auto columns = s.op("ReduceMean", {s.conv("x", 3, 16, 8)}, {{"axes", std::vector<int64_t>{2}}, {"keepdims", int64_t{0}}});
  const auto steps = s.transpose(columns, time_first ? std::vector<int64_t>{2, 0, 1} : std::vector<int64_t>{0, 2, 1});
  return s.ending_in({s.softmax(s.op("Add", {s.op("MatMul", {steps, s.random({16, 5})}), s.random({5})}), 2)});
}

// What such a model answers: these classes, one sample.
struct Answers {
  explicit Answers(const std::vector<size_t>& classes, bool time_first = false) : values(classes.size() * 5, 0.05F) {
    for (size_t i = 0; i < classes.size(); ++i) values[i * 5 + classes[i]] = 0.8F;
    const auto length = static_cast<int64_t>(classes.size());
    layout = {{time_first ? Shape{length, 1, 5} : Shape{1, length, 5}}, {{1, 3, test::side, test::side}}};
  }
  Seen seen() const { return {{layout}, {values}}; }

  std::vector<float> values;
  Layout layout;
};

TEST(TaskHeads, CtcAndItsBlank) {
  expect_task(head_of(line_model(false)), "ctc", "sequence_accuracy(truth=float)");
  const Answers first({0, 2, 0, 2, 0, 0, 3, 0}), last({4, 2, 4, 2, 4, 4, 3, 4});
  expect_task(head_of(line_model(false), first.seen()), "ctc", "sequence_accuracy(truth=float,blank=0)");
  expect_task(head_of(line_model(false), last.seen()), "ctc", "sequence_accuracy(truth=float,blank=4)");
  const Answers time_first({0, 2, 0, 2, 0, 0, 3, 0}, true);
  expect_task(head_of(line_model(true)), "ctc", "sequence_accuracy(truth=float)");
  expect_task(head_of(line_model(true), time_first.seen()), "ctc", "sequence_accuracy(truth=float,blank=0)");
}

// Number plates of a fixed length are padded at their end: the padding is no blank.
TEST(TaskHeads, SequencesWithoutABlank) {
  const Answers padded({1, 2, 3, 1, 2, 4, 4, 4}), nothing({0, 0, 0, 0, 0, 0, 0, 0}), middle({2, 2, 1, 2, 3, 2, 2, 0});
  expect_task(head_of(line_model(false), padded.seen()), "sequence", "token_accuracy(truth=float)");
  expect_task(head_of(line_model(false), middle.seen()), "sequence", "token_accuracy(truth=float)");
  expect_no_task(head_of(line_model(false), nothing.seen()), "it could be");
  Sketch plate = on_picture();
  const auto places = plate.softmax(plate.reshape(gemm(plate, pooled(plate, 8), 8, 9 * 37), {1, 9, 37}), 2);
  expect_no_task(head_of(plate.ending_in({places})), "samples tell");
}

std::string at_full_size(Sketch& s, int64_t channels) {
  const auto coarse = s.conv(s.op("Relu", {s.conv("x", 3, 8, 4)}), 8, channels);
  const auto scales = s.constant(test::floats({1, 1, 4, 4}));
  return s.op("Resize", {coarse, "", scales}, {{"mode", std::string("linear")}});
}

TEST(TaskHeads, Segmentation) {
  Sketch scores = on_picture();
  expect_task(head_of(scores.ending_in({at_full_size(scores, 21)})), "segmentation", "mean_iou(truth=float)");
  Sketch softmax = on_picture();
  expect_task(head_of(softmax.ending_in({softmax.softmax(at_full_size(softmax, 3), 1)})), "segmentation",
              "mean_iou(truth=float)");
  Sketch last = on_picture();
  const auto model = last.ending_in({last.softmax(last.transpose(at_full_size(last, 5), {0, 2, 3, 1}), 3)});
  expect_task(head_of(model), "segmentation", "mean_iou(truth=float,classes=last)");
  expect_task(head_on(model, Noise(2)), "segmentation", "mean_iou(truth=float,classes=last)");
  Sketch numbers = on_picture();
  const auto best = numbers.op("ArgMax", {at_full_size(numbers, 5)}, {{"axis", int64_t{1}}, {"keepdims", int64_t{0}}});
  expect_task(head_of(numbers.ending_in({best}, DataType::int64)), "segmentation", "mean_iou(truth=float,classes=none)");
}

TEST(TaskHeads, FlowsAndHeatmapsAreNoSegmentation) {
  Sketch flow = on_picture();
  expect_no_task(head_of(flow.ending_in({at_full_size(flow, 2)})), "flow");
  Sketch poses = on_picture();
  expect_no_task(head_of(poses.ending_in({poses.conv("x", 3, 17, 4)})), "heatmaps");
  Sketch features = on_picture();
  expect_no_task(head_of(features.ending_in({features.op("Relu", {features.conv("x", 3, 256, 8)})})), "no kind");
}

TEST(TaskHeads, Maps) {
  Sketch s = on_picture();
  const auto side_outputs =
      std::vector<std::string>{s.op("Sigmoid", {at_full_size(s, 1)}), s.op("Sigmoid", {at_full_size(s, 1)})};
  const auto model = s.ending_in(side_outputs);
  for (const Head& head : {head_of(model), head_on(model, Noise(2))}) {
    expect_task(head, "map", "mean_iou(truth=float,classes=threshold)");
    EXPECT_EQ(head.outputs, std::vector<std::string>{side_outputs.front()});
  }
  Sketch depth = on_picture();
  expect_no_task(head_of(depth.ending_in({depth.op("Relu", {at_full_size(depth, 1)})})), "no kind");
}

TEST(TaskHeads, Pictures) {
  Sketch larger = on_picture();
  const auto shuffled = larger.op("DepthToSpace", {larger.conv("x", 3, 12)}, {{"blocksize", int64_t{2}}});
  expect_task(head_of(larger.ending_in({shuffled})), "picture", "psnr");
  Sketch cleaned = on_picture();
  expect_task(head_of(cleaned.ending_in({cleaned.op("Add", {"x", cleaned.conv("x", 3, 3)})})), "picture", "psnr");
  // Colours, or three classes: nothing decides.
  Sketch either = on_picture();
  expect_no_task(head_of(either.ending_in({either.conv("x", 3, 3)})), "colours");
}

TEST(TaskHeads, OtherThingsAreUnknown) {
  Sketch frames(float_value("x", {1, 1, 160}));
  const auto each = frames.op("Sigmoid", {frames.op("MatMul", {frames.reshape("x", {1, 20, 8}), frames.random({8, 88})})});
  expect_no_task(head_of(frames.ending_in({each})), "no kind");
  const Json told = to_json(head_of(Sketch(float_value("x", {1, 4})).ending_in({"x"})));
  EXPECT_TRUE(told["name"].is_null());
  EXPECT_TRUE(told["metric"].is_null());
}

}  // namespace
}  // namespace quasar::eval
