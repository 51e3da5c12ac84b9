// AMD Quark's predefined configurations by their names: each runs wherever a scheme may stand, or is refused with the reason.
#include <gtest/gtest.h>

#include <algorithm>

#include "quasar/base/error.hpp"
#include "quasar/inspect/quantize.hpp"
#include "quasar/job/job.hpp"
#include "quasar/job/spaces.hpp"
#include "quasar/quant/config/config.hpp"
#include "quasar/quant/config/named_schemes.hpp"
#include "quasar/runtime/session.hpp"
#include "quasar/strategy/parse_job.hpp"

namespace quasar::tune {
namespace {

const std::string digits = QUASAR_SOURCE_DIR "/examples/digits/";

const std::vector<std::string> running{"UINT8_DYNAMIC_QUANT",
                                       "XINT8",
                                       "XINT8_ADAROUND",
                                       "XINT8_ADAQUANT",
                                       "VINT8",
                                       "S8S8_AAWS",
                                       "S8S8_AAWS_ADAROUND",
                                       "S8S8_AAWS_ADAQUANT",
                                       "U8S8_AAWS",
                                       "U8S8_AAWS_ADAROUND",
                                       "U8S8_AAWS_ADAQUANT",
                                       "U8U8_AAWA",
                                       "S16S8_ASWS",
                                       "S16S8_ASWS_ADAROUND",
                                       "S16S8_ASWS_ADAQUANT",
                                       "A8W8",
                                       "A8W8_ADAROUND",
                                       "A8W8_ADAQUANT",
                                       "A16W8",
                                       "A16W8_ADAROUND",
                                       "A16W8_ADAQUANT",
                                       "U16S8_AAWS",
                                       "U16S8_AAWS_ADAROUND",
                                       "U16S8_AAWS_ADAQUANT",
                                       "FP16",
                                       "FP16_ADAQUANT",
                                       "BF16",
                                       "BF16_ADAQUANT",
                                       "S16S16_MIXED_S8S8",
                                       "INT8_CNN_DEFAULT",
                                       "INT16_CNN_DEFAULT",
                                       "INT8_TRANSFORMER_DEFAULT",
                                       "INT16_TRANSFORMER_DEFAULT",
                                       "INT8_CNN_ACCURATE",
                                       "INT16_CNN_ACCURATE",
                                       "INT8_TRANSFORMER_ACCURATE",
                                       "INT16_TRANSFORMER_ACCURATE",
                                       "MATMUL_NBITS"};

const std::vector<std::string> refused{"BFP16",
                                       "BFP16_ADAQUANT",
                                       "MX4",
                                       "MX4_ADAQUANT",
                                       "MX6",
                                       "MX6_ADAQUANT",
                                       "MX9",
                                       "MX9_ADAQUANT",
                                       "MXFP8E5M2",
                                       "MXFP8E5M2_ADAQUANT",
                                       "MXFP8E4M3",
                                       "MXFP8E4M3_ADAQUANT",
                                       "MXFP6E3M2",
                                       "MXFP6E3M2_ADAQUANT",
                                       "MXFP6E2M3",
                                       "MXFP6E2M3_ADAQUANT",
                                       "MXFP4E2M1",
                                       "MXFP4E2M1_ADAQUANT",
                                       "MXINT8",
                                       "MXINT8_ADAQUANT",
                                       "BF16_MIXED_BFP16",
                                       "BF16_MIXED_BFP16_ADAQUANT",
                                       "BF16_MIXED_MXINT8",
                                       "BF16_MIXED_MXINT8_ADAQUANT",
                                       "BF16_BFP16",
                                       "BF16_MXINT8",
                                       "MX9_INT8"};

Job quark_job(Json words) {
  words["model_input"] = digits + "digits.onnx";
  words["calib_data_reader"] = words["eval_data_reader"] = {{"reader", "random"}};
  return parse_job(words, ".");
}

quant::Config only_one(const Job& job) {
  const Spaces spaces = read_spaces(job);
  EXPECT_EQ(spaces.each.at(0).size(), 1u);
  return quant::parse_config(words_of(spaces.each[0], spaces.each[0].at(0)));
}

bool shifts(const std::string& name) {
  return name.starts_with("XINT8") || name == "VINT8";
}

class QuarkName : public testing::TestWithParam<std::string> {};

std::string name_of(const testing::TestParamInfo<std::string>& info) {
  return info.param;
}

TEST_P(QuarkName, IsAConfiguration) {
  const quant::Config config = quant::parse_config(quant::words_of_scheme(GetParam()));
  EXPECT_EQ(quant::parse_config({{"scheme", GetParam()}}), config);
  EXPECT_EQ(quant::parse_config(quant::to_json(config)), config);
  const bool rounded = GetParam().find("_ADA") != std::string::npos || GetParam().find("_ACCURATE") != std::string::npos;
  EXPECT_EQ(config.rounding.optimizes(),
            rounded && GetParam().find("P16") == std::string::npos && !GetParam().starts_with("BF16"));
}

TEST_P(QuarkName, IsTheSameInASpaceAndAsBaseConfiguration) {
  const quant::Config config = quant::parse_config(quant::words_of_scheme(GetParam()));
  const Job hierarchical = quark_job({{"search_space", {{"scheme", {GetParam()}}}}});
  EXPECT_EQ(only_one(hierarchical), config);
  EXPECT_EQ(hierarchical.target, shifts(GetParam()) ? "xint8" : "ort_cpu");
  const Job first_form = quark_job({{"quant_config", GetParam()}});
  EXPECT_EQ(only_one(first_form), config) << quant::to_json(only_one(first_form)).dump() << "\n" << quant::to_json(config).dump();
  EXPECT_EQ(first_form.target, hierarchical.target);
}

TEST_P(QuarkName, QuantizesAModelThatRuns) {
  const Quantized made = quantize({.model = digits + "digits.onnx",
                                   .calibration = {{"reader", "npz"}, {"path", digits + "calibration.npz"}, {"limit", 4}},
                                   .words = {{"scheme", GetParam()}}});
  EXPECT_FALSE(made.plan.nodes.empty());
  EXPECT_EQ(made.plan.shifts, GetParam().starts_with("XINT8"));
  EXPECT_FALSE(runtime::Session(made.model).outputs().empty());
  const bool in_vain = GetParam() == "FP16_ADAQUANT" || GetParam() == "BF16_ADAQUANT";
  const auto said = [](const std::string& note) { return note.find("no codes that adaquant could choose") != std::string::npos; };
  EXPECT_EQ(std::ranges::any_of(made.plan.notes, said), in_vain);
}

INSTANTIATE_TEST_SUITE_P(Quark, QuarkName, testing::ValuesIn(running), name_of);

class RefusedQuarkName : public testing::TestWithParam<std::string> {};

TEST_P(RefusedQuarkName, HasAReasonAndTheNearestThatRuns) {
  for (const auto& use : {+[](const std::string& name) {
                            quant::parse_config({{"scheme", name}});
                          },
                          +[](const std::string& name) {
                            quark_job({{"quant_config", name}});
                          }}) {
    try {
      use(GetParam());
      ADD_FAILURE() << GetParam() << " runs";
    } catch (const Error& error) {
      const std::string what = error.what(), nearest = "; the nearest that runs is ";
      EXPECT_TRUE(what.starts_with("scheme '" + GetParam() + "' is not supported: ONNX")) << what;
      ASSERT_NE(what.find(nearest), std::string::npos) << what;
      EXPECT_TRUE(quant::is_scheme(what.substr(what.find(nearest) + nearest.size()))) << what;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Quark, RefusedQuarkName, testing::ValuesIn(refused), name_of);

TEST(NamedSchemes, ATypingMistakeGetsTheNearestName) {
  for (const auto& [wrong, right] : std::vector<std::pair<std::string, std::string>>{{"U8S8_AAWS_ADAROND", "U8S8_AAWS_ADAROUND"},
                                                                                     {"INT8_CNN_DEFALT", "INT8_CNN_DEFAULT"},
                                                                                     {"XINT8_ADAQANT", "xint8_adaquant"}}) {
    try {
      quant::words_of_scheme(wrong);
      ADD_FAILURE() << wrong;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("did you mean '" + right + "'"), std::string::npos) << error.what();
    }
  }
}

TEST(NamedSchemes, WhatQuarksConfigurationDoesElseIsTold) {
  EXPECT_NE(quant::note_on_scheme("vint8").find("Quark's takes them from random data"), std::string::npos);
  EXPECT_EQ(quant::note_on_scheme("XINT8"), "");
}

TEST(NamedSchemes, EveryNameIsListedOnceAndIsAConfiguration) {
  std::vector<std::string> names = quant::scheme_names();
  for (const auto& name : names) EXPECT_EQ(quant::contradiction(quant::words_of_scheme(name)), "") << name;
  for (const auto& name : running) {
    if (!quant::note_on_scheme(name).empty()) continue;
    EXPECT_TRUE(std::ranges::any_of(names, [&](const auto& one) { return normalized(one) == normalized(name); })) << name;
  }
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
}

}  // namespace
}  // namespace quasar::tune
