#include "quasar/trial/ranking.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace quasar::tune {
namespace {

TEST(Ranking, NoiseStandsInWhereOutputsDoNotCompare) {
  std::vector<UnitError> units{{.unit = {.node = "a", .op_type = "Conv"}, .noise_to_signal = 0.1, .output_error = 2},
                               {.unit = {.node = "b", .op_type = "Conv"}, .noise_to_signal = 0.3, .output_error = 1}};
  EXPECT_TRUE(ranked_locally_if_need_be(units));
  EXPECT_EQ(units.front().unit.node, "a");
  units.front().output_error = HUGE_VAL;
  EXPECT_FALSE(ranked_locally_if_need_be(units));
  EXPECT_EQ(units.front().unit.node, "b");
}

}  // namespace
}  // namespace quasar::tune
