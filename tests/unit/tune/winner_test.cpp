// What a search that has found its winner still writes when the machine fails it.
#include "quasar/tune/winner.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "quasar/strategy/parse_job.hpp"
#include "quasar/tune/search.hpp"
#include "unit/tune/made_up_trials.hpp"

namespace quasar::tune {
namespace {
namespace fs = std::filesystem;

// A folder of temporary files that can be taken away.
class Away {
 public:
  Away() : before_(fs::temp_directory_path()) {
    fs::create_directory(place_);
    setenv("TMPDIR", place_.c_str(), 1);
  }
  ~Away() { setenv("TMPDIR", before_.c_str(), 1); }
  void take() const { fs::remove_all(place_); }
  const fs::path& folder() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
  fs::path before_, place_ = folder_.path() / "tmp";
};

TEST(Winner, IsWrittenWithoutWhatNeedsTemporaryFiles) {
  const Away temporary;
  Json words = digits_words();
  for (const char* key : {"strategy", "accuracy_criterion"}) words.erase(key);
  words["n_trials"] = 1;
  words["output_dir"] = (temporary.folder() / "out").string();
  words["search_space"] = {{"activation", {"UInt8Spec"}}, {"weight", {"Int8Spec"}}};
  const Job job = parse_job(words, temporary.folder());
  Monitor monitor;
  monitor.listener = [&](const search::Event& event) {
    if (event.kind == search::Event::Kind::finished) temporary.take();
  };
  const Summary summary = search(job, monitor);
  ASSERT_TRUE(summary.best);
  EXPECT_GT(summary.best->quantized_nodes, 0U) << "as planned";
  EXPECT_EQ(summary.status, Status::ok);
  for (const char* name : {"best.onnx", "best_params.json", "best_config.yaml"})
    EXPECT_TRUE(fs::exists(job.output.dir / name)) << name;
  for (const char* what : {"what ONNX Runtime runs in integers", "what operators cost"}) {
    const auto says = [&](const std::string& warning) {
      return warning.find(what) != std::string::npos && warning.find("(TMPDIR)") != std::string::npos;
    };
    EXPECT_TRUE(std::ranges::any_of(summary.warnings, says)) << what;
  }
}

// A poor model is called poor and mended, also where the time is up; who stops a search wants to see what there is.
TEST(Winner, IsJudgedWhenTheTimeIsUp) {
  MadeUpTrials trials(digits_words());
  trials.run([](const search::Point&) { return Measures{{"L2", 0}, {"parts", 0}}; });
  const TemporaryFolder folder;
  std::stop_source requested;
  requested.request_stop();
  const std::stop_token yes = requested.get_token(), no;
  const auto word = [&](const std::stop_token& stop) {
    return measure_winner(trials.trial_context(), trials.study.at(0),
                          {trials.setting.samples, folder.path(), yes, stop, [](const auto&) {}})
        .quality.word;
  };
  EXPECT_NE(word(no), "unknown");
  EXPECT_EQ(word(yes), "unknown");
}

}  // namespace
}  // namespace quasar::tune
