// Workers that have nothing of the leader's files.
#include "e2e/workers.hpp"
#include "quasar/graph/load.hpp"

namespace quasar::e2e {

// Model with external data, pictures of samples and labels come from the study, and the answer is that of one process.
TEST_F(Workers, FilesComeFromTheStudy) {
  const fs::path here = file("here");
  fs::create_directories(here);
  graph::save(graph::load(digits("digits.onnx")), here / "net.onnx", graph::ExternalData::always);
  for (const char* samples : {"calibration.npz", "evaluation.npz"}) fs::copy_file(digits(samples), here / samples);
  std::string words = read_file(config);
  words = with(words, digits("digits.onnx"), "here/net.onnx");
  words = with(words, digits("calibration.npz"), "here/calibration.npz");
  write_file(config, with(words, digits("evaluation.npz"), "here/evaluation.npz"));
  const Ran alone = run("search " + config.string() + " --output-dir " + file("alone").string());
  ASSERT_EQ(alone.code, 0) << alone.err;

  Child leader(search(), file("leader"));
  const auto wait_for = [&](const Child& child, const std::string& text) {
    for (int i = 0; i < 6000 * patience && child.output().find(text) == std::string::npos; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
  };
  wait_for(leader, "kept in the study");
  leader.signal(SIGSTOP);  // so that the search does not end meanwhile
  fs::rename(here, file("gone"));
  Child worker({"worker", server->url()}, file("worker"));
  wait_for(worker, "from the study: model_input");
  fs::rename(file("gone"), here);
  leader.signal(SIGCONT);
  EXPECT_EQ(leader.wait(), 0) << leader.output();
  EXPECT_EQ(worker.wait(), 0) << worker.output();
  EXPECT_NE(worker.output().find("from the study: model_input"), std::string::npos) << worker.output();
  expect_whole(all_trials);
  EXPECT_EQ(read_file(out / "best.onnx"), read_file(file("alone") / "best.onnx"));
}

// What is larger than a study keeps is asked for by its option, and said to be too large.
TEST_F(Workers, WhatAStudyDoesNotKeepIsAskedFor) {
  fs::create_directories(file("here"));
  fs::copy_file(digits("digits.onnx"), file("here") / "net.onnx");
  write_file(config, with(read_file(config), digits("digits.onnx"), "here/net.onnx"));
  Child leader(search({"--set", "n_trials=100000", "--set", "study_files_limit=100000", "--quiet"}), file("leader"));
  ASSERT_TRUE(wait_for_trials(1)) << leader.output();
  EXPECT_NE(leader.output().find("not kept in the study, workers need it in files: model_input (0.139 MB, and study_files_limit"),
            std::string::npos)
      << leader.output();
  fs::rename(file("here"), file("gone"));
  Child worker({"worker", server->url()}, file("worker"));
  EXPECT_EQ(worker.wait(), 1);
  EXPECT_NE(worker.output().find("the study does not keep it (0.139 MB, and study_files_limit is 0.1 MB); give --model FILE"),
            std::string::npos)
      << worker.output();
  Child given({"worker", server->url(), "--model", (file("gone") / "net.onnx").string()}, file("given"));
  for (int i = 0; i < 6000 * patience && given.output().find("trial ") == std::string::npos; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_NE(given.output().find("trial "), std::string::npos);
  fs::rename(file("gone"), file("here"));
}

}  // namespace quasar::e2e
