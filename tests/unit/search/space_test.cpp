#include "quasar/search/space.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <functional>
#include <set>

#include "quasar/base/error.hpp"

namespace quasar::search {
namespace {

Json words(const std::string& text) {
  return parse_json(text, "test");
}

const char* const conditional = R"({
  "activation": ["Int8Spec", null],
  "activation_params": {"symmetric": [true, false], "method": ["MinMax", "Percentile", "Entropy"], "only_if": "activation"},
  "weight": "Int8Spec",
  "algorithms": ["adaround", "adaquant", null],
  "adaround_params": {"NumIterLR": [[3000, 0.1], [1000, 0.2]], "only_if": {"algorithms": "adaround", "activation": "Int8Spec"}},
  "exclude": [null, ["conv1", "conv2"]]
})";

// What the conditions mean, spelled out: the full product of all lists, inactive values masked, each masked combination once.
std::vector<std::string> masked_product() {
  std::vector<std::string> out;
  std::set<std::string> seen;
  const Json methods = {"MinMax", "Percentile", "Entropy"};
  const Json algorithms = {"adaround", "adaquant", nullptr};
  for (const Json& activation : Json{"Int8Spec", nullptr})
    for (const bool symmetric : {true, false})
      for (const Json& method : methods)
        for (const Json& algorithm : algorithms)
          for (const char* pair : {"[3000,0.1]", "[1000,0.2]"})
            for (const char* exclude : {"null", R"(["conv1","conv2"])"}) {
              Json c = {{"activation", activation}};
              if (!activation.is_null()) c["activation_params"] = {{"symmetric", symmetric}, {"method", method}};
              c["weight"] = "Int8Spec";
              c["algorithms"] = algorithm;
              if (algorithm == "adaround" && activation == "Int8Spec") c["adaround_params"]["NumIterLR"] = Json::parse(pair);
              c["exclude"] = Json::parse(exclude);
              if (seen.insert(c.dump()).second) out.push_back(c.dump());
            }
  return out;
}

TEST(Space, EnumeratesTheMaskedProductInOrder) {
  const Space space = Space::parse(words(conditional));
  const auto expected = masked_product();
  ASSERT_EQ(space.size(), expected.size());  // (6 · 4 + 3) · 2 = 54
  EXPECT_EQ(expected.size(), 54u);
  for (uint64_t i = 0; i < expected.size(); ++i) {
    const Point point = space.at(i);
    EXPECT_EQ(space.decode(point).dump(), expected[i]);
    EXPECT_EQ(space.index_of(point), i);
    EXPECT_EQ(space.encode(space.decode(point)), point);
    EXPECT_NO_THROW(space.check(point));
  }
}

TEST(Space, StudyNamesAreFlat) {
  const Point point = Space::parse(words(conditional)).at(0);
  ASSERT_NE(point.find("adaround_params_NumIterLR"), nullptr);
  EXPECT_EQ(*point.find("adaround_params_NumIterLR"), words("[3000, 0.1]"));
  EXPECT_EQ(*point.find("weight"), "Int8Spec");
  EXPECT_EQ(point.find("symmetric"), nullptr);
}

TEST(Space, OrderInTheFileDoesNotMatter) {
  const Json ordered = words(conditional);
  std::vector<std::string> keys;
  for (const auto& [key, value] : ordered.items()) keys.push_back(key);
  const auto configurations = [](const Space& space) {
    std::set<std::string> out;
    for (uint64_t i = 0; i < *space.size(); ++i) out.insert(canonical(space.decode(space.at(i))));
    return out;
  };
  const auto expected = configurations(Space::parse(ordered));
  Json reversed = Json::object();
  for (auto key = keys.rbegin(); key != keys.rend(); ++key) reversed[*key] = ordered[*key];
  EXPECT_EQ(configurations(Space::parse(reversed)), expected);
}

TEST(Space, PresenceMeansChosenAndNotNull) {
  const Space space =
      Space::parse(words(R"({"cle_algo": ["cle", null], "cle_params": {"cle_steps": [-1, 1], "only_if": "cle_algo"}})"));
  EXPECT_EQ(space.size(), 3u);
  EXPECT_TRUE(space.is_active(*space.find("cle_params_cle_steps"), {{"cle_algo", "cle"}}));
  EXPECT_FALSE(space.is_active(*space.find("cle_params_cle_steps"), {{"cle_algo", nullptr}}));
}

