// Ids that are in no row of a model's table.
#include "quasar/data/checked_ids.hpp"

#include "quasar/data/in_memory.hpp"
#include "quasar/data/reader.hpp"
#include "unit/data/files.hpp"
#include "unit/runtime/models.hpp"

namespace quasar::data {
namespace {

// A table of 5 rows for ids, and one of 3 for positions, which are cast and get another shape before.
graph::Model two_tables() {
  graph::Model m = test::empty_model();
  m.inputs = {input_of("input_ids", DataType::int64, Shape{-1, -1}), input_of("position_ids", DataType::int32, Shape{-1, -1}),
              input_of("attention_mask", DataType::int64, Shape{-1, -1})};
  m.initializers["words"] = Tensor::of<float>({5, 1}, {1, 2, 3, 4, 5});
  m.initializers["places"] = Tensor::of<float>({3, 1}, {1, 2, 3});
  m.initializers["few"] = Tensor::of<float>({2, 1}, {1, 2});
  m.nodes = {test::node("Gather", "look", {"words", "input_ids"}, {"a"}), test::node("Cast", "cast", {"position_ids"}, {"wide"}),
             test::node("Unsqueeze", "shape", {"wide", "axes"}, {"shaped"}),
             test::node("Gather", "place", {"places", "shaped"}, {"b"}),
             test::node("Gather", "inner", {"few", "input_ids"}, {"c"})};
  m.nodes.back().inside = "If/then_branch";
  return m;
}

Item ids(const std::vector<int64_t>& tokens, const std::vector<int32_t>& places) {
  const auto count = static_cast<int64_t>(tokens.size());
  return {{"input_ids", Tensor::of<int64_t>({1, count}, tokens)},
          {"position_ids", Tensor::of<int32_t>({1, count}, places)},
          {"attention_mask", Tensor::of<int64_t>({1, count}, std::vector<int64_t>(tokens.size(), 9))}};
}

DatasetPtr checked(const std::vector<Item>& items, std::shared_ptr<NegativeIds> negative = nullptr) {
  const graph::Model model = two_tables();
  const Registration<Reader> guest(readers::table(), "ids", memory(std::make_shared<std::vector<Item>>(items), "a test"));
  return with_checked_ids(open({{"reader", "ids"}}, model.inputs), model, std::move(negative));
}

TEST(CheckedIds, TablesAreFoundBehindCastsAndShapes) {
  const auto tables = id_tables(two_tables());
  ASSERT_EQ(tables.size(), 2U);
  EXPECT_EQ(tables.at("input_ids").rows, 5);  // what stands in a body may never be read
  EXPECT_EQ(tables.at("position_ids").name, "places");
  graph::Model other = two_tables();
  other.nodes[0].set({"axis", int64_t{1}});
  EXPECT_FALSE(id_tables(other).contains("input_ids"));
}

TEST(CheckedIds, AnIdBeyondTheTableIsNamedWithItsPlace) {
  const DatasetPtr data = checked({ids({0, 4, 1}, {0, 1, 2}), ids({0, 1, 5}, {0, 1, 2}), ids({0, 1, 1}, {0, 1, 3})});
  EXPECT_EQ(data->at(0)[0].as<int64_t>()[1], 4);
  EXPECT_EQ(
      missing(error_of([&] { data->at(1); }), {"a test, sample 1: input 'input_ids' holds the id 5 at [0,2]",
                                               "'words', which has 5 rows (ids 0 to 4)", "the tokenizer that made the ids"}),
      "");
  EXPECT_EQ(missing(error_of([&] { data->at(2); }), {"input 'position_ids' holds the id 3", "3 rows", "no text that long"}), "");
}

// ONNX lets -1 be the last row: no error, but hardly what was meant.
TEST(CheckedIds, NegativeIdsAreAnErrorBelowTheTableAndAreToldOtherwise) {
  const auto negative = std::make_shared<NegativeIds>();
  const DatasetPtr data =
      checked({ids({0, -1, -5}, {0, 1, 2}), ids({0, -100, 1}, {0, 1, 2}), ids({-2, 0, 1}, {0, 1, 2})}, negative);
  EXPECT_TRUE(negative->news().empty());
  data->at(0);
  data->at(2);
  const auto news = negative->news();
  ASSERT_EQ(news.size(), 1U);
  EXPECT_EQ(missing(news[0], {"sample 0: input 'input_ids' holds the id -1 at [0,1]", "counts from the end", "padding token"}),
            "");
  EXPECT_TRUE(negative->news().empty());
  EXPECT_EQ(missing(error_of([&] { data->at(1); }), {"the id -100 at [0,1]", "in labels only", "attention_mask with 0"}), "");
}

TEST(CheckedIds, OtherModelsKeepTheirSamples) {
  const DatasetPtr data = checked({ids({0}, {0})});
  graph::Model none = two_tables();
  none.nodes.clear();
  EXPECT_EQ(with_checked_ids(data, none), data);
  EXPECT_EQ(with_checked_ids(nullptr, two_tables()), nullptr);
}

}  // namespace
}  // namespace quasar::data
