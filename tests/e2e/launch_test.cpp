// Processes that were started together, as mpirun and srun start them: the first leads, the others work for it, or end with it.
// And what becomes of those whose leader dies.
#include "e2e/workers.hpp"

namespace quasar::e2e {
namespace {

// As mpirun starts it.
std::unique_ptr<Child> launched(const std::string& launch, int rank, const std::vector<std::string>& words,
                                const fs::path& output) {
  return std::make_unique<Child>(words, output, [launch, rank] {
    return setenv("PMIX_NAMESPACE", launch.c_str(), 1) == 0 && setenv("PMIX_RANK", std::to_string(rank).c_str(), 1) == 0;
  });
}

// The others belong to the leader of their own launch.
TEST_F(Workers, OfOneLaunchFollowItsLeader) {
  const auto run_all = [&](const std::string& launch, const std::string& trials, const std::vector<std::string>& settings = {}) {
    std::vector<std::string> words = search({"--resume", "--set", "n_trials=" + trials});
    words.insert(words.end(), settings.begin(), settings.end());
    std::vector<std::unique_ptr<Child>> all;
    const auto start = [&](int rank) { all.push_back(launched(launch, rank, words, file(launch + std::to_string(rank)))); };
    for (const int rank : {1, 2}) start(rank);
    std::this_thread::sleep_for(std::chrono::seconds(1));
    start(0);
    for (const auto& child : all) EXPECT_EQ(child->wait(), 0) << launch << ": " << child->output();
  };
  run_all("first", "4");
  run_all("second", "12");
  // Other choices go on in another study.
  run_all("third", "16", {"--set", "search_space.activation=[UInt8Spec]"});
  const auto studies = search::open_storage(server->url())->studies();
  ASSERT_EQ(studies.size(), 2U);
  EXPECT_EQ(studies[0].user_attributes["search"]["launch"], "second");
  EXPECT_EQ(studies[1].user_attributes["search"]["launch"], "third");
}

// srun does not end the others when the first one fails, here at once.
TEST_F(Workers, OfALaunchWhoseLeaderFailsEndWithIt) {
  fs::create_directories(out);
  write_file(out / "result.json", "{}");
  std::vector<std::unique_ptr<Child>> all;
  for (const int rank : {1, 0, 2}) all.push_back(launched("one", rank, search(), file(std::to_string(rank))));
  for (const auto& child : all) EXPECT_EQ(child->wait(), 1) << child->output();
  EXPECT_NE(all[1]->output().find("holds an earlier search"), std::string::npos) << all[1]->output();
  for (const int other : {0, 2})
    EXPECT_NE(all[other]->output().find("the first process of this launch has ended"), std::string::npos) << all[other]->output();
}

// Started several times by mpirun, the first process leads and the others work for it.
TEST_F(Workers, StartedByMpirun) {
  if (std::system("mpirun --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no mpirun (Debian's package openmpi-bin)";
  const auto started = [&](int count, const std::string& more) {
    std::string words;
    for (const auto& word : search()) words += "'" + word + "' ";
    const std::string command = "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout " +
                                std::to_string(1000 * patience) + " mpirun --oversubscribe -np " + std::to_string(count) + " " +
                                program() + " " + words + more + " > " + file("mpirun").string() + " 2>&1 < /dev/null";
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  EXPECT_EQ(started(3, ""), 0) << read_file(file("mpirun"));
  expect_whole(all_trials);
  const Ran alone = run("search " + config.string() + " --output-dir " + file("single").string());
  ASSERT_EQ(alone.code, 0) << alone.err;
  EXPECT_TRUE(read_file(out / "best.onnx") == read_file(file("single") / "best.onnx")) << "not that of one process";
  // Without a storage that all share, they would be three searches.
  EXPECT_NE(started(2, "--set storage=study.db --set output_dir=" + file("alone").string()), 0);
  EXPECT_NE(read_file(file("mpirun")).find("a storage that all share"), std::string::npos) << read_file(file("mpirun"));
  EXPECT_EQ(started(1, "--set storage=study.db --set n_trials=5 --set output_dir=" + file("one").string()), 0)
      << read_file(file("mpirun"));
}

// Until the process has said it; false: not for as long as a test may take.
bool wait_for_words(const Child& child, const std::string& words) {
  for (int i = 0; i < 6000 * patience && child.output().find(words) == std::string::npos; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  return child.output().find(words) != std::string::npos;
}

// Whoever reads only the end of a worker's words is to know that best.onnx was not written.
TEST_F(Workers, SayThatTheirLeaderHasGone) {
  Child leader(search(), file("leader")), one(worker(), file("one"));
  ASSERT_TRUE(wait_for_words(one, "trial ")) << one.output() << leader.output();
  leader.signal(SIGKILL);
  leader.wait();
  EXPECT_EQ(one.wait(), 0) << one.output();
  EXPECT_NE(one.output().find("; the leader of this search has gone: `quasar search --resume` writes its results\n"),
            std::string::npos)
      << one.output();
  Child late({"worker", server->url(), "--drain", "60"}, file("late"));
  EXPECT_TRUE(wait_for_words(late, "where none runs now: the leader has gone of AutoSearch, which")) << late.output();
  late.signal(SIGTERM);
  EXPECT_EQ(late.wait(), 0) << late.output();
  Child again(search({"--resume"}), file("again"));
  EXPECT_EQ(again.wait(), 0) << again.output();
  expect_whole(all_trials);
}

}  // namespace
}  // namespace quasar::e2e
