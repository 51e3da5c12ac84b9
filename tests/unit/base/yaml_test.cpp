#include "quasar/base/yaml.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "quasar/base/error.hpp"
#include "quasar/base/file.hpp"

namespace quasar {
namespace {

std::string message_of(const std::string& text) {
  try {
    parse_yaml(text, "c.yaml");
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(Yaml, ScalarsFollowTheCoreSchema) {
  const std::vector<std::pair<std::string, Json>> table = {
      {"true", true},
      {"False", false},
      {"null", nullptr},
      {"~", nullptr},
      {"12", 12},
      {"-7", -7},
      {"+3", 3},
      {"0x1F", 31},
      {"0o17", 15},
      {"017", 17},
      {"1e-3", 1e-3},
      {"0.5", 0.5},
      {".5", .5},
      {"5.", 5.0},
      {"1E5", 1e5},
      {"'12'", "12"},
      {"\"true\"", "true"},
      {"yes", "yes"},
      {"on", "on"},
      {"A8W8", "A8W8"},
      {"1.2.3", "1.2.3"},
      {"1e", "1e"},
      {"!!str 12", "12"},
      {"-", Json::array({nullptr})},
      {"''", ""},
      {"-0", 0},
      {"1_000", "1_000"},
      {"2024-01-02", "2024-01-02"},
      {"18446744073709551615", 18446744073709551615ULL},
  };
  for (const auto& [text, expected] : table) {
    const Json found = parse_yaml(text, "t");
    EXPECT_EQ(found, expected) << text;
    EXPECT_EQ(found.is_number_float(), expected.is_number_float()) << text;
  }
  EXPECT_EQ(parse_yaml("-.inf", "t").get<double>(), -INFINITY);
  EXPECT_TRUE(std::isnan(parse_yaml(".nan", "t").get<double>()));
  EXPECT_EQ(parse_yaml("123456789012345678901234567890", "t").get<double>(), 123456789012345678901234567890.0);
}

TEST(Yaml, CollectionsKeepTheirOrder) {
  const Json found = parse_yaml("z: 1\na: [x, 2, {b: null}]\nm: &v {k: 1e-2}\nn: *v\n", "t");
  EXPECT_EQ(found.dump(), R"({"z":1,"a":["x",2,{"b":null}],"m":{"k":0.01},"n":{"k":0.01}})");
  EXPECT_TRUE(parse_yaml("", "t").is_null());
  EXPECT_TRUE(parse_yaml("# nothing\n", "t").is_null());
  EXPECT_EQ(parse_yaml(R"({"a": [1, "b", true]})", "t").dump(), R"({"a":[1,"b",true]})");
}

TEST(Yaml, ErrorsNameSourceAndLine) {
  EXPECT_EQ(message_of("a: 1\nb: 2\na: 3\n"), "c.yaml, line 3: key 'a' is given twice");
  EXPECT_EQ(message_of("a: 1\n[x]: 2\n"), "c.yaml, line 2: a key must be a word, not a list or a mapping");
  EXPECT_NE(message_of("a: 1\nb: [1, 2\n").find("c.yaml, line "), std::string::npos);
  EXPECT_NE(message_of("a: 1\nb: [1, 2\n").find("not valid YAML"), std::string::npos);
  EXPECT_NE(message_of("a: *nowhere").find("not valid YAML"), std::string::npos);
  EXPECT_NE(message_of("a: 1\n---\nb: 2\n").find("more than one YAML document"), std::string::npos);
  EXPECT_NE(message_of(", a").find("c.yaml"), std::string::npos);  // yaml-cpp finds documents in it without end
  EXPECT_NE(message_of("a: !!python/object:os.system x").find("is not supported"), std::string::npos);
}

TEST(Yaml, AliasBombsAreRefused) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string name = "a" + std::to_string(i), before = "*a" + std::to_string(i - 1);
    text += name + ": &" + name + " [" + before;
    for (int k = 0; k < 9; ++k) text += ", " + before;
    text += "]\n";
  }
  EXPECT_NE(message_of(text).find("nested too deeply, or too large"), std::string::npos);
  EXPECT_NE(message_of("a: &a [*a]").find("c.yaml"), std::string::npos);
}

TEST(Yaml, WhatIsNoTextIsRefused) {
  EXPECT_EQ(message_of("a: 1\nb: [\xff]\n"), "c.yaml, line 2: '\xff' is not UTF-8 text");
  EXPECT_NE(message_of("a\xc3: 1\n").find("is not UTF-8 text"), std::string::npos);
  EXPECT_EQ(message_of("ä: ö\n"), "no error");
}

// Json itself looks through all keys for each new one.
TEST(Yaml, MappingsMayHaveManyKeys) {
  std::string text;
  for (int i = 0; i < 50'000; ++i) text += "k" + std::to_string(i) + ": 1\n";
  EXPECT_EQ(parse_yaml(text, "t").size(), 50'000U);
}

TEST(Yaml, WhatIsWrittenIsReadAsItWas) {
  const Json value{{"a", {1, 2.5, INFINITY, {{"b", -INFINITY}, {"c", "x: y"}}}}, {"d", {{"e", Json::array()}, {"f", nullptr}}}};
  EXPECT_EQ(parse_yaml(to_yaml(value), "t"), value);
  EXPECT_TRUE(std::isnan(parse_yaml(to_yaml({{"a", NAN}}), "t")["a"].get<double>()));
}

// yaml-cpp, like the specification, ends a key without a question mark after 1024 characters.
TEST(Yaml, LongKeysAreReadAsTheyWereWritten) {
  const std::string key(1200, 'k');
  for (const Json& value : {Json{{key, 1}, {"b", 2}}, Json{{"a", {{key, {{"c", 1}}}}}}, Json{{{"a", {{key, {1}}, {"b", 2}}}}}})
    EXPECT_EQ(parse_yaml(to_yaml(value), "t"), value) << to_yaml(value);
}

TEST(Yaml, ReadsFilesAndNamesThem) {
  const TemporaryFolder folder;
  write_file(folder.path() / "x.yaml", "a: 1\n");
  EXPECT_EQ(read_yaml(folder.path() / "x.yaml"), Json({{"a", 1}}));
  EXPECT_THROW(read_yaml(folder.path() / "none.yaml"), Error);
}

}  // namespace
}  // namespace quasar
