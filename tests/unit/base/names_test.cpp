// The nearest valid name: what users mean when they mistype the names that Quasar really has.
#include "quasar/base/names.hpp"

#include <gtest/gtest.h>

#include "quasar/base/as_written.hpp"

namespace quasar {
namespace {

using Names = std::vector<std::string>;

const Names samplers{"cma_es", "gp", "grid", "nsga_ii", "one_by_one", "qmc", "random", "tpe"};
const Names metrics{"L1",   "L2",   "agreement", "cos",  "kl",   "mAP",   "mse",   "psnr",
                    "sqnr", "ssim", "top1",      "top5", "topk", "v1_L2", "v1_cos"};
const Names methods{"distribution", "entropy", "layerwise_percentile", "min_max", "min_mse", "non_overflow", "percentile"};
const Names keys{"calib_data_reader",
                 "eval_data_reader",
                 "holdout_data_reader",
                 "data_reader",
                 "n_trials",
                 "n_jobs",
                 "search_space",
                 "search_spaces",
                 "search_algo",
                 "search_metric",
                 "search_metric_tolerance",
                 "search_stop_condition",
                 "search_evaluator",
                 "search_devices",
                 "two_stage_search",
                 "seed",
                 "split",
                 "pruner",
                 "target",
                 "preset",
                 "strategy",
                 "time_limit",
                 "patience",
                 "find_n_candidates",
                 "iteration_limit",
                 "find_best_candidate",
                 "output_dir",
                 "calibrate_method",
                 "include_cle",
                 "include_sq",
                 "include_fast_ft",
                 "activation_type",
                 "weight_type"};
const Names rounding{"NumIterations", "NumIterLR", "LearningRate", "NumBatches", "OptimAlgorithm", "OptimDevice",
                     "DataSize",      "BatchSize", "UpdateBias",   "EarlyStop",  "DropRatio",      "LRAdjust"};

struct Slip {
  const char* written;
  const Names& known;
  const char* meant;
};

TEST(Names, TypicalSlips) {
  const std::vector<Slip> slips{{"TEP", samplers, "tpe"},
                                {"PTE", samplers, "tpe"},
                                {"TPEE", samplers, "tpe"},
                                {"Gird", samplers, "grid"},
                                {"Grdi", samplers, "grid"},
                                {"PG", samplers, "gp"},
                                {"GPP", samplers, "gp"},
                                {"Randm", samplers, "random"},
                                {"Radnom", samplers, "random"},
                                {"rnadom", samplers, "random"},
                                {"NSAG-II", samplers, "nsga_ii"},
                                {"NSGA", samplers, "nsga_ii"},
                                {"NSGA3", samplers, "nsga_ii"},
                                {"CMA", samplers, "cma_es"},
                                {"CmaSE", samplers, "cma_es"},
                                {"QCM", samplers, "qmc"},
                                {"pnsr", metrics, "psnr"},
                                {"sism", metrics, "ssim"},
                                {"cso", metrics, "cos"},
                                {"tpo1", metrics, "top1"},
                                {"top_5", metrics, "top5"},
                                {"MPA", metrics, "mAP"},
                                {"agrement", metrics, "agreement"},
                                {"MinMx", methods, "min_max"},
                                {"MniMSE", methods, "min_mse"},
                                {"Precentile", methods, "percentile"},
                                {"LayerWisePercentil", methods, "layerwise_percentile"},
                                {"Entorpy", methods, "entropy"},
                                {"n_trails", keys, "n_trials"},
                                {"trials", keys, "n_trials"},
                                {"njob", keys, "n_jobs"},
                                {"serach_space", keys, "search_space"},
                                {"search_spcaes", keys, "search_spaces"},
                                {"search_alog", keys, "search_algo"},
                                {"search_algorithm", keys, "search_algo"},
                                {"search_metirc", keys, "search_metric"},
                                {"metric_tolerance", keys, "search_metric_tolerance"},
                                {"stop_condition", keys, "search_stop_condition"},
                                {"calib_datareader", keys, "calib_data_reader"},
                                {"calibration_data_reader", keys, "calib_data_reader"},
                                {"evaluation_data_reader", keys, "eval_data_reader"},
                                {"two_stages_search", keys, "two_stage_search"},
                                {"tow_stage_search", keys, "two_stage_search"},
                                {"sede", keys, "seed"},
                                {"spilt", keys, "split"},
                                {"pruenr", keys, "pruner"},
                                {"tagret", keys, "target"},
                                {"perset", keys, "preset"},
                                {"stratgey", keys, "strategy"},
                                {"timelimit", keys, "time_limit"},
                                {"patiense", keys, "patience"},
                                {"find_n_candidate", keys, "find_n_candidates"},
                                {"calibrate_metod", keys, "calibrate_method"},
                                {"calibration_method", keys, "calibrate_method"},
                                {"include_fastft", keys, "include_fast_ft"},
                                {"inculde_cle", keys, "include_cle"},
                                {"activaton_type", keys, "activation_type"},
                                {"NumIteration", rounding, "NumIterations"},
                                {"NumIter", rounding, "NumIterLR"},
                                {"NumIterrations", rounding, "NumIterations"},
                                {"LearnigRate", rounding, "LearningRate"},
                                {"UpdataBias", rounding, "UpdateBias"},
                                {"OptimAlgoritm", rounding, "OptimAlgorithm"}};
  for (const auto& [written, known, meant] : slips) EXPECT_EQ(nearest(written, known), meant) << written;
}

TEST(Names, TwoLettersExchangedAreOneMistake) {
  for (const Names* known : {&samplers, &keys, &rounding}) {
    for (const std::string& name : *known) {
      for (size_t i = 0; i + 1 < name.size(); ++i) {
        std::string slip = name;
        std::swap(slip[i], slip[i + 1]);
        if (name.size() > 2) {
          EXPECT_EQ(nearest(slip, *known), name) << slip;
        }
      }
    }
  }
}

TEST(Names, WhatIsNothingLikeItHasNoNearest) {
  EXPECT_EQ(nearest("XY", samplers), "");
  EXPECT_EQ(nearest("", samplers), "");
  EXPECT_EQ(nearest("bayesian", samplers), "");
  EXPECT_EQ(nearest("zzzzzzzz", keys), "");
  EXPECT_EQ(nearest("foo", {"O0", "O1", "F1"}), "") << "of three letters two are most of it";
  EXPECT_EQ(nearest("fo1", {"O1", "F1"}), "F1");
}

// Of names that are equally far the one that begins alike, then the one as long.
TEST(Names, TiesAreBroken) {
  EXPECT_EQ(nearest("beta", {"zeta", "betas"}), "betas");
  EXPECT_EQ(nearest("mode3", {"node3", "mode", "mode2"}), "mode2");
}

// Of a hundred studies on a server, say.
TEST(Names, SomeOfMany) {
  EXPECT_EQ(some_names("", {"a", "b"}), "'a', 'b'");
  EXPECT_EQ(some_names("mode3", {"zzz", "mode2"}), "'mode2', 'zzz'");
  EXPECT_EQ(some_names("", std::vector<std::string>(12, "a")), "'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a' and 2 more");
}

// Caches of layers, each with a shape.
TEST(Names, NumberedOnesAreFolded) {
  EXPECT_EQ(folded({"present.0.key [1,8]", "present.0.value [1,8]", "present.1.key [1,8]", "present.1.value [1,8]",
                    "logits [1,9]", "present.2.key [1,8]"}),
            (std::vector<std::string>{"present.{0…2}.key [1,8]", "present.{0…1}.value [1,8]", "logits [1,9]"}));
  EXPECT_EQ(folded({"past.9.k <- present.9.k", "past.10.k <- present.10.k"}),
            std::vector<std::string>{"past.{9…10}.k <- present.{9…10}.k"});
  const std::vector<std::string> apart{
      "a.0.b.0", "a.0.b.1", "a.1.b.1", "a.3.b.1", "a", "a", "past.5 <- present.6", "past.6 <- present.8"};
  EXPECT_EQ(folded(apart), (std::vector<std::string>{"a.0.b.{0…1}", "a.1.b.1", "a.3.b.1", "a", "a", "past.5 <- present.6",
                                                     "past.6 <- present.8"}));
  EXPECT_EQ(folded({"x99999999999999999999", "x100000000000000000000"}).size(), 2u);
}

}  // namespace
}  // namespace quasar