TEST(Space, ConditionOnNullAndOnMembersOfOtherGroups) {
  const Space space = Space::parse(words(R"({
    "b_params": {"deep": [1, 2, 3], "only_if": {"a_params_mode": "x"}},
    "c_params": {"fallback": [1, 2], "only_if": {"a": null}},
    "a": ["on", null], "a_params": {"mode": ["x", "y"], "only_if": "a"}})"));
  EXPECT_EQ(space.size(), 3u + 1u + 2u);
  for (uint64_t i = 0; i < *space.size(); ++i) EXPECT_EQ(space.index_of(space.at(i)), i);
}

TEST(Space, ValuesOfOnlyIfAreMatchedAsNames) {
  const Space space =
      Space::parse(words(R"({"algorithms": ["AdaRound", null], "p": {"n": [1, 2], "only_if": {"algorithms": "ada_round"}}})"));
  EXPECT_EQ(space.size(), 3u);
}

TEST(Space, OnlyIfTakesSeveralValues) {
  const Space space = Space::parse(words(R"({"a": ["x", "y", "z"], "p": {"n": [1, 2], "only_if": {"a": ["X", "z"]}},
    "q": {"m": [3], "only_if": {"p_n": [1, 2]}}})"));
  EXPECT_EQ(space.size(), 2u + 1u + 2u);
  for (uint64_t i = 0; i < *space.size(); ++i) EXPECT_EQ(space.index_of(space.at(i)), i);
  Rng rng(1);
  for (int i = 0; i < 20; i++) {
    const auto point = space.with({{"q_m", 3}}, rng);
    ASSERT_TRUE(point);
    EXPECT_NE(*point->find("a"), "y");
  }
  const auto last = space.with({{"a", "z"}, {"q_m", 3}}, rng);
  ASSERT_TRUE(last);
  EXPECT_EQ(*last->find("a"), "z") << "what is asked for already stays";
  // A list that the parent has among its choices is that choice.
  const Space lists = Space::parse(words(R"({"a": [[1, 2], 1, 2], "p": {"n": [1, 2], "only_if": {"a": [1, 2]}}})"));
  EXPECT_EQ(lists.size(), 2u + 1u + 1u);
}

TEST(Space, DictionariesOfTypeCategoricalAreLists) {
  const Space space = Space::parse(words(R"({"a": ["x", null], "p": {"only_if": "a",
    "n": {"type": "categorical", "choices": [true, false]}, "m": [1, 2]}})"));
  const Space lists = Space::parse(words(R"({"a": ["x", null], "p": {"only_if": "a", "n": [true, false], "m": [1, 2]}})"));
  ASSERT_EQ(space.size(), lists.size());
  for (uint64_t i = 0; i < *space.size(); ++i) EXPECT_EQ(space.at(i), lists.at(i));
}

TEST(Space, RangesOfWholeAndRealNumbers) {
  const Space space = Space::parse(words(R"({"a": "x", "p": {"only_if": "a",
    "n": {"type": "int", "low": 3000, "high": 20000, "step": 3000}, "r": {"type": "float", "low": 0, "high": 1, "step": 0.1}}})"));
  EXPECT_EQ(space.size(), 6u * 11u);
  EXPECT_EQ(std::get<Integer>(*space.find("p_n")->distribution).high, 18000);  // the last that is reached
  EXPECT_EQ(*space.at(65).find("p_n"), 18000);
  EXPECT_EQ(*space.at(65).find("p_r"), 1.0);
  EXPECT_EQ(space.ranges(), (std::vector<std::string>{"p_n", "p_r"}));
  EXPECT_EQ(space.index_of(space.at(33)), 33u);
  EXPECT_EQ(Space::parse(words(R"({"a": 1, "p": {"only_if": "a", "r": {"type": "float", "low": 0, "high": 1}}})")).size(),
            std::nullopt);
}

