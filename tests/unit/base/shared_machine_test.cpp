#include "quasar/base/system/shared_machine.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>

namespace quasar {
namespace {

// What a launcher has set, until the end of the test.
struct Launched {
  explicit Launched(std::map<std::string, std::string> variables) : variables_(std::move(variables)) {
    for (const auto& [name, value] : variables_) setenv(name.c_str(), value.c_str(), 1);
  }
  ~Launched() {
    for (const auto& [name, value] : variables_) unsetenv(name.c_str());
  }
  Launched(const Launched&) = delete;
  Launched& operator=(const Launched&) = delete;

 private:
  std::map<std::string, std::string> variables_;
};

using Places = std::vector<size_t>;

TEST(SharedMachine, AloneAProcessHasEverything) {
  EXPECT_EQ(processes_here(), 1u);
  EXPECT_EQ(share_of(3), (Places{0, 1, 2}));
  EXPECT_EQ(share_of(0), Places{});
}

TEST(SharedMachine, EachProcessHasItsOwn) {
  const Launched two({{"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}});
  EXPECT_EQ(processes_here(), 2u);
  EXPECT_EQ(share_of(2), Places{1});
  EXPECT_EQ(share_of(5), (Places{1, 3}));
}

TEST(SharedMachine, SeveralProcessesHaveOneWhereThereAreFewer) {
  const Launched four({{"SLURM_STEP_TASKS_PER_NODE", "4(x2)"}, {"SLURM_LOCALID", "3"}});
  EXPECT_EQ(processes_here(), 4u);
  EXPECT_EQ(share_of(2), Places{1});
  EXPECT_EQ(share_of(1), Places{0});
  EXPECT_EQ(share_of(0), Places{});
}

TEST(SharedMachine, WhatIsNoNumberIsNoLaunch) {
  const Launched odd({{"OMPI_COMM_WORLD_LOCAL_SIZE", "many"}, {"SLURM_LOCALID", "x"}});
  EXPECT_EQ(processes_here(), 1u);
  EXPECT_EQ(share_of(2), (Places{0, 1}));
}

}  // namespace
}  // namespace quasar
