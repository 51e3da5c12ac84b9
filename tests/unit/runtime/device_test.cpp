#include "quasar/runtime/device.hpp"

#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <thread>

#include "quasar/base/error.hpp"
#include "quasar/runtime/session.hpp"
#include "unit/runtime/models.hpp"

namespace quasar::runtime {
namespace {

std::vector<std::string> names(const Json& words) {
  std::vector<std::string> out;
  for (const Device& device : parse_devices(words)) out.push_back(device.name());
  return out;
}

std::string refusal(const Json& words) {
  try {
    parse_devices(words);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

using Names = std::vector<std::string>;

TEST(Devices, AreReadAsTheSeedsWriteThem) {
  EXPECT_EQ(names("cpu"), Names{"cpu"});
  EXPECT_EQ(names("CPU"), Names{"cpu"});
  EXPECT_EQ(names("cuda"), Names{"cuda:0"});
  EXPECT_EQ(names("cuda:0,1"), (Names{"cuda:0", "cuda:1"}));
  EXPECT_EQ(names({"cpu", "cuda:2"}), (Names{"cpu", "cuda:2"}));
}

TEST(Devices, MistakesGetOneMessage) {
  EXPECT_NE(refusal("cuba:0").find("did you mean 'cuda'?"), std::string::npos) << refusal("cuba:0");
  for (const Json& words : {Json("cuda:"), Json("cuda:x"), Json("cuda:-1"), Json("cuda:0,"), Json("cuda:0,0"), Json("cpu:1"),
                            Json::array(), Json(3), Json("")}) {
    EXPECT_NE(refusal(words).find("search_devices"), std::string::npos) << words;
  }
}

TEST(Devices, AMissingProviderIsAnErrorThatNamesThoseThatThereAre) {
  EXPECT_NO_THROW(check_device({}));
  // Number 99 exists nowhere, whether this ONNX Runtime knows CUDA or not.
  for (const auto& attempt : {+[] {
                                check_device({"cuda", 99});
                              },
                              +[] {
                                Session(test::relu_times_two(), {.device = {"cuda", 99}});
                              }}) {
    try {
      attempt();
      FAIL() << "ran on another device than the one that was asked for";
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("cuda:99"), std::string::npos) << e.what();
    }
  }
  try {
    check_device({"cuda", 99});
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("this ONNX Runtime has cpu"), std::string::npos) << e.what();
  }
}

TEST(Devices, AreLentInTurn) {
  DeviceRing ring(parse_devices("cuda:0,1,2"));
  Names lent;
  for (int i = 0; i < 6; ++i) lent.push_back(ring.take().device().name());  // each given back at once
  EXPECT_EQ(lent, (Names{"cuda:0", "cuda:1", "cuda:2", "cuda:0", "cuda:1", "cuda:2"}));
}

TEST(Devices, TheLeastBusyIsNext) {
  DeviceRing ring(parse_devices("cuda:0,1"));
  const auto a = ring.take(), b = ring.take();
  EXPECT_NE(a.device(), b.device());
  {
    const auto c = ring.take();
    const auto d = ring.take();
    EXPECT_NE(c.device(), d.device());
  }
  const auto e = ring.take();
  const auto f = ring.take();
  EXPECT_NE(e.device(), f.device());
}

TEST(Devices, ParallelTrialsAreSpreadEvenly) {
  DeviceRing ring(parse_devices("cuda:0,1,2"));
  std::mutex guard;
  std::map<std::string, int> busy;
  std::vector<std::jthread> workers;
  for (int w = 0; w < 3; ++w) {
    workers.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        const auto loan = ring.take();
        {
          const std::scoped_lock lock(guard);
          EXPECT_LE(++busy[loan.device().name()], 2);  // a loan may be taken between another's end and its count
        }
        const std::scoped_lock lock(guard);
        --busy[loan.device().name()];
      }
    });
  }
}

}  // namespace
}  // namespace quasar::runtime