TEST(Space, SamplesAreValidAndFillTheirRange) {
  const Space space =
      Space::parse(words(R"({"a": ["x", null], "p": {"only_if": "a", "n": {"type": "int", "low": 1, "high": 64, "log": true},
    "lr": {"type": "float", "low": 1e-6, "high": 1e-2, "log": true}, "s": {"type": "float", "low": -1, "high": 1, "step": 0.5}}})"));
  Rng rng(7);
  size_t small = 0;
  size_t active = 0;
  for (int i = 0; i < 4000; ++i) {
    const Point point = space.sample(rng);
    ASSERT_NO_THROW(space.check(point));
    if (const Json* lr = point.find("p_lr")) {
      ++active;
      small += lr->get<double>() < 1e-4;
    }
  }
  EXPECT_NEAR(static_cast<double>(active), 2000, 150);
  EXPECT_NEAR(static_cast<double>(small) / static_cast<double>(active), 0.5, 0.05);  // half of the decades
}

TEST(Space, PinnedKeepsTheDistribution) {
  const Space space = Space::parse(words(conditional));
  const Space pinned = space.pinned({{"activation", "Int8Spec"}, {"activation_params_method", "Entropy"}, {"elsewhere", 1}});
  EXPECT_EQ(pinned.size(), 2u * 4u * 2u);
  EXPECT_EQ(*pinned.find("activation_params_method")->distribution, *space.find("activation_params_method")->distribution);
  for (uint64_t i = 0; i < *pinned.size(); ++i) {
    EXPECT_EQ(*pinned.at(i).find("activation_params_method"), "Entropy");
    EXPECT_EQ(pinned.index_of(pinned.at(i)), i);
    EXPECT_TRUE(space.index_of(pinned.at(i)));
  }
  EXPECT_THROW(space.pinned({{"activation", "Int4"}}), Error);
}

TEST(Space, AHeldValueIsInEveryPointAndTakesNoneAway) {
  Space space = Space::parse({{"a", {1, 2, 3}}, {"b", {"x", "y"}}});
  space.forbid([](const Point& point) { return *point.find("a") == 2 && point.values().size() == 2 ? "no" : ""; });
  Space held = space;
  held.hold("region conv", {"conv", "relu"});
  EXPECT_EQ(held.size(), space.size());
  EXPECT_EQ(held.valid(), space.valid());
  for (uint64_t i = 0; i < *space.size(); i++) {
    const Point point = held.at(i);
    EXPECT_EQ(*point.find("a"), *space.at(i).find("a"));
    EXPECT_EQ(*point.find("region conv"), Json({"conv", "relu"}));
    EXPECT_EQ(held.refused(point), space.refused(space.at(i)));
    EXPECT_EQ(held.index_of(point), i);
    EXPECT_EQ(held.decode(point)["region conv"], Json({"conv", "relu"}));
  }
  EXPECT_THROW(held.hold("a", 1), std::logic_error);
}

TEST(Space, NearestToADefaultConfiguration) {
  const Space space = Space::parse(words(R"({"a": ["u8", "s8"], "m": ["MinMax", "Entropy"], "p": {"only_if": "a",
    "n": {"type": "int", "low": 10, "high": 100, "step": 10}, "lr": {"type": "float", "low": 0.1, "high": 1}}})"));
  const Point point = space.nearest_to(words(R"({"a": "S8", "m": "Percentile", "other": 1, "p": {"n": 36, "lr": 7}})"));
  EXPECT_EQ(space.decode(point), words(R"({"a": "s8", "m": "MinMax", "p": {"n": 40, "lr": 1.0}})"));
}

TEST(Space, LargeSpacesAreCountedWithoutWalking) {
  Json big = Json::object();
  uint64_t expected = 1;
  for (int i = 0; i < 12; ++i) {
    const std::string parent = "p" + std::to_string(i);
    big[parent] = {"on", nullptr};
    big[parent + "_group"] = {{"x", {1, 2, 3, 4}}, {"y", {1, 2}}, {"only_if", parent}};
    expected *= 9;
  }
  const Space space = Space::parse(big);
  ASSERT_EQ(space.size(), expected);
  for (const uint64_t i : {uint64_t{0}, expected / 3, expected - 1}) EXPECT_EQ(space.index_of(space.at(i)), i);
}

TEST(Space, TooManyPointsToNumber) {
  Json huge = Json::object();
  for (int i = 0; i < 70; ++i) huge["p" + std::to_string(i)] = {0, 1};
  const Space space = Space::parse(huge);
  EXPECT_EQ(space.size(), std::nullopt);
  Rng rng(1);
  EXPECT_NO_THROW(space.check(space.sample(rng)));
}

