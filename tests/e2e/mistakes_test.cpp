#include <gtest/gtest.h>

#include <fstream>

#include "e2e/search_job.hpp"

namespace quasar::e2e {
namespace {

struct Mistake {
  std::string change;   // lines added to a good configuration
  std::string message;  // what standard error must hold
};

TEST_F(Search, DryRunRunsNothing) {
  const Ran ran = search(words(small_space, "expected_time_per_config: 0.5\n"), "--dry-run");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Json facts = parse_json(ran.out, "stdout");
  EXPECT_EQ(facts["space"]["points"], 16);
  EXPECT_EQ(facts["space"]["invalid"], 0);
  EXPECT_EQ(facts["space"]["plans"], 8);  // as the search finds: the other 8 are duplicates
  EXPECT_EQ(facts["expected_s"], 4.0);
  EXPECT_FALSE(fs::exists(out));
}

// --dry-run finds what the search would stumble over.
TEST_F(Search, DryRunChecksWhatTheSearchChecks) {
  const std::vector<Mistake> mistakes{
      {"enqueue: [{activation: X}]\n", "activation"},
      {"search_stop_condition: {patience: abc}\n", "patience"},
      {"strategy: basic\nenqueue: [{weight: Int8Spec}]\n", "enqueue: strategy basic decides by itself what it tries"},
  };
  for (const auto& [change, message] : mistakes) {
    const Ran ran = search(words(small_space, change), "--dry-run");
    EXPECT_EQ(ran.code, 1) << change << ran.out;
    EXPECT_NE(ran.err.find(message), std::string::npos) << ran.err;
  }
  EXPECT_EQ(search(words("  exclude: [no_such_node]\n"), "--dry-run").code, 1);
}

// As many samples as there are: Neural Compressor's default is 100, whatever the user has.
TEST_F(Search, MoreCalibrationSamplesThanThereAreIsAWarning) {
  const Ran ran = search(words(small_space, "calibration_sampling_size: [20, 100000]\n"), "--dry-run");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("calibration_sampling_size (CalibDataSize) asks for 100000 samples, and there are 200"),
            std::string::npos)
      << ran.out;
  EXPECT_EQ(search(words(small_space, "calibration_sampling_size: 100000\nn_trials: 1\n")).code, 0);
}

// Neither of two names of one key is left unheard; the same name again replaces the first.
TEST_F(Search, OneKeyIsNotSetUnderTwoNames) {
  const Ran two = search(words(small_space), "--dry-run --set storage=a.db --set study_storage_db=b.db");
  EXPECT_EQ(two.code, 1);
  EXPECT_NE(two.err.find("two names of one key"), std::string::npos) << two.err;
  EXPECT_EQ(search(words(small_space), "--dry-run --set seed=1 --set seed=2").code, 0);
}

TEST_F(Search, DryRunWarnsOfAPrunerThatCanDoNothing) {
  const auto warnings = [&](const std::string& more) {
    const Ran ran = search(words(small_space, more), "--dry-run");
    EXPECT_EQ(ran.code, 0) << ran.err;
    return parse_json(ran.out, "stdout")["warnings"].dump();
  };
  EXPECT_NE(warnings("pruner: halving\nobjectives: [{metric: L2}, {metric: bytes}]\n").find("pruner has no effect"),
            std::string::npos);
  EXPECT_EQ(warnings("pruner: halving\n").find("pruner"), std::string::npos);
}

// As many trials as the limits let run, and no longer than the time limit.
TEST_F(Search, DryRunKnowsTheLimits) {
  const auto facts = [&](const std::string& condition) {
    const Ran ran =
        search(words(small_space, "expected_time_per_config: 0.5\nsearch_stop_condition: " + condition + "\n"), "--dry-run");
    EXPECT_EQ(ran.code, 0) << ran.err;
    return parse_json(ran.out, "stdout");
  };
  EXPECT_EQ(facts("{iteration_limit: 4}")["trials"], 8);  // every second one is a duplicate
  EXPECT_EQ(facts("{iteration_limit: 100}")["trials"], 16);
  EXPECT_EQ(facts("{time_limit: 1.5}")["expected_s"], 1.5);
}

// Rounding takes many times as long as scoring a small model.
TEST_F(Search, DryRunExpectsRoundingToTakeItsTime) {
  const auto seconds = [&](const std::string& algorithm) {
    const Ran ran =
        search(words("  activation: [Int8Spec]\n  weight: [Int8Spec]\n  algorithms: [" + algorithm + "]\n"), "--dry-run");
    EXPECT_EQ(ran.code, 0) << ran.err;
    return parse_json(ran.out, "stdout")["expected_s"].get<double>();
  };
  EXPECT_GT(seconds("adaquant"), 2 * seconds("null"));
}

// Of two stages only the second rounds: here 1 of 17 trials, and all of them without stages.
TEST_F(Search, DryRunExpectsTheFirstStageNotToRound) {
  const auto seconds_per_trial = [&](const std::string& more) {
    const Ran ran = search(words(std::string(small_space) + "  algorithms: [adaquant]\n", more), "--dry-run");
    EXPECT_EQ(ran.code, 0) << ran.err;
    const Json facts = parse_json(ran.out, "stdout");
    return facts["expected_s"].get<double>() / facts["trials"].get<double>();
  };
  EXPECT_LT(2 * seconds_per_trial("two_stage_search: true\nn_trials: 1\n"), seconds_per_trial(""));
}

TEST_F(Search, ResumingWithoutTheStudyOfTheFolderIsRefused) {
  ASSERT_EQ(search(words(small_space, "n_trials: 1\n")).code, 0);
  const Ran ran = search(words(small_space, "n_trials: 1\nstudy_storage_db: other.db\n"), "--resume");
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find("holds the study of an earlier search (auto_search.db)"), std::string::npos) << ran.err;
  // Its database is gone, the results are not.
  const std::string best = read_file(out / "best.onnx");
  fs::remove(out / "auto_search.db");
  for (const bool empty : {false, true}) {
    if (empty) write_file(out / "auto_search.db", "");
    const Ran begun = search(words(small_space, "n_trials: 1\n"), "--resume");
    EXPECT_EQ(begun.code, 1);
    EXPECT_NE(begun.err.find("holds the results of an earlier search (result.json)"), std::string::npos) << begun.err;
    EXPECT_EQ(read_file(out / "best.onnx"), best);
  }
}

