// What every reader keeps, whatever its format.
#include <set>

#include "quasar/data/class_names.hpp"
#include "quasar/data/reader.hpp"
#include "unit/data/files.hpp"

namespace quasar::data {
namespace {

namespace fs = std::filesystem;

const std::vector<graph::Value> vectors = {input_of("v", DataType::float32, Shape{-1, 2})};
const std::vector<graph::Value> pictures = {input_of("v", DataType::float32, Shape{-1, 1, 1, 2})};  // for reader images

// Two samples for every reader in one folder: [1,2] and [3,4].
class Readers : public ::testing::TestWithParam<std::string> {
 protected:
  Readers() {
    const std::vector<float> samples[] = {{1, 2}, {3, 4}};
    write_npz(folder.path() / "npz", {{"v", npy_text<float>({2, 2}, {1, 2, 3, 4})}});
    for (int i = 0; i < 2; ++i) {
      const fs::path set = folder.path() / "pb" / ("test_data_set_" + std::to_string(i));
      fs::create_directories(set);
      write_file(set / "input_0.pb", std::string("\x08\x02\x10\x01\x4a\x08", 6) + raw(samples[i]));
      fs::create_directories(folder.path() / "npy");
      write_file(folder.path() / "npy" / (std::to_string(i) + ".npy"), npy_text<float>({2}, samples[i]));
    }
    fs::create_directories(folder.path() / "images");
    for (int i = 0; i < 2; ++i) {
      fs::copy_file(fs::path(QUASAR_SOURCE_DIR) / "tests/unit/data/pictures" / ("pixels_" + std::to_string(i) + ".png"),
                    folder.path() / "images" / (std::to_string(i) + ".png"));
    }
  }
  const std::vector<graph::Value>& inputs() const { return GetParam() == "images" ? pictures : vectors; }
  Json options(Json more = Json::object()) const {
    if (GetParam() == "random") {
      more["count"] = 2;
    } else {
      more["path"] = GetParam();
    }
    if (GetParam() == "images" && !more.contains("color")) more["color"] = "gray";
    return more;
  }
  DatasetPtr open_with(const Json& more = Json::object()) const {
    return readers::table().make(GetParam(), options(more))->open(inputs(), folder.path());
  }
  TemporaryFolder folder;
};

TEST_P(Readers, SamplesFitTheModelAndStayTheSame) {
  const DatasetPtr data = open_with();
  ASSERT_EQ(data->size(), 2U);
  EXPECT_FALSE(data->source().empty());
  for (size_t i = 0; i < 2; ++i) {
    const Sample sample = data->at(i);
    ASSERT_EQ(sample.size(), 1U);
    EXPECT_EQ(sample[0].type(), DataType::float32);
    EXPECT_EQ(sample[0].count(), 2U);
    EXPECT_EQ(sample[0].shape().size(), inputs()[0].shape->size());
    EXPECT_EQ(data->at(i), sample);
    if (GetParam() != "random") {
      EXPECT_EQ(sample[0].as<float>()[0], i == 0 ? 1 : 3);
    }
  }
  EXPECT_NE(data->at(0), data->at(1));
}

TEST_P(Readers, LimitAndBatchSize) {
  const DatasetPtr data = open_with({{"limit", 1}});
  ASSERT_EQ(data->size(), 1U);
  EXPECT_EQ(data->at(0), open_with()->at(0));
  EXPECT_EQ(open_with({{"limit", 0}})->size(), 2U);
  EXPECT_EQ(missing(error_of([&] { open_with({{"batch_size", 4}}); }), {"reader " + GetParam(), "not yet supported"}), "");
}

TEST_P(Readers, OptionsAreDescribedAndChecked) {
  const auto& entry = readers::table().find(GetParam()).second;
  EXPECT_FALSE(entry.help.empty());
  std::set<std::string> names;
  for (const auto& option : entry.options) {
    EXPECT_FALSE(option.help.empty()) << option.name;
    EXPECT_TRUE(names.insert(option.name).second) << option.name;
  }
  EXPECT_EQ(missing(error_of([&] { open_with({{"limitt", 4}}); }), {"unknown option 'limitt'", "did you mean 'limit'"}), "");
  EXPECT_EQ(missing(error_of([&] { open_with({{"limit", -4}}); }), {"'limit' is -4"}), "");
  for (const auto& option : entry.options) {
    if (option.name == "path" || option.name == "count" || option.name == "color") continue;
    EXPECT_EQ(error_of([&] { open_with({{option.name, nullptr}}); }), "no error") << option.name;
  }
}

// In all forms; of all readers that read files. Splits keep them.
TEST_P(Readers, NamesOfClasses) {
  if (GetParam() == "random") GTEST_SKIP() << "random samples have no classes";
  write_file(folder.path() / "names.txt",
             "\xef\xbb\xbf"
             "cat, a pet\r\ndog\r\n\r\n");
  write_file(folder.path() / "names.yaml", "{0: 'cat, a pet', 1: dog}");
  write_file(folder.path() / "names.json", "[\"cat, a pet\", \"dog\"]");
  const Json forms[] = {{"cat, a pet", "dog"}, {{"0", "cat, a pet"}, {"1", "dog"}}, "names.txt", "names.yaml", "names.json"};
  for (const Json& form : forms) {
    const auto read = open_with({{"class_names", form}, {"label_offset", 1}});
    for (const auto& data : {read, first(read, 1)}) {
      EXPECT_EQ(class_name_of(*data, 1), "cat, a pet") << form;
      EXPECT_EQ(class_name_of(*data, 2), "dog") << form;
      EXPECT_EQ(class_name_of(*data, 0), "") << form;
      EXPECT_EQ(class_name_of(*data, 3), "") << form;
    }
  }
  EXPECT_EQ(class_name_of(*open_with(), 0), "");
}

TEST_P(Readers, EmptyModelsAndForeignInputsAreRefused) {
  const auto reader = readers::table().make(GetParam(), options());
  EXPECT_NE(error_of([&] { reader->open({}, folder.path()); }), "no error");
  EXPECT_EQ(missing(error_of([&] { reader->open({input_of("s", DataType::string, Shape{1})}, folder.path()); }), {"'s'"}), "");
}

INSTANTIATE_TEST_SUITE_P(All, Readers, ::testing::ValuesIn(readers::table().names()),
                         [](const auto& item) { return item.param; });

}  // namespace
}  // namespace quasar::data
