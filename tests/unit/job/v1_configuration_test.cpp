#include "quasar/job/v1_configuration.hpp"

#include <gtest/gtest.h>

#include "quasar/quant/config/config.hpp"

namespace quasar::tune {
namespace {

TEST(V1Configuration, BecomesOneOfTheHierarchicalForm) {
  const Json v1 = Json::parse(R"({"calibrate_method": "CalibrationMethod.Percentile", "activation_type": "QuantType.QUInt8",
      "weight_type": "QuantType.QInt8", "include_cle": true, "include_fast_ft": true, "extra_options":
      {"ActivationSymmetric": false, "WeightSymmetric": true, "Percentile": 99.99,
       "FastFinetune": {"OptimAlgorithm": "adaquant", "NumIterations": 100, "DataSize": 50}}})");
  const PlainWords plain = plain_words(v1);
  EXPECT_EQ(plain.words.at("activation"), "UInt8Spec");
  EXPECT_EQ(plain.words.at("algorithms"), "adaquant");
  EXPECT_EQ(plain.words.at("adaquant_params").at("num_iterations"), 100);
  EXPECT_EQ(plain.words.at("Percentile"), 99.99);
  EXPECT_EQ(plain.words.at("activation_params").at("calibration_method"), "Percentile");
  EXPECT_FALSE(plain.words.dump().find("only_if") != std::string::npos);
  ASSERT_FALSE(plain.notes.empty());
  const quant::Config config = quant::parse_config(plain.words);
  EXPECT_EQ(config.activation.type, DataType::uint8);
  EXPECT_FALSE(config.activation.symmetric);
  EXPECT_EQ(config.rounding.method, "adaquant");
}

TEST(V1Configuration, OthersStayAsTheyAre) {
  const Json words{{"activation", "Int8Spec"}, {"weight", "Int8Spec"}, {"include_cle", true}};
  EXPECT_EQ(plain_words(words).words, words);
  EXPECT_TRUE(plain_words(words).notes.empty());
  EXPECT_TRUE(plain_words(nullptr).words.is_null());
}

}  // namespace
}  // namespace quasar::tune
