// Custom evaluators: what they are asked, what they may answer, and how they fail.
#include "quasar/eval/custom.hpp"

#include <gtest/gtest.h>

#include "quasar/base/file.hpp"
#include "quasar/data/bytes.hpp"
#include "quasar/data/npy.hpp"
#include "quasar/data/npy_write.hpp"
#include "quasar/eval/evaluate.hpp"
#include "unit/error_of.hpp"
#include "unit/runtime/models.hpp"

namespace quasar::eval {
namespace {

using test::error_of;
using test::float_value;
using test::node;

Json words(const std::string& text) {
  return parse_json(text, "test");
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// y = x · w
graph::Model scaled(float w) {
  graph::Model m = test::empty_model();
  m.inputs = {float_value("x", {-1, 3}, {"N", ""})};
  m.outputs = {float_value("y", {-1, 3}, {"N", ""})};
  m.initializers["w"] = test::floats({w, w, w});
  m.nodes = {node("Mul", "scale", {"x", "w"}, {"y"})};
  return m;
}

struct Command : testing::Test {
  const graph::Model model = scaled(1);
  const Surroundings surroundings{{}, "float.onnx", {}, {}};
  const Subject subject{model, surroundings, {}, {}};

  Values score(const Json& words) const { return custom_evaluator(words)->score(subject); }
};

TEST_F(Command, TheLastLineIsANumberOrJson) {
  EXPECT_EQ(score(words(R"({"command": ["sh", "-c", "echo loading; echo 0.25; echo", "{model}"]})")), (Values{{"score", 0.25}}));
  EXPECT_EQ(score(words(
                R"({"command": "echo {model} > /dev/null; echo '{\"a\": 1, \"b\": 2.5, \"note\": \"x\"}'", "metrics": ["a"]})")),
            (Values{{"a", 1}, {"b", 2.5}}));
  EXPECT_EQ(score(words(R"({"command": ["printf", "{\n\"score\":\n3}\n%.0s", "{model}"]})")), (Values{{"score", 3}}));
}

TEST_F(Command, TheModelIsAFileAndTheShellGetsItQuoted) {
  EXPECT_GT(score(words(R"({"command": "wc -c < {model}"})")).at("score"), 50);
  EXPECT_EQ(score(words(R"({"command": ["sh", "-c", "[ $1 = float.onnx ] && echo 1", "{model}", "{reference}"]})")).at("score"),
            1);
}

TEST_F(Command, FailuresTellWhatItWroteToStandardError) {
  const auto failure = [&](const std::string& line, int timeout = 3600) -> std::pair<std::string, std::string> {
    try {
      score({{"command", line + " #{model}"}, {"timeout", timeout}});
    } catch (const EvaluatorFailed& failed) {
      EXPECT_EQ(failed.kind, "stderr");
      return {failed.what(), failed.details};
    }
    return {"no error", ""};
  };
  EXPECT_EQ(failure("echo no data >&2; exit 3"),
            (std::pair<std::string, std::string>("the evaluator ended with exit code 3", "no data\n")));
  EXPECT_TRUE(holds(failure("echo oops").first, "last line is 'oops'"));
  EXPECT_TRUE(holds(failure("true").first, "last line is ''"));
  EXPECT_TRUE(holds(failure("echo nan").first, "score is not finite"));
  EXPECT_TRUE(holds(failure("echo '{\"accuracy\": 1}'").first, "no value for 'score', but for accuracy"));
  const auto [hung, said] = failure("echo before >&2; sleep 3600", 2);
  EXPECT_TRUE(holds(hung, "longer than its timeout of 2"));
  EXPECT_EQ(said, "before\n");
}

TEST(CustomEvaluators, WordsAreChecked) {
  const auto error = [](const std::string& text, const std::string& direction = "") {
    return error_of([&] { custom_evaluator(words(text), direction); });
  };
  EXPECT_TRUE(holds(error("{}"), "exactly one of command, library, python"));
  EXPECT_TRUE(holds(error(R"({"comand": ["x"]})"), "exactly one of"));
  EXPECT_TRUE(holds(error(R"({"command": ["x"]})"), "does not hold {model}"));
  EXPECT_TRUE(holds(error(R"({"command": 3})"), "list of texts"));
  EXPECT_TRUE(holds(error(R"({"command": ["{model}"], "timout": 3})"), "did you mean 'timeout'"));
  EXPECT_TRUE(holds(error(R"({"command": ["{model}"], "metrics": ["L2"]})"), "metric of Quasar's own"));
  EXPECT_TRUE(holds(error(R"({"command": ["{model}"], "metrics": ["latency"]})"), "Quasar itself measures"));
  EXPECT_TRUE(holds(error(R"({"command": ["{model}"], "metrics": ["a", "a"]})"), "twice"));
  EXPECT_TRUE(holds(error(R"({"command": ["{model}"], "metrics": {"a": "up"}})"), "maximize or minimize"));
  EXPECT_TRUE(holds(error(R"({"command": ["{model}"], "metrics": {"a": "minimize"}})", "maximize"), "contradicts"));
  EXPECT_TRUE(holds(error(R"({"python": "score.py"})"), "FILE:FUNCTION"));
  EXPECT_TRUE(holds(error(R"({"library": 3})"), "path of a shared library"));
  const auto evaluator = custom_evaluator(words(R"({"command": ["{model}"], "metrics": ["a", "b"]})"), "minimize");
  EXPECT_EQ(evaluator->metrics()[0].direction, Direction::minimize);
  EXPECT_EQ(custom_evaluator(words(R"({"command": ["{model}"]})"))->metrics()[0].direction, Direction::maximize);
}

TEST(CustomEvaluators, ALibraryIsTheExample) {
  const TemporaryFolder folder;
  write_file(folder.path() / "float.onnx", std::string(1000000, 'x'));
  const graph::Model model = scaled(1);
  const Surroundings surroundings{QUASAR_PLUGIN_FOLDER, folder.path() / "float.onnx", {}, {}};
  const Subject subject(model, surroundings, {}, {});
  Json words{{"library", "libevaluator_plugin.so"}, {"metrics", {{"smallness", "maximize"}}}};
  EXPECT_GT(custom_evaluator(words)->score(subject).at("smallness"), 100);
  words["options"] = Json::array({"kilobytes"});
  EXPECT_EQ(custom_evaluator(words)->score(subject).size(), 2u);
  const Surroundings nowhere{QUASAR_PLUGIN_FOLDER, folder.path() / "no.onnx", {}, {}};
  EXPECT_EQ(error_of([&] { custom_evaluator(words)->score(Subject(model, nowhere, {}, {})); }),
            "the evaluator failed: a model's file cannot be read");
  words["library"] = "no.so";
  EXPECT_TRUE(holds(error_of([&] { custom_evaluator(words)->score(subject); }), "no.so' cannot be used"));
  words["library"] = QUASAR_LIBRARY;
  EXPECT_TRUE(holds(error_of([&] { custom_evaluator(words)->score(subject); }), "no function quasar_evaluator_version"));
}

class Three : public data::Dataset {
 public:
  size_t size() const override { return 3; }
  data::Sample at(size_t i) const override { return {Tensor::of<float>({1, 3}, {1, 2, static_cast<float>(i)})}; }
  std::optional<int64_t> label(size_t i) const override { return static_cast<int64_t>(i); }
  std::string source() const override { return "'three'"; }
};

// The sum of the outputs' differences, plus the labels.
class Differences final : public CustomEvaluator {
 public:
  Differences() : CustomEvaluator({{"differences", Direction::minimize}}) {}
  bool looks_at_samples() const override { return true; }
  Values score(const Subject& subject) const override {
    const auto before = stacked(subject.surroundings().reference().values[0]), after = stacked(subject.outputs().values[0]);
    EXPECT_EQ(after->shape(), (Shape{3, 3}));
    double sum = 0;
    for (size_t i = 0; i < after->count(); ++i) sum += after->as<float>()[i] - before->as<float>()[i];
    for (const int64_t label : subject.surroundings().labels) sum += static_cast<double>(label);
    return {{"differences", sum}, {"sum", 1}};
  }
};

TEST(CustomEvaluators, StandBesideBuiltInMetricsOrAlone) {
  for (const bool alone : {true, false}) {
    EvaluatorOptions options{.metrics = {"differences"}, .custom = std::make_shared<Differences>()};
    if (!alone) options.metrics.push_back("L2");
    const Evaluator evaluator(scaled(1), std::make_shared<Three>(), options);
    EXPECT_EQ(evaluator.reference().at("differences").value, 3);
    const Scores scores = evaluator.score(scaled(2));
    EXPECT_EQ(scores.at("differences").value, 3 + 9 + 3);
    EXPECT_EQ(scores.at("sum").value, 1);
    EXPECT_EQ(scores.size(), alone ? 2u : 3u);
  }
}

// Boxes that a model suppresses by itself, for example: their number depends on the data.
TEST(CustomEvaluators, DoWithOutputsThatMetricsCannotCompare) {
  class Mine final : public CustomEvaluator {
   public:
    Mine() : CustomEvaluator({{"mine", Direction::maximize}}) {}
    Values score(const Subject&) const override { return {{"mine", 0.5}}; }
  };
  graph::Model twice = scaled(1);
  twice.outputs = {float_value("y", {-1, 6}, {"N", ""})};
  twice.initializers = {{"times", test::longs({1, 2})}};
  twice.nodes = {node("Tile", "twice", {"x", "times"}, {"y"})};
  const Evaluator beside(scaled(1), std::make_shared<Three>(), {.metrics = {"mine", "L2"}, .custom = std::make_shared<Mine>()});
  EXPECT_EQ(beside.score(twice).at("mine").value, 0.5);
  EXPECT_FALSE(beside.score(twice).contains("L2"));
  EXPECT_TRUE(beside.score(scaled(2)).contains("L2"));
  const Evaluator alone(scaled(1), std::make_shared<Three>(), {.metrics = {"L2"}});
  EXPECT_TRUE(holds(error_of([&] { alone.score(twice); }), "has 6 output values, the float model 3"));
}

TEST(CustomEvaluators, CannotGiveWhatIsMeasuredAlready) {
  class Mine final : public CustomEvaluator {
   public:
    Mine() : CustomEvaluator({{"mine", Direction::minimize}}) {}
    Values score(const Subject&) const override { return {{"mine", 1}, {"L2", 1}}; }
  };
  const EvaluatorOptions options{.metrics = {"mine", "L2"}, .custom = std::make_shared<Mine>()};
  EXPECT_TRUE(
      holds(error_of([&] { Evaluator(scaled(1), std::make_shared<Three>(), options); }), "'L2', which Quasar measures itself"));
}

TEST(CustomEvaluators, ArraysAreWrittenAsNumPyReadsThem) {
  const TemporaryFolder folder;
  const Tensor array = Tensor::of<int64_t>({2, 3}, std::vector<int64_t>{1, 2, 3, 4, 5, 1LL << 40});
  data::write_npy(folder.path() / "a.npy", array);
  EXPECT_EQ(data::NpyArray(data::file_bytes(folder.path() / "a.npy"), "a.npy").all(), array);
  const Tensor scalar = Tensor::scalar(2.5F);
  EXPECT_EQ(stacked({scalar, scalar})->shape(), (Shape{2}));
  EXPECT_FALSE(stacked({scalar, array}));
  EXPECT_TRUE(holds(error_of([&] { data::write_npy(folder.path() / "a.npy", Tensor::strings({1}, {"x"})); }), "type string"));
}

}  // namespace
}  // namespace quasar::eval
