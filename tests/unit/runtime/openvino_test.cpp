// OpenVINO's library where it cannot be had, and its answers where it can.
#include "quasar/runtime/openvino.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <thread>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/error.hpp"
#include "quasar/base/file.hpp"
#include "quasar/runtime/openvino_judge.hpp"
#include "quasar/runtime/openvino_library.hpp"
#include "quasar/runtime/runner.hpp"
#include "unit/error_of.hpp"
#include "unit/runtime/models.hpp"

namespace quasar::runtime {
namespace {

using test::error_of;

// For as long as it lives, the variable says this.
class Named {
 public:
  explicit Named(const std::string& place) {
    if (const char* const before = std::getenv(openvino::variable)) before_ = before;
    setenv(openvino::variable, place.c_str(), 1);
  }
  ~Named() { before_ ? setenv(openvino::variable, before_->c_str(), 1) : unsetenv(openvino::variable); }
  Named(const Named&) = delete;
  Named& operator=(const Named&) = delete;

 private:
  std::optional<std::string> before_;
};

std::string refused(const std::string& place) {
  const Named named(place);
  return error_of([] { openvino::open_library(); });
}

void expect_says(const std::string& message, const std::vector<std::string>& parts) {
  for (const auto& part : parts) EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST(OpenVino, APlaceWithoutItsLibrarySaysHowToInstallIt) {
  const TemporaryFolder folder;
  const std::string empty = folder.path().string();
  expect_says(refused(empty + "/none"), {"QUASAR_OPENVINO is '", "no such file or folder", "pip install openvino"});
  expect_says(refused(empty), {"QUASAR_OPENVINO is '", "libopenvino_c.so", "scripts/setup.sh --openvino"});
}

TEST(OpenVino, AFileThatIsNoLibraryIsNamed) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "libopenvino_c.so.1").string();
  write_file(file, "no library");
  expect_says(refused(file), {file, "cannot be opened"});
  expect_says(refused(folder.path().string()), {"cannot be opened"});
}

TEST(OpenVino, AnotherLibraryLacksItsFunctions) {
  Dl_info any{};
  ASSERT_NE(dladdr(dlsym(RTLD_DEFAULT, "strlen"), &any), 0);
  expect_says(refused(any.dli_fname), {any.dli_fname, "is not the C library of OpenVINO", "ov_core_create"});
}

TEST(OpenVino, TheFolderOfAWheelIsAPlace) {
  const TemporaryFolder folder;
  const auto libs = folder.path() / "openvino" / "libs";
  std::filesystem::create_directories(libs);
  for (const char* name : {"libopenvino_c.so.2500", "libopenvino_c.so.2641", "libopenvino.so.2641"}) write_file(libs / name, "");
  const auto found = openvino::candidates_at(folder.path());
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found.front().filename(), "libopenvino_c.so.2641");
  EXPECT_TRUE(openvino::candidates_at(folder.path() / "none").empty());
}

TEST(OpenVino, MessagesLoseThePlacesInItsSource) {
  EXPECT_EQ(
      openvino::shortened("Exception from src/core.cpp:105:\nCheck 'false' failed at src/report.cpp:151:\nModel wasn't fully "
                          "converted.\n-- Add-13 is unknown\n"),
      "Model wasn't fully converted. -- Add-13 is unknown");
  EXPECT_EQ(openvino::shortened("Check 'x' failed"), "Check 'x' failed");
}

TEST(Libraries, AreKnownByTheirNames) {
  EXPECT_EQ(parse_library("OpenVINO"), Library::openvino);
  EXPECT_EQ(parse_library("onnxruntime"), Library::onnxruntime);
  expect_says(error_of([] { parse_library("openvin"); }), {"runtime is \"openvin\"", "did you mean 'openvino'?"});
  expect_says(error_of([] { parse_library(3); }), {"runtime is 3"});
  EXPECT_EQ((Device{.library = Library::openvino}).name(), "openvino");
  EXPECT_EQ(facts_of({})["library"], "ONNX Runtime");
}

// The tests below run where OpenVINO is.
class InOpenVino : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = openvino::obstacle(); !why.empty()) GTEST_SKIP() << why;
  }
};

constexpr Device there{.library = Library::openvino};