// A wish to go on says when there is nothing to go on with; a study that is continued if it exists need not exist.
TEST_F(Search, OnlyResumeExpectsAStudy) {
  EXPECT_EQ(search(words(small_space, "n_trials: 1\nload_study_if_exists: true\n"), "--dry-run").err.find("to resume"),
            std::string::npos);
  const Ran resumed = search(words(small_space, "n_trials: 1\n"), "--resume");
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_NE(resumed.err.find("to resume: a new one begins"), std::string::npos) << resumed.err;
}

TEST_F(Search, ResumingWhatIsNotThereIsRefused) {
  ASSERT_EQ(search(words(small_space, "n_trials: 1\nstudy_name: other\n")).code, 0);
  const std::string both = words(small_space, "n_trials: 1\nstudy_name: first\nload_study_if_exists: true\n");
  const Ran begun = search(both);
  ASSERT_EQ(begun.code, 0) << begun.err;
  EXPECT_NE(begun.err.find("there is no study 'first' to resume (there are 'other'): a new one begins"), std::string::npos);
  for (const char* more : {"--resume", "--resume --dry-run"}) {
    const Ran ran = search(words(small_space, "n_trials: 1\nstudy_name: frist\n"), more);
    EXPECT_EQ(ran.code, 1);
    EXPECT_NE(ran.err.find("there is no study 'frist' to resume in "), std::string::npos) << ran.err;
    EXPECT_NE(ran.err.find("; there are 'first', 'other'. "), std::string::npos) << ran.err;
  }
}

TEST_F(Search, PathsOfTheCommandLineStartInTheWorkingDirectory) {
  const fs::path here = folder.path() / "here", there = folder.path() / "there";
  fs::create_directories(here);
  fs::create_directories(there);
  write_file(there / "search.yaml",
             words(small_space, "n_trials: 1\nstudy_storage_db: sqlite:///mine.db\noutput_dir: results\n"));
  fs::copy(digits("evaluation.npz"), here / "typed.npz");
  const std::string begin =
      "cd " + here.string() + " && " + program() + " search ../there/search.yaml --set eval_data_reader.path=typed.npz";
  ASSERT_EQ(std::system((begin + " > /dev/null 2> " + (here / "err").string()).c_str()), 0) << read_file(here / "err");
  EXPECT_TRUE(fs::exists(there / "results" / "result.json"));
  EXPECT_TRUE(fs::exists(there / "mine.db"));
  ASSERT_EQ(std::system((begin + " --set output_dir=typed --set study_storage_db=sqlite:///typed.db > /dev/null 2> " +
                         (here / "err").string())
                            .c_str()),
            0)
      << read_file(here / "err");
  EXPECT_TRUE(fs::exists(here / "typed" / "result.json"));
  EXPECT_TRUE(fs::exists(here / "typed.db"));
}

