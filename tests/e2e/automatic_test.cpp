// `quasar auto`: a search for somebody who has a model and samples only.
#include <gtest/gtest.h>

#include <tuple>

#include "e2e/program.hpp"
#include "quasar/base/error.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/inspect/first_search.hpp"
#include "unit/data/files.hpp"

namespace quasar::e2e {
namespace {
namespace fs = std::filesystem;

struct Automatic : testing::Test {
  TemporaryFolder folder;
  const fs::path out = folder.path() / "out";

  Ran automatic(const std::string& more, const std::string& data = "evaluation.npz") {
    return run("auto " + digits("digits.onnx") + " " + digits(data) + " --output-dir " + out.string() + " " + more);
  }
};

TEST_F(Automatic, SearchesAndLeavesTheConfigurationThatSaysTheSame) {
  const Ran ran = automatic("--time 10m --set split.calibration=40 --set split.holdout=400");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.err.find("task: classes"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("goal: lose at most 0.01 of the float model's top1"), std::string::npos) << ran.err;
  const Json result = read_json(out / "result.json");
  EXPECT_EQ(result["status"], "ok");
  EXPECT_TRUE(result["best"].contains("metrics"));
  // What is shown beside each other fits: two medians of runs of 0.05 ms do not.
  EXPECT_NEAR(result["best"]["latency_ms"]["median"].get<double>(),
              result["baseline"]["latency_ms"]["median"].get<double>() * result["best"]["time_of_float"]["value"].get<double>(),
              1e-9);
  EXPECT_TRUE(fs::exists(out / "best.onnx"));
  const Ran again = run("search " + (out / "search.yaml").string() + " --dry-run --output-dir " + (folder.path() / "2").string());
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(parse_json(again.out, "stdout")["samples"]["calibration"], 40);
  const Ran used = automatic("");
  EXPECT_EQ(used.code, 1) << "the folder holds a search";
  EXPECT_NE(used.err.find("continue it with `quasar search " + (out / "search.yaml").string() + " --resume`"), std::string::npos)
      << used.err;
  // Commands about a study take the folder that has it.
  EXPECT_EQ(run("study list " + out.string()).out, run("study list " + (out / "auto_search.db").string()).out);
  EXPECT_EQ(run("status " + out.string()).code, 0);
  const Ran bare = run("status " + folder.path().string());
  EXPECT_EQ(bare.code, 1);
  EXPECT_NE(bare.err.find("is a folder without auto_search.db"), std::string::npos) << bare.err;
  const Ran file = run("report " + (out / "result.json").string() + " --format markdown");
  EXPECT_EQ(file.code, 1);
  EXPECT_NE(file.err.find("give the folder of the search, '" + out.string() + "'"), std::string::npos) << file.err;
}

TEST_F(Automatic, SaysWhatItTakesAndIsCorrectedByOneOption) {
  const Ran ran = automatic("--dry-run --metric agreement --loss 0.05 --target xint8 --time 90s");
  ASSERT_EQ(ran.code, 0) << ran.err;
  for (const char* text : {"# goal: lose at most 0.05 of the float model's agreement (as you say",
                           "\"preset\": \"npu_int8_search\"", "\"time_limit\": 90", "\"labels\": \"label\""})
    EXPECT_NE(ran.out.find(text), std::string::npos) << text << "\n" << ran.out;
  EXPECT_FALSE(fs::exists(out));
}

// What is said of the machine is true of targets that it is not.
TEST_F(Automatic, TakesTheSearchOfTheTargetAndSaysWhoJudges) {
  for (const auto& [target, preset, judge] :
       {std::tuple{"ort_cpu", "cpu_int8_search", "ort_cpu, this machine ("},
        {"tensorrt", "tensorrt_search", "tensorrt, whose models are scored on this machine ("},
        {"ort_arm64", "arm64_search", "ort_arm64, "},
        {"ort_cuda", "ort_cuda_search", "ort_cuda, whose models are scored on this machine ("},
        {"openvino", "openvino_search", "openvino, whose models are scored on this machine ("}}) {
    const Ran ran = automatic(std::string("--dry-run --target ") + target);
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_NE(ran.out.find("\"preset\": \"" + std::string(preset) + "\""), std::string::npos) << ran.out;
    EXPECT_NE(ran.out.find(std::string("# target: ") + judge), std::string::npos) << ran.out;
  }
  EXPECT_NE(automatic("--dry-run --target tensorrt").out.find(") by ONNX Runtime (--target)"), std::string::npos);
}

TEST_F(Automatic, OneOfFewAnswersIsNoLoss) {
  const Ran ran = automatic("--dry-run --set n_jobs=1", "calibration.npz");
  ASSERT_EQ(ran.code, 0) << ran.err;
  for (const char* text : {"# goal: lose at most 0.0224 of top1 (classes and labels; three of 134 answers",
                           "\"tolerable_loss\": 0.0224", "\"criterion\": \"absolute\"", "# set: n_jobs=1, instead of"})
    EXPECT_NE(ran.out.find(text), std::string::npos) << text << "\n" << ran.out;
  const Ran all = automatic("--dry-run --loss 5");
  EXPECT_EQ(all.code, 1);
  EXPECT_NE(all.err.find("--loss 5 would let all of top1 be lost: it is a share, and 5 % are 0.05"), std::string::npos)
      << all.err;
  EXPECT_NE(automatic("--dry-run --loss 0.01", "calibration.npz").out.find("\"tolerable_loss\": 0.01"), std::string::npos);
}

// Of averages nobody can tell by their form whether they are classes, as SqueezeNet's, or features.
TEST_F(Automatic, LabelsThatFitSayThatThereAreClasses) {
  graph::Model model = graph::load(digits("digits.onnx"));
  graph::Node& softmax = model.nodes.back();
  ASSERT_TRUE(softmax.is("Softmax"));
  const std::string scores = softmax.inputs.front(), out_of = softmax.outputs.front();
  model.nodes.pop_back();
  model.initializers["planes"] = Tensor::of<int64_t>({4}, {0, 10, 1, 1});
  model.nodes.push_back({"planes", "Reshape", "", {scores, "planes"}, {"as_planes"}});
  model.nodes.push_back({"average", "GlobalAveragePool", "", {"as_planes"}, {"averages"}});
  model.nodes.push_back({"flat", "Flatten", "", {"averages"}, {out_of}});
  graph::save(model, folder.path() / "averages.onnx");
  const Ran ran = run("auto " + (folder.path() / "averages.onnx").string() + " " + digits("calibration.npz") +
                      " --dry-run --output-dir " + out.string());
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("# task: unknown head"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("of top1 (classes and labels"), std::string::npos) << ran.out;
}

// Whatever reads them.
TEST_F(Automatic, OfManySamplesSomeAreTaken) {
  const fs::path many = folder.path() / "many.yaml";
  write_file(many, "{reader: random, count: 2500}");
  const Ran ran = run("auto " + digits("digits.onnx") + " " + many.string() + " --dry-run --output-dir " + out.string());
  ASSERT_EQ(ran.code, 0) << ran.err;
  for (const char* text : {"# data: 2500 samples, 2000 of which are taken", "128 samples to calibrate on", "1372 to score on",
                           "\"evaluation\": 1372", "\"holdout\": 500"})
    EXPECT_NE(ran.out.find(text), std::string::npos) << text << "\n" << ran.out;
  const fs::path words = folder.path() / "search.yaml";
  write_file(words, ran.out);
  const Ran again = run("search " + words.string() + " --dry-run --output-dir " + (folder.path() / "2").string());
  EXPECT_EQ(again.code, 0) << again.err;
}

// A hundredth of the 200 dB that equal outputs have would leave nothing to lose.
TEST_F(Automatic, OfDecibelsThirtyAreKept) {
  for (const auto& [metric, loss] : {std::pair("psnr", "170"), {"sqnr", "170"}, {"v1_psnr", "70"}}) {
    const Ran ran = automatic(std::string("--dry-run --metric ") + metric);
    ASSERT_EQ(ran.code, 0) << ran.err;
    for (const std::string& text : {std::string("# goal: at least 30 dB of ") + metric + " (as you say",
                                    std::string("\"tolerable_loss\": ") + loss, std::string("\"criterion\": \"absolute\"")})
      EXPECT_NE(ran.out.find(text), std::string::npos) << text << "\n" << ran.out;
  }
  const Ran share = automatic("--dry-run --metric psnr --loss 0.8");
  EXPECT_NE(share.out.find("# goal: lose at most 0.8 of the float model's psnr (as you say"), std::string::npos) << share.out;
}

// Turned or not, pictures of 9 rows are none of 8: what is told is the shape that the user has given.
TEST_F(Automatic, ArraysAreTurnedWhereTheModelTakesThemSo) {
  const auto told = [&](int64_t rows) {
    const fs::path file = folder.path() / "last.npz";
    const Shape shape{12, rows, 8, 1};
    data::write_npz(file, {{"image", data::npy_text(shape, std::vector<float>(static_cast<size_t>(12 * rows * 8), 0.5F))}});
    const Ran ran = run("auto " + digits("digits.onnx") + " " + file.string() + " --dry-run --output-dir " + out.string());
    return ran.out + ran.err;
  };
  EXPECT_NE(told(8).find("# layout: channels come last"), std::string::npos) << told(8);
  EXPECT_EQ(told(9).find("NHWC"), std::string::npos) << told(9);
  EXPECT_NE(told(9).find("9,8,1"), std::string::npos) << told(9);
}

// As readers look for it: here, or in the folder.
TEST_F(Automatic, LabelsOfPicturesStandInTheirFolderToo) {
  const fs::path photos = folder.path() / "photos";
  fs::create_directories(photos);
  std::string labels = "file,label\n";
  for (int i = 0; i < 9; ++i) {
    const std::string name = std::to_string(i) + ".png";
    fs::copy_file(fs::path(QUASAR_SOURCE_DIR) / "tests/unit/data/pictures/gray.png", photos / name);
    labels += name + "," + std::to_string(i) + "\n";
  }
  write_file(photos / "labels.csv", labels);
  const Ran ran = run("auto " + digits("digits.onnx") + " " + photos.string() + " --labels labels.csv --dry-run --set " +
                      "data_reader.color=gray --set data_reader.scale=0.0039 --output-dir " + out.string());
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("# data: 9 samples, with labels"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find((photos / "labels.csv").string()), std::string::npos) << ran.out;
}

// An array of the input's own name is the input, whatever stands beside it.
TEST_F(Automatic, OneMoreArrayIsPassedOver) {
  const fs::path file = folder.path() / "more.npz";
  const auto pictures = [](float value) { return data::npy_text({12, 1, 8, 8}, std::vector<float>(size_t{12} * 64, value)); };
  const std::string labels = data::npy_text({12}, std::vector<int64_t>(12, 3));
  const auto told = [&](const data::Members& arrays) {
    data::write_npz(file, arrays);
    const Ran ran = run("auto " + digits("digits.onnx") + " " + file.string() + " --dry-run --output-dir " + out.string());
    return ran.out + ran.err;
  };
  const std::string noisy = told({{"image", pictures(0.5F)}, {"label", labels}, {"noisy", pictures(0.7F)}});
  EXPECT_NE(noisy.find("\"image\": \"image\""), std::string::npos) << noisy;
  EXPECT_NE(noisy.find("# passed over: noisy"), std::string::npos) << noisy;
  EXPECT_NE(told({{"image", pictures(0.5F)}, {"index", labels}}).find("# passed over: index"), std::string::npos);
  const std::string other = told({{"pixels", pictures(0.5F)}, {"label", labels}});
  EXPECT_NE(other.find("\"image\": \"pixels\""), std::string::npos) << other;
  EXPECT_EQ(other.find("passed over"), std::string::npos) << other;
}

// What makes the data readable is known before they are read.
TEST_F(Automatic, KeysOfTheDataAreTaken) {
  const Ran ran = automatic("--dry-run --set data_reader.limit=30");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("# data: 30 samples, with labels"), std::string::npos) << ran.out;
}

TEST_F(Automatic, MistakesAreTold) {
  EXPECT_NE(automatic("--time 3x").err.find("5m"), std::string::npos);
  EXPECT_NE(automatic("--labels lable").err.find("lable"), std::string::npos);
  EXPECT_NE(automatic("--dry-run --target cpu").out.find("# target: ort_cpu"), std::string::npos);
  EXPECT_NE(automatic("--metric topp1").err.find("top1"), std::string::npos);
  EXPECT_EQ(automatic("", "nothing.npz").code, 1);
  EXPECT_FALSE(fs::exists(out));
}

TEST(Seconds, AreWrittenWithUnits) {
  EXPECT_EQ(tune::seconds_of("90"), 90);
  EXPECT_EQ(tune::seconds_of("1.5h"), 5400);
  EXPECT_EQ(tune::seconds_of("5m"), 300);
  for (const char* wrong : {"", "m", "0s", "-5", "5 minutes"}) EXPECT_THROW(tune::seconds_of(wrong), Error) << wrong;
}

}  // namespace
}  // namespace quasar::e2e