TEST(Space, EmptySpaceHasOnePoint) {
  const Space space = Space::parse(Json::object());
  EXPECT_EQ(space.size(), 1u);
  EXPECT_EQ(space.at(0), Point());
  EXPECT_EQ(space.index_of(Point()), 0u);
}

struct Bad {
  const char* words;
  const char* message;  // a part of it
};

TEST(Space, WrongSpacesAreExplained) {
  const Bad table[] = {
      {R"([1])", "must be a mapping"},
      {R"({"a": []})", "search_space.a: the list is empty"},
      {R"({"a": ["x", "y", "x"]})", "the choice \"x\" is given twice"},
      {R"({"a": [1, 1.0]})", "given twice"},
      {R"({"a": {"type": "int", "low": 1, "high": 3}})", "a range is possible only inside a group"},
      {R"({"a": {"type": "categorical", "choices": [1]}})", "the first level takes lists of choices: write a: [choice, …]"},
      {R"({"a": [1], "p": {"n": [1]}})", "search_space.p: a group needs only_if"},
      {R"({"activation": [1], "p": {"n": [1], "only_if": "activatoin"}})", "did you mean 'activation'?"},
      {R"({"a": ["x"], "p": {"n": [1], "only_if": {"a": "y"}}})", "only_if wants a = \"y\", but its choices are x"},
      {R"({"a": ["x", "y"], "p": {"n": [1], "only_if": {"a": ["x", "z"]}}})",
       "only_if wants a = \"z\", but its choices are x, y"},
      {R"({"a": ["x", "y"], "p": {"n": [1], "only_if": {"a": []}}})", "only_if wants a = [], but a list must have at least one"},
      {R"({"a": ["x"], "p": {"n": [1], "only_if": {}}})", "must be the name of a parameter"},
      {R"({"a": ["x"], "p": {"n": [1], "only_if": ["a"]}})", "must be the name of a parameter"},
      {R"({"a": ["x"], "p": {"n": [1], "only_if": "a"}, "q": {"m": [1], "only_if": "p"}})", "names the group 'p'"},
      {R"({"p": {"n": [1], "only_if": "q_m"}, "q": {"m": [1], "only_if": "p_n"}})", "p needs q needs p"},
      {R"({"a": ["x"], "p": {"n": [1], "only_if": "p_n"}})", "circle"},
      {R"({"a_b": ["x"], "a": {"b": [1], "only_if": "a_b"}})", "two parameters have the name 'a_b'"},
      {R"({"a": 1, "p": {"only_if": "a", "n": {"type": "int", "low": 1, "hihg": 3}}})", "did you mean 'high'?"},
      {R"({"a": 1, "p": {"only_if": "a", "n": {"type": "int", "low": 1}}})", "has no 'high'"},
      {R"({"a": 1, "p": {"only_if": "a", "n": {"type": "int", "low": 1.5, "high": 3}}})",
       "'low' is 1.5, but must be a whole number"},
      {R"({"a": 1, "p": {"only_if": "a", "n": {"type": "int", "low": 5, "high": 3}}})", "'low' is above 'high'"},
      {R"({"a": 1, "p": {"only_if": "a", "n": {"type": "int", "low": 1, "high": 3, "step": 0}}})", "at least 1"},
      {R"({"a": 1, "p": {"only_if": "a", "n": {"type": "float", "low": 0, "high": 3, "log": true}}})", "'low' must be above 0"},
      {R"({"a": 1, "p": {"only_if": "a", "n": {"type": "float", "low": 1, "high": 3, "log": true, "step": 1}}})",
       "cannot be combined"},
      {R"({"a": 1, "p": {"only_if": "a", "n": {"type": "loguniform", "low": 1, "high": 3}}})",
       "must be int, float or categorical"},
      {R"({"a": 1, "p": {"only_if": "a", "n": {"choices": [1]}}})", "unknown key 'choices'"},
      {R"({"a": 1, "p": {"only_if": "a", "n": {"type": "categorical", "choices": 1}}})", "'choices' is 1, but must be a list"},
      {R"({"a": 1, "p": {"only_if": "a", "n": {"type": "categorical", "values": [1]}}})",
       "unknown key 'values' beside type categorical"},
  };
  for (const Bad& bad : table) {
    try {
      Space::parse(words(bad.words));
      ADD_FAILURE() << "accepted: " << bad.words;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find(bad.message), std::string::npos) << bad.words << "\n  " << e.what();
    }
  }
}

