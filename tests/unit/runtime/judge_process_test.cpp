// Models in processes of their own: a shell script stands in for the library, answers, refuses, hangs and dies.
#include "quasar/runtime/judge_process.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/error.hpp"
#include "quasar/runtime/device.hpp"
#include "quasar/runtime/qnn_htp.hpp"
#include "unit/error_of.hpp"
#include "unit/runtime/models.hpp"

namespace quasar::runtime {
namespace {

using test::error_of;

constexpr const char* program = QUASAR_SOURCE_DIR "/tests/unit/runtime/fake_judge.sh";

class JudgeProcesses : public ::testing::Test {
 protected:
  JudgePool pool(const std::string& mode, bool once = false, double longest = 30) {
    return {"Fake", {"/bin/sh", program, mode, once ? (folder_.path() / "once").string() : ""}, longest};
  }

  TemporaryFolder folder_;
  const graph::Model model_ = test::relu_times_two();

  std::vector<Tensor> sample() const {
    Shape shape = *model_.inputs.front().shape;
    for (auto& size : shape) size = size < 0 ? 3 : size;
    return {test::random_tensor(shape, 5)};
  }
};

void expect_says(const std::string& message, const std::vector<std::string>& parts) {
  for (const auto& part : parts) EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST_F(JudgeProcesses, GiveWhatTheProcessGives) {
  JudgePool judges = pool("well");
  const JudgedModel model(judges, model_, 2);
  EXPECT_EQ(model.outputs().front().name, model_.outputs.front().name);
  std::vector<std::jthread> threads;
  for (int k = 0; k < 4; ++k) threads.emplace_back([&] { EXPECT_EQ(model.run(sample()), sample()); });
  threads.clear();
  expect_says(error_of([&] { model.run(std::vector<Tensor>{}); }), {"input"});
}

TEST_F(JudgeProcesses, AreStartedOnceForModelAfterModel) {
  JudgePool judges = pool("well");
  const JudgeProcess* first = nullptr;
  {
    auto process = judges.take();
    first = process.get();
    EXPECT_EQ(process->facts()["device"], "shell");
    judges.give_back(std::move(process));
  }
  for (int k = 0; k < 2; ++k) JudgedModel(judges, model_, 1);
  EXPECT_EQ(judges.take().get(), first);
}

// The script leaves a mark when it is asked to open a model; without it, it was not asked.
TEST_F(JudgeProcesses, OpenNoModelThatTheyHaveOpen) {
  JudgePool judges = pool("refuses", true);
  const auto mark = folder_.path() / "once";
  const auto asks = [&](const graph::Model& model, size_t at_once) {
    std::filesystem::remove(mark);
    try {
      const JudgedModel opened(judges, model, at_once);
    } catch (const Error&) {  // it refuses what it is asked first
    }
    return std::filesystem::exists(mark);
  };
  EXPECT_TRUE(asks(model_, 1));
  JudgedModel(judges, model_, 1);
  EXPECT_FALSE(asks(model_, 1));
  graph::Model other = model_;
  other.nodes.back().name += "_too";
  EXPECT_TRUE(asks(other, 1));
  EXPECT_TRUE(asks(model_, 1)) << "what was refused is not open, nor what was open before";
}

TEST_F(JudgeProcesses, ThatRefuseCostOneModel) {
  JudgePool judges = pool("refuses", true);
  expect_says(error_of([&] { JudgedModel(judges, model_, 1); }), {"Fake cannot open the model: no such operator"});
  EXPECT_EQ(JudgedModel(judges, model_, 1).run(sample()), sample());
}

TEST_F(JudgeProcesses, ThatDieCostOneModelAndSayWhatTheySaidLast) {
  JudgePool judges = pool("dies", true);
  expect_says(error_of([&] { JudgedModel(judges, model_, 1); }),
              {"the process of Fake ended with signal 11", "when it should open the model", "out of luck"});
  EXPECT_EQ(JudgedModel(judges, model_, 1).run(sample()), sample());
}

TEST_F(JudgeProcesses, ThatDieInARunLeaveNoThreadWaiting) {
  JudgePool judges = pool("dies_running", true);
  {
    const JudgedModel model(judges, model_, 1);
    std::vector<std::jthread> threads;
    for (int k = 0; k < 3; ++k)
      threads.emplace_back([&] {
        expect_says(error_of([&] { model.run(sample()); }), {"ended with signal 11", "run the model"});
      });
  }
  EXPECT_EQ(JudgedModel(judges, model_, 1).run(sample()), sample());
}

TEST_F(JudgeProcesses, ThatHangCostOneModel) {
  JudgePool judges = pool("hangs", true, 1.5);
  expect_says(error_of([&] { JudgedModel(judges, model_, 1); }), {"took longer than 1.5 s and was ended"});
  EXPECT_EQ(JudgedModel(judges, model_, 1).run(sample()), sample());
}

TEST_F(JudgeProcesses, ThatHangEndWithTheWorkThatWaitsForThem) {
  JudgePool judges = pool("hangs");
  std::stop_source stop;
  const std::jthread stopper([&] { stop.request_stop(); });
  const CancelScope scope(stop.get_token());
  EXPECT_THROW(JudgedModel(judges, model_, 1), Cancelled);
}

TEST_F(JudgeProcesses, ThatTalkNonsenseAreNotAskedAgain) {
  JudgePool judges = pool("babbles", true);
  expect_says(error_of([&] { JudgedModel(judges, model_, 1); }), {"gave no sense", "hello"});
  EXPECT_EQ(JudgedModel(judges, model_, 1).run(sample()), sample());
}

TEST_F(JudgeProcesses, ThatLackSomethingSaySo) {
  JudgePool judges = pool("lacks");
  expect_says(error_of([&] { JudgedModel(judges, model_, 1); }), {"Fake cannot be started: a package is missing"});
}

// For as long as it lives, the variable says this.
class Named {
 public:
  explicit Named(const std::string& place) {
    if (const char* const before = std::getenv(qnn_htp::variable)) before_ = before;
    setenv(qnn_htp::variable, place.c_str(), 1);
  }
  ~Named() { before_ ? setenv(qnn_htp::variable, before_->c_str(), 1) : unsetenv(qnn_htp::variable); }
  Named(const Named&) = delete;
  Named& operator=(const Named&) = delete;

 private:
  std::optional<std::string> before_;
};

TEST(QnnHtp, APlaceWithoutPythonSaysHowToInstallIt) {
  const TemporaryFolder folder;
  const Named named(folder.path().string());
  expect_says(obstacle_to(Library::qnn_htp), {"QUASAR_QNN is '", "where no Python is", "scripts/setup.sh --qnn"});
}

TEST(QnnHtp, AProgramThatIsNoPythonSaysHowToInstallIt) {
  const Named named("/bin/false");
  expect_says(obstacle_to(Library::qnn_htp), {"the process of QNN HTP ended with exit code 1", "scripts/setup.sh --qnn"});
}

TEST(QnnHtp, ItsTimesAreNotTheProcessors) {
  EXPECT_EQ(parse_library("QNN_HTP"), Library::qnn_htp);
  EXPECT_EQ((Device{.library = Library::qnn_htp}).name(), "qnn_htp");
  EXPECT_FALSE(has_times(Library::qnn_htp));
  EXPECT_FALSE(runs_float(Library::qnn_htp));
  EXPECT_TRUE(has_times(Library::openvino));
}

}  // namespace
}  // namespace quasar::runtime