TEST_F(Search, MistakesGetOneClearMessage) {
  const std::vector<Mistake> mistakes{
      {"n_trails: 5\n", "did you mean 'n_trials'?; known: n_trials and "},
      {"n_trials: many\n", "a whole number"},
      {"search_metric: L3\n", "did you mean"},
      {"search_metric: {name: topk, n: 3}\n", "unknown option 'n'"},
      {"search_metric: mAP\n", "`quasar inspect MODEL` says which one fits"},
      {"decoder: yolov99\n", "unknown decoder 'yolov99'"},
      {"direction: maximize\n", "L2 is better when lower"},
      {"search_algo: Gird\n", "did you mean 'grid'?"},
      {"search_algo: PartialFixed\n", "not yet supported"},
      {"search_algo: GPS\nobjectives: [{metric: L2}, {metric: bytes}]\n", "takes one objective"},
      {"objectives: [{metric: latencyy}]\n", "latency"},
      {"objectives: [{metric: L2}, {metric: L2}]\n", "twice"},
      {"constraints: [{metric: top1, max_dropp: 0.1}]\n", "max_drop"},
      {"constraints: [{metric: bytes, max_drop: 0.1}]\n", "max: "},
      {"constraints: [{metric: top1}]\n", "no bound"},
      {"strategy: repair\nobjectives: [{metric: L2}, {metric: bytes}]\n", "needs accuracy_criterion"},
      {"direction: up\n", "must be minimize or maximize"},
      {"n_trials: 99999999999999999999\n", "a whole number"},
      {"Search_Metric: cos\n", "given twice"},
      {"pruner: halvin\n", "did you mean 'halving'?"},
      {"pruner: {name: confidence, alpha: 2}\n", "from 1e-12 to 0.5"},
      {"target: tpu\n", "unknown target 'tpu'"},
      {"search_stop_condition: {time_limt: 5}\n", "did you mean 'time_limit'?"},
      {"preset: A8W9_SEARCH\n", "unknown preset"},
      {"search_stop_condition: {find_n_candidates: 5}\n", "needs search_metric_tolerance"},
      {"time_limit: 5\n", "it belongs into search_stop_condition"},
      {"patiense: 5\n", "did you mean 'patience', which belongs into search_stop_condition?"},
      {"search_stop_condition: {n_jobs: 5}\n", "'n_jobs' belongs to the top level"},
      {"tolerable_loss: 0.01\n", "it belongs into accuracy_criterion"},
      {"quant_granularity: Channel\n", "it belongs into search_space.activation_params or search_space.weight_params"},
      {"weight: Int8Spec\n", "it belongs into search_space"},
      {"search_devices: \"cuda:97\"\n", "this ONNX Runtime has cpu"},
      {"search_devices: tpu\n", "must be cpu, or devices such as"},
      {"study_name: \"a\\0b\"\n", "must not hold a NUL character"},
  };
  for (const auto& [change, message] : mistakes) {
    std::string text = words(small_space);
    const std::string key = change.substr(0, change.find(':') + 1);
    const size_t old = text.find("\n" + key);  // a key of the good configuration is replaced
    if (old != std::string::npos) text.erase(old + 1, text.find('\n', old + 1) - old);
    const Ran ran = search(text + change);
    EXPECT_EQ(ran.code, 1) << change;
    EXPECT_NE(ran.err.find(message), std::string::npos) << change << ran.err;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
    EXPECT_FALSE(fs::exists(out / "auto_search.db")) << change;
  }
}

TEST_F(Search, AnOutputFolderThatCannotBeOneIsSaidAtOnce) {
  const fs::path place = out.parent_path();
  fs::create_symlink("loop", place / "loop");
  const auto said = [&](const fs::path& output_dir, const std::string& more = "") {
    out = output_dir;
    const Ran ran = search(words(small_space), more);
    EXPECT_EQ(ran.code, 1) << output_dir;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
    return ran.err;
  };
  for (const char* more : {"", "--resume"}) {
    for (const auto& [name, why] : {std::pair<std::string, std::string>{std::string(300, 'n'), "File name too long"},
                                    {"loop", "Too many levels of symbolic links"}}) {
      const std::string err = said(place / name, more);
      EXPECT_NE(err.find("output_dir '" + (place / name).string() + "' cannot be used: " + why), std::string::npos) << err;
    }
  }
  const std::string quoted = said((place / "'a\"b'").string());
  EXPECT_NE(quoted.find("must not hold quotes"), std::string::npos) << quoted;
}

TEST_F(Search, ASearchThatCannotBeginLeavesNoFolder) {
  EXPECT_NE(search(words(small_space), "--model missing.onnx").code, 0);
  EXPECT_FALSE(fs::exists(out));
  fs::create_directories(out);
  EXPECT_NE(search(words(small_space), "--model missing.onnx").code, 0);
  EXPECT_TRUE(fs::exists(out)) << "the user's own folder";
}

