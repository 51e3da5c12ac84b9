// Which process of a launch this is, by the variables that launchers set.
#include "quasar/worker/launch.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace quasar::tune {
namespace {

TEST(Launch, EveryLauncherSaysItsRank) {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    ASSERT_EQ(std::getenv(name), nullptr) << name;
    EXPECT_EQ(rank(), 0) << name;
    setenv(name, "3", 1);
    EXPECT_EQ(rank(), 3) << name;
    unsetenv(name);
  }
}

}  // namespace
}  // namespace quasar::tune
