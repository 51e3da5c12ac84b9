// What every custom evaluator keeps, however it scores.
#include <gtest/gtest.h>

#include <set>

#include "quasar/base/file.hpp"
#include "quasar/eval/custom.hpp"

namespace quasar::eval {
namespace {

class Evaluators : public testing::TestWithParam<std::string> {
 protected:
  // Words that name no evaluation that could work, but a correct one.
  Json words(Json more = Json::object()) const {
    more[GetParam()] = GetParam() == "command" ? "score {model}" : "score:er";
    return more;
  }
  std::string error_of(const Json& given) const {
    try {
      custom_evaluator(given);
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  }
};

TEST_P(Evaluators, AreDescribedAndNamedByTheirFirstOption) {
  const auto& entry = evaluators::table().find(GetParam()).second;
  EXPECT_FALSE(entry.help.empty());
  EXPECT_EQ(entry.options.front().name, GetParam());
  std::set<std::string> names;
  for (const auto& option : entry.options) {
    EXPECT_FALSE(option.help.empty()) << option.name;
    EXPECT_TRUE(names.insert(option.name).second) << option.name;
  }
}

TEST_P(Evaluators, GiveTheMetricsThatTheUserDeclares) {
  EXPECT_EQ(custom_evaluator(words())->metrics().front().name, "score");
  const auto two = custom_evaluator(words({{"metrics", {{"a", "minimize"}, {"b", "maximize"}}}}));
  ASSERT_EQ(two->metrics().size(), 2u);
  EXPECT_EQ(two->metrics()[0].direction, Direction::minimize);
  EXPECT_EQ(two->metrics()[1].direction, Direction::maximize);
}

TEST_P(Evaluators, RefuseWrongOptions) {
  EXPECT_NE(error_of(words({{"metric", {"a"}}})).find("did you mean 'metrics'"), std::string::npos);
  EXPECT_NE(error_of(words({{"direction", "up"}})).find("maximize or minimize"), std::string::npos);
  EXPECT_NE(error_of({{GetParam(), 7}}), "no error");
  EXPECT_NE(error_of({{GetParam(), nullptr}}), "no error");
}

TEST_P(Evaluators, FailWithAnErrorOfTheirOwnAndNotOtherwise) {
  const graph::Model model;
  const TemporaryFolder folder;
  const Surroundings surroundings{folder.path(), folder.path() / "float.onnx", {}, {}};
  const Subject subject(model, surroundings, folder.path() / "model.onnx", {});
  EXPECT_THROW(custom_evaluator(words())->score(subject), Error);
}

INSTANTIATE_TEST_SUITE_P(All, Evaluators, testing::ValuesIn(evaluators::table().names()),
                         [](const auto& item) { return item.param; });

}  // namespace
}  // namespace quasar::eval