// Before the user's own program has scored the float model; what else is wrong is said first.
TEST_F(Search, AStorageThatCannotBeHadIsSaidBeforeTheModelRuns) {
  const fs::path mark = folder.path() / "mark", damaged = folder.path() / "damaged.db";
  write_file(damaged, "no study");
  const std::string scored = "search_evaluator: {command: [sh, -c, \"touch " + mark.string() + "; echo 1\", sh, \"{model}\"]}\n";
  const std::vector<Mistake> mistakes{
      {"postgresql://me:secret@127.0.0.1:1/q", "cannot open the study database postgresql://127.0.0.1:1/q"},
      {"mysql://host/q", "is not supported"},
      {"sqlite:///" + (folder.path() / "none" / "s.db").string(),
       "there is no folder '" + (folder.path() / "none").string() + "'"},
      {"sqlite:///" + damaged.string(), "is damaged, or no study database"},
  };
  for (const auto& [storage, message] : mistakes) {
    const Ran ran = search(words(small_space, scored + "study_storage_db: " + storage + "\n"));
    EXPECT_EQ(ran.code, storage.starts_with("postgresql") ? 75 : 1) << storage << ": a server may not be there yet";
    EXPECT_NE(ran.err.find(message), std::string::npos) << ran.err;
    EXPECT_EQ(ran.err.find("secret"), std::string::npos) << ran.err;
    EXPECT_FALSE(fs::exists(mark)) << storage;
    EXPECT_FALSE(fs::exists(out)) << storage;
  }
  const Ran other = search(words("  exclude: [no_such_node]\n", "study_storage_db: sqlite:///new.db\n"));
  EXPECT_NE(other.err.find("no_such_node"), std::string::npos) << other.err;
  EXPECT_FALSE(fs::exists(folder.path() / "new.db"));
  const Ran dry = search(words(small_space, "study_storage_db: postgresql://127.0.0.1:1/q\n"), "--dry-run");
  EXPECT_NE(dry.err.find("cannot open the study database"), std::string::npos) << dry.err;
}

// Colons and @ in the folders of a path are no password.
TEST_F(Search, AFolderMayBeCalledByTimeAndHost) {
  out = folder.path() / "run_12:30@host";
  ASSERT_EQ(search(words(small_space, "n_trials: 1\n")).code, 0);
  const Ran again = search(words(small_space, "n_trials: 2\n"), "--resume");
  EXPECT_EQ(again.code, 0) << again.err;
  const Ran report = run("report run_12:30@host --format csv", "cd " + folder.path().string() + " && ");
  EXPECT_EQ(report.code, 0) << report.err;
}

TEST_F(Search, MistakesInTheSpaceAreFoundBeforeAnythingRuns) {
  const std::vector<Mistake> mistakes{
      {"  activation: [Int8Spec]\n  activatoin_params: {symmetric: [true], only_if: activation}\n",
       "did you mean 'activation_params'?"},
      {"  activation: [Int9Spec]\n", "did you mean 'Int8Spec'?"},
      {"  activation: [FP8E4M3Spec]\n", "8-bit floating point"},
      {"  activation: [Int8Spec]\n  activation_params: {symmetric: [true]}\n", "only_if"},
      {"  activation: [Int8Spec]\n  activation_params: {quant_granularity: [Channel], only_if: activation}\n",
       "one scale per tensor"},
      {"  weight: [Int8Spec]\n  weight_params: {calibration_method: [MinMx], only_if: weight}\n", "did you mean 'min_max'?"},
      {"  exclude: [no_such_node]\n", "no_such_node"},
      {"  activation: [Int8Spec]\n  search_metric: [L2]\n", "'search_metric' belongs to the top level"},
      {"  algorithms: [foo]\n", "unknown rounding method 'foo'; known: adaquant, adaround, awq, gptq, nearest, rtn, null"},
      {"  algorithms: [gptq]\n  gptq_params: {damping: [1], percdamp: [2], only_if: {algorithms: gptq}}\n",
       "'damping' and 'percdamp' are one option, given twice"},
      {"  activation_type: [QInt8]\n  include_fast_ft: [true]\n  extra_options: {FastFinetune: {OptimAlgorithm: [adaruond]}}\n",
       "extra_options.FastFinetune.OptimAlgorithm is \"adaruond\", but must be one of"},
  };
  for (const auto& [space, message] : mistakes) {
    const Ran ran = search(words(space));
    EXPECT_NE(ran.err.find(message), std::string::npos) << space << ran.err;
    EXPECT_NE(ran.code, 0) << space;
    fs::remove_all(out);
  }
}

}  // namespace
}  // namespace quasar::e2e
