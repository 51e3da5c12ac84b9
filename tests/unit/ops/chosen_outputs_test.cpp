// Outputs whose number of values depends on the data, and what is judged in their stead.
#include "quasar/ops/chosen_outputs.hpp"

#include <gtest/gtest.h>

#include "unit/graph/small_models.hpp"

namespace quasar::ops {
namespace {

using Names = std::vector<std::string>;

// Boxes and scores, of which NonMaxSuppression chooses; boxes come to the output by another way, too.
graph::Model detector() {
  graph::Model model;
  model.opsets = {{"", 17}};
  model.inputs = {graph::tensor_value("x", {1, 3, 8, 8})};
  model.initializers = {{"w", Tensor::of<float>({7, 3, 1, 1}, std::vector<float>(21, 0.5F))},
                        {"sizes", Tensor::of<int64_t>({2}, {4, 3})},
                        {"axis", Tensor::of<int64_t>({1}, {0})},
                        {"most", Tensor::of<int64_t>({1}, {20})}};
  model.nodes = {{"conv", "Conv", "", {"x", "w"}, {"c"}},
                 {"split", "Split", "", {"c", "sizes"}, {"boxes", "logits"}},
                 {"sigmoid", "Sigmoid", "", {"logits"}, {"scores"}},
                 {"nms", "NonMaxSuppression", "", {"boxes", "scores", "most"}, {"chosen"}},
                 {"squeeze", "Squeeze", "", {"boxes", "axis"}, {"flat"}},
                 {"gather", "Gather", "", {"flat", "chosen"}, {"found"}}};
  model.outputs = {graph::tensor_value("found", {-1, 4}), graph::tensor_value("scores", {1, 3, 64})};
  return model;
}

TEST(ChosenOutputs, OfBoxesThatTheModelSuppressesTheScoresAndBoxesBeforeAreJudged) {
  const ChosenOutputs found = chosen_outputs(detector());
  EXPECT_EQ(found.outputs, Names{"found"});
  EXPECT_EQ(found.choosers, Names{"NonMaxSuppression 'nms'"});
  // `flat` is `boxes` in another shape; `scores` is an output already.
  EXPECT_EQ(found.judged, (Names{"scores", "boxes"}));
  EXPECT_NE(in_words(found).find("the size of found depends on the data"), std::string::npos) << in_words(found);
}

TEST(ChosenOutputs, InputsThatAreHandedOnAreNotJudged) {
  graph::Model model = detector();
  model.nodes.resize(3);
  model.nodes.push_back({"cast", "Cast", "", {"x"}, {"other_type"}});
  model.nodes.push_back({"same", "Identity", "", {"other_type"}, {"echo"}});
  model.outputs = {graph::tensor_value("echo", {1, 3, 8, 8}), graph::tensor_value("scores", {1, 3, 64})};
  const ChosenOutputs found = chosen_outputs(model);
  EXPECT_EQ(found.outputs, Names());
  EXPECT_EQ(found.echoes, Names{"echo"});
  EXPECT_EQ(found.judged, Names{"scores"});
  EXPECT_EQ(in_words(found), "not judged, as inputs that are handed on: echo");
  model.outputs.pop_back();
  EXPECT_EQ(chosen_outputs(model).judged, Names()) << "there is nothing else";
}

// As scikit-learn's converter writes a classifier: the label's number is looked up in a list of names.
graph::Model classifier(DataType label) {
  graph::Model model;
  model.opsets = {{"", 17}, {"ai.onnx.ml", 1}};
  model.inputs = {graph::tensor_value("x", {1, 4})};
  model.initializers = {{"w", Tensor::of<float>({4, 3}, std::vector<float>(12, 0.5F))},
                        {"b", Tensor::of<float>({3}, {0, 1, 2})},
                        {"names", Tensor::of<int64_t>({3}, {3, 5, 9})}};
  model.nodes = {{"gemm", "Gemm", "", {"x", "w", "b"}, {"logits"}},
                 {"softmax", "Softmax", "", {"logits"}, {"probabilities"}},
                 {"best", "ArgMax", "", {"probabilities"}, {"place"}},
                 {"look", "ArrayFeatureExtractor", "ai.onnx.ml", {"names", "place"}, {"name"}},
                 {"cast", "Cast", "", {"name"}, {"label"}}};
  model.nodes.back().set({"to", static_cast<int64_t>(label)});
  model.outputs = {{.name = "label", .type = label, .shape = Shape{1}}, graph::tensor_value("probabilities", {1, 3})};
  return model;
}

TEST(ChosenOutputs, LabelsAreNotJudgedBesideTheirScores) {
  for (const DataType type : {DataType::int64, DataType::string}) {
    const ChosenOutputs found = chosen_outputs(classifier(type));
    EXPECT_EQ(found.labels, Names{"label"});
    EXPECT_EQ(found.judged, Names{"probabilities"});
    EXPECT_EQ(in_words(found), "not judged, as labels of other outputs, or as they hold no numbers: label");
  }
  EXPECT_EQ(with_answers(classifier(DataType::string)).outputs.size(), 1U);
  graph::Model ranks = classifier(DataType::int64);
  ranks.nodes[2].inputs = {"logits"};
  EXPECT_EQ(chosen_outputs(ranks).labels, Names{"label"});
  ranks.nodes[2].inputs = {"x"};
  EXPECT_EQ(chosen_outputs(ranks).labels, Names()) << "the place of another value";
  ranks.outputs.pop_back();
  EXPECT_EQ(chosen_outputs(ranks).judged, Names()) << "there is nothing else";
}

// With the input among its outputs, a classifier had no head.
TEST(ChosenOutputs, AnInputThatIsHandedOnIsNoAnswer) {
  graph::Model model = classifier(DataType::int64);
  model.nodes.push_back({"same", "Identity", "", {"x"}, {"again"}});
  model.outputs.push_back(graph::tensor_value("again", {1, 4}));
  ASSERT_EQ(chosen_outputs(model).echoes, Names{"again"});
  const graph::Model answers = with_answers(model);
  ASSERT_EQ(answers.outputs.size(), 1U);
  EXPECT_EQ(answers.outputs.front().name, "probabilities");
}

TEST(ChosenOutputs, ComparisonsAreFollowedToWhatTheyCompare) {
  graph::Model model = detector();
  model.initializers["least"] = Tensor::of<float>({}, {0.5F});
  model.nodes.resize(3);
  model.nodes.push_back({"greater", "Greater", "", {"scores", "least"}, {"is_sure"}});
  model.nodes.push_back({"where", "NonZero", "", {"is_sure"}, {"places"}});
  model.nodes.push_back({"gather", "GatherND", "", {"boxes", "places"}, {"found"}});
  model.outputs = {graph::tensor_value("found", {-1, 4})};
  const ChosenOutputs found = chosen_outputs(model);
  EXPECT_EQ(found.choosers, Names{"NonZero 'where'"});
  EXPECT_EQ(found.judged, (Names{"scores", "boxes"}));
}

// Which comes first of two that are nearly equal is chance: what TopK orders is judged, not what it gives.
TEST(ChosenOutputs, WhatIsOrderedIsJudgedBefore) {
  graph::Model model = detector();
  model.nodes.resize(3);
  model.nodes.push_back({"top", "TopK", "", {"scores", "most"}, {"best", "order"}});
  model.nodes.push_back({"pick", "Gather", "", {"boxes", "order"}, {"picked"}});
  model.nodes.push_back({"nms", "NonMaxSuppression", "", {"picked", "best", "most"}, {"chosen"}});
  model.nodes.push_back({"gather", "Gather", "", {"picked", "chosen"}, {"found"}});
  model.outputs = {graph::tensor_value("found", {-1, 4})};
  EXPECT_EQ(chosen_outputs(model).judged, (Names{"scores", "boxes"}));
}

TEST(ChosenOutputs, OutputsOfFixedSizeAreJudgedAsTheyAre) {
  graph::Model model = detector();
  model.outputs = {graph::tensor_value("found", {20, 4})};
  EXPECT_TRUE(chosen_outputs(model).outputs.empty());
  // A batch of any size is the user's choice, not the data's.
  model.outputs[0].shape = Shape{-1, 4};
  model.outputs[0].symbols = {"batch", ""};
  model.inputs[0].shape = Shape{-1, 3, 8, 8};
  model.inputs[0].symbols = {"batch", "", "", ""};
  EXPECT_TRUE(chosen_outputs(model).outputs.empty());
  model.nodes.erase(model.nodes.begin() + 3, model.nodes.end());
  model.outputs = {graph::tensor_value("scores", {-1, 3, 64})};
  EXPECT_TRUE(chosen_outputs(model).outputs.empty());
}

TEST(ChosenOutputs, WhatIsChosenFromTheInputAloneCannotBeJudged) {
  graph::Model model;
  model.opsets = {{"", 17}};
  model.inputs = {graph::tensor_value("x", {8})};
  model.nodes = {{"where", "NonZero", "", {"x"}, {"places"}}};
  model.outputs = {{.name = "places", .type = DataType::int64, .shape = Shape{1, -1}}};
  const ChosenOutputs found = chosen_outputs(model);
  EXPECT_EQ(found.outputs, Names{"places"});
  EXPECT_TRUE(found.judged.empty());
  EXPECT_NE(in_words(found).find("no values from which is chosen"), std::string::npos) << in_words(found);
}

}  // namespace
}  // namespace quasar::ops