TEST(Space, WrongConfigurationsAreExplained) {
  const Space space = Space::parse(words(conditional));
  const Bad table[] = {
      {R"({"activaton": "Int8Spec"})", "did you mean 'activation'?"},
      {R"({"activation": "Int8Spek"})", "did you mean 'Int8Spec'?"},
      {R"({"activation": null, "activation_params": {"symmetric": true}})", "exists only with activation chosen"},
      {R"({"activation": null, "algorithms": "adaround", "adaround_params": {"NumIterLR": [3000, 0.1]}})",
       "exists only with algorithms = \"adaround\" and activation = \"Int8Spec\""},
      {R"({"activation": "Int8Spec", "activation_params": true})", "must be a mapping"},
  };
  for (const Bad& bad : table) {
    try {
      space.encode(words(bad.words));
      ADD_FAILURE() << "accepted: " << bad.words;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find(bad.message), std::string::npos) << bad.words << "\n  " << e.what();
    }
  }
}

TEST(Space, WhatAConfigurationLeavesOutIsTheFirstChoice) {
  const Space space = Space::parse(words(conditional));
  const Point first = space.nearest_to(Json::object());
  EXPECT_EQ(space.encode(Json::object()), first);
  const Point some = space.encode(words(R"({"activation": null})"));
  EXPECT_TRUE(some.find("activation")->is_null());
  EXPECT_EQ(*some.find("algorithms"), *first.find("algorithms"));
  EXPECT_EQ(*some.find("exclude"), *first.find("exclude"));
}

// A random space: groups hang on any parameter, by presence or by value, in any order of the file.
Json random_space(Rng& rng) {
  Json out = Json::object();
  std::vector<std::pair<std::string, Json>> entries;
  std::vector<std::pair<std::string, Json>> parents;
  const auto choices = [&] {
    Json list = Json::array();
    const uint64_t n = 1 + rng.below(3);
    for (uint64_t i = 0; i < n; ++i) list.push_back(i == 1 && rng.below(2) ? Json() : Json("v" + std::to_string(i)));
    return list;
  };
  for (uint64_t i = 0, n = 1 + rng.below(3); i < n; ++i) {
    entries.emplace_back("k" + std::to_string(i), choices());
    parents.push_back(entries.back());
  }
  for (uint64_t i = 0, n = rng.below(4); i < n; ++i) {
    const std::string group = "g" + std::to_string(i);
    Json body = {{"m", choices()}, {"n", choices()}};
    if (rng.below(2)) {
      body["only_if"] = parents[rng.below(parents.size())].first;
    } else {
      for (uint64_t j = 0; j < 2; ++j) {
        const auto& [name, list] = parents[rng.below(parents.size())];
        body["only_if"][name] = list[rng.below(list.size())];
      }
    }
    parents.emplace_back(group + "_m", body["m"]);
    entries.emplace_back(group, body);
  }
  for (const size_t i : rng.permutation(entries.size())) out[entries[i].first] = entries[i].second;
  return out;
}

TEST(Space, LawEveryValidPointHasOneIndex) {
  EXPECT_TRUE(rc::check("at and index_of are inverse, and cover exactly what can be sampled", [](uint64_t seed) {
    Rng rng(seed);
    const Space space = Space::parse(random_space(rng));
    RC_ASSERT(space.size().has_value());
    std::set<std::string> all;
    for (uint64_t i = 0; i < std::min<uint64_t>(*space.size(), 500); ++i) {
      const Point point = space.at(i);
      space.check(point);
      RC_ASSERT(space.index_of(point) == i);
      RC_ASSERT(space.encode(space.decode(point)) == point);
      RC_ASSERT(all.insert(space.decode(point).dump()).second);
    }
    for (int i = 0; i < 20; ++i) {
      const Point point = space.sample(rng);
      const auto index = space.index_of(point);
      RC_ASSERT(index.has_value());
      RC_ASSERT(space.at(*index) == point);
    }
  }));
}

}  // namespace
}  // namespace quasar::search
