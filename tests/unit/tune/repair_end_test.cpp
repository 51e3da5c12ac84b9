// What becomes of a search by repair whose operators cannot be measured one by one.
#include <gtest/gtest.h>

#include "quasar/base/file.hpp"
#include "quasar/tune/search_parts.hpp"
#include "quasar/tune/setting.hpp"

namespace quasar::tune {
namespace {

Job digits_job(const std::filesystem::path& output) {
  const std::string digits = QUASAR_SOURCE_DIR "/examples/digits/";
  const auto reader = [&](const char* file) {
    return Json{{"reader", "npz"}, {"path", digits + file}, {"labels", "label"}, {"limit", 20}};
  };
  return parse_job({{"model_input", digits + "digits.onnx"},
                    {"calib_data_reader", reader("calibration.npz")},
                    {"eval_data_reader", reader("evaluation.npz")},
                    {"search_metric", "L2"},
                    {"strategy", "repair"},
                    {"accuracy_criterion", {{"criterion", "absolute"}, {"tolerable_loss", 0.0001}}},
                    {"output_dir", output.string()}},
                   output);
}

TEST(RepairEnd, TheBestSoFarStaysWhenTheInstrumentedModelDoesNotRun) {
  const TemporaryFolder folder;
  const Job job = digits_job(folder.path());
  const Setting setting = prepare(job);
  Variants variants(setting.original, setting.model, setting.samples.calibration, setting.spaces.needs);
  variants.observe();
  // From here on ONNX Runtime refuses whatever is made of the graph; the trials below make nothing.
  const auto graph =
      variants.graph_of(quant::parse_config(words_of(setting.spaces.all, default_point(setting.spaces.each.front()))));
  const_cast<graph::Model&>(graph->model).nodes.back().op_type = "NoSuchOperator";
  const eval::Evaluator evaluator = evaluator_of(job, setting);
  ScoreBook book;
  Quiet quiet;
  runtime::DeviceRing devices(job.devices);
  const Laboratory lab{
      job,   setting.model, *setting.target, setting.spaces.all, variants, evaluator, book, *setting.samples.evaluation,
      quiet, devices};
  const auto storage = search::open_storage("memory");
  search::Study study(*storage, {.directions = job.goals.directions()});
  const Finding finding = setting.strategy->run(
      {.lab = &lab,
       .job = job,
       .spaces = setting.spaces,
       .space = setting.spaces.each.front(),
       .study = study,
       .objective = [](search::Job& trial) { return search::Outcome{.values = {1.0 / (1 + trial.number())}}; },
       .samples = setting.samples.calibration});
  EXPECT_EQ(finding.end, search::RunResult::End::condition);
  EXPECT_NE(finding.reason.find("cannot be measured"), std::string::npos) << finding.reason;
  ASSERT_EQ(finding.warnings.size(), 1U);
  EXPECT_NE(finding.warnings.front().find("the best trial so far"), std::string::npos) << finding.warnings.front();
  EXPECT_NE(finding.warnings.front().find("NoSuchOperator"), std::string::npos) << finding.warnings.front();
  ASSERT_NE(study.best(), nullptr);
  EXPECT_GT(study.best()->number, 0);
  EXPECT_EQ(finding.story["steps"].size(), study.trials().size());
}

}  // namespace
}  // namespace quasar::tune