TEST_F(InOpenVino, GivesWhatOnnxRuntimeGives) {
  const graph::Model model = test::relu_times_two();
  const Runner here(model), other(model, {.device = there, .at_once = 2});
  EXPECT_EQ(other.inputs().size(), here.inputs().size());
  std::vector<Tensor> sample;
  for (const auto& input : here.inputs()) {
    Shape shape = *input.shape;
    for (auto& size : shape) size = size < 0 ? 3 : size;
    sample.push_back(test::random_tensor(shape, 5));
  }
  const std::vector<Tensor> wanted = here.run(sample);
  std::vector<std::jthread> threads;
  for (int k = 0; k < 4; ++k) threads.emplace_back([&] { EXPECT_EQ(other.run(sample), wanted); });
}

TEST_F(InOpenVino, RefusesWithItsOwnWords) {
  graph::Model model = test::relu_times_two();
  model.nodes.front().op_type = "NoSuchOperator";
  expect_says(error_of([&] { Runner(model, {.device = there}); }), {"OpenVINO cannot open the model: ", "NoSuchOperator"});
  const Runner good(test::relu_times_two(), {.device = there});
  expect_says(error_of([&] { good.run(std::vector<Tensor>{}); }), {"input"});
}

TEST_F(InOpenVino, WorkThatIsCancelledEnds) {
  const Runner runner(test::relu_times_two(), {.device = there});
  std::stop_source stop;
  stop.request_stop();
  const CancelScope scope(stop.get_token());
  EXPECT_THROW(runner.run(std::vector<Tensor>{}), Cancelled);
}

// Models run in a process that a program starts, for as long as it lives.
class JudgedBy {
 public:
  explicit JudgedBy(std::vector<std::string> arguments) { openvino::judge_by(std::move(arguments)); }
  ~JudgedBy() { openvino::judge_by({}); }
  JudgedBy(const JudgedBy&) = delete;
  JudgedBy& operator=(const JudgedBy&) = delete;
};

TEST(OpenVinoProcesses, GiveWhatTheProgramSays) {
  const JudgedBy program({"/bin/sh", QUASAR_SOURCE_DIR "/tests/unit/runtime/fake_judge.sh", "well", ""});
  EXPECT_EQ(facts_of(there)["library"], "Fake");
  const graph::Model model = test::relu_times_two();
  Shape shape = *model.inputs.front().shape;
  for (auto& size : shape) size = size < 0 ? 3 : size;
  const std::vector<Tensor> sample{test::random_tensor(shape, 5)};
  const Runner runner(model, {.device = there});
  EXPECT_EQ(runner.run(sample), sample);
  EXPECT_DOUBLE_EQ(runner.seconds_of_run(sample), 0.25);
}

TEST(OpenVinoProcesses, ThatCannotBeStartedAreAnObstacle) {
  const JudgedBy program({"/bin/false"});
  expect_says(obstacle_to(Library::openvino), {"the process of OpenVINO ended with exit code 1"});
}

#ifdef QUASAR_PROGRAM_FILE
TEST_F(InOpenVino, AnswersTheSameInAProcessOfItsOwn) {
  const graph::Model model = test::relu_times_two();
  Shape shape = *model.inputs.front().shape;
  for (auto& size : shape) size = size < 0 ? 3 : size;
  const std::vector<Tensor> sample{test::random_tensor(shape, 5)};
  const std::vector<Tensor> here = Runner(model, {.device = there}).run(sample);
  const JudgedBy program({QUASAR_PROGRAM_FILE, openvino::judge_word});
  const Runner other(model, {.device = there, .at_once = 2});
  EXPECT_EQ(other.run(sample), here);
  EXPECT_GT(other.seconds_of_run(sample), 0);
  graph::Model wrong = model;
  wrong.nodes.front().op_type = "NoSuchOperator";
  expect_says(error_of([&] { Runner(wrong, {.device = there}); }), {"OpenVINO cannot open the model: ", "NoSuchOperator"});
}
#endif

TEST_F(InOpenVino, FactsSayWhichVersion) {
  const Json facts = facts_of(there);
  EXPECT_EQ(facts["library"], "OpenVINO");
  EXPECT_EQ(facts["version"].get<std::string>().find("20"), 0U);
}

}  // namespace
}  // namespace quasar::runtime
