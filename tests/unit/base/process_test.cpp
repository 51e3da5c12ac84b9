#include "quasar/base/process.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <thread>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/error.hpp"
#include "quasar/base/file.hpp"

namespace quasar {
namespace {

struct Processes : testing::Test {
  TemporaryFolder folder;
  ProcessOptions shell(const std::string& line) const {
    return {.arguments = {"sh", "-c", line},
            .folder = folder.path(),
            .output = folder.path() / "out",
            .errors = folder.path() / "err"};
  }
  void wait_until_written(const std::string& file) const {
    while (!std::filesystem::exists(folder.path() / file) || !read_file(folder.path() / file).ends_with('\n'))
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  // Whether a process with this number, which the line wrote to a file, is gone (or a zombie that nobody has reaped yet). It
  // would sleep for longer than this waits.
  bool gone(const std::string& file) const {
    const std::string number = read_file(folder.path() / file);
    const auto stat = std::filesystem::path("/proc") / number.substr(0, number.find('\n')) / "stat";
    for (int i = 0; i < 30000; ++i) {
      std::error_code code;
      if (!std::filesystem::exists(stat, code)) return true;
      try {
        if (read_file(stat).find(") Z") != std::string::npos) return true;
      } catch (const Error&) {
        return true;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
  }
};

TEST_F(Processes, HaveAFolderFilesAndAnExitCode) {
  EXPECT_TRUE(Process(shell("pwd; echo wrong >&2")).wait().good());
  EXPECT_EQ(read_file(folder.path() / "out"), std::filesystem::canonical(folder.path()).string() + "\n");
  EXPECT_EQ(read_file(folder.path() / "err"), "wrong\n");
  EXPECT_EQ(to_string(Process(shell("exit 3")).wait()), "exit code 3");
  EXPECT_EQ(to_string(Process(shell("kill -SEGV $$")).wait()).substr(0, 9), "signal 11");
}

// Whatever ends us, and whichever thread started it: this one has ended long before.
TEST_F(Processes, EndWithTheProcessThatStartedThem) {
  const pid_t parent = fork();
  if (parent == 0) {
    std::unique_ptr<Process> program;
    std::thread([&] { program = std::make_unique<Process>(shell("echo $$ > number; exec sleep 3600")); }).join();
    wait_until_written("number");
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    const bool lives = !read_file(folder.path() / "number").empty() &&
                       kill(static_cast<pid_t>(std::stol(read_file(folder.path() / "number"))), 0) == 0;
    if (lives) write_file(folder.path() / "lived", "yes");
    kill(getpid(), SIGKILL);
  }
  waitpid(parent, nullptr, 0);
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "lived"));
  EXPECT_TRUE(gone("number"));
}

TEST_F(Processes, ThatCannotBeStartedSayWhy) {
  try {
    Process({.arguments = {"no-such-program"}, .output = folder.path() / "out"});
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("'no-such-program'"), std::string::npos);
    EXPECT_NE(std::string(e.what()).find("No such file"), std::string::npos);
  }
}

TEST_F(Processes, AreEndedWithTheirChildrenWhenTheirTimeIsUp) {
  Process process(shell("sleep 3600 & echo $! > child; wait"));
  wait_until_written("child");
  EXPECT_TRUE(process.wait(0.1).timed_out);
  EXPECT_TRUE(gone("child"));
}

TEST_F(Processes, LeaveNothingRunning) {
  EXPECT_TRUE(Process(shell("sleep 3600 & echo $! > child")).wait().good());
  EXPECT_TRUE(gone("child"));
}

TEST_F(Processes, EndWhenTheWorkIsCancelled) {
  std::stop_source source;
  const CancelScope scope(source.get_token());
  Process process(shell("sleep 3600"));
  std::jthread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    source.request_stop();
  });
  EXPECT_THROW(process.wait(), Cancelled);
}

TEST_F(Processes, AnswerLineByLine) {
  ProcessOptions options = shell("while read line; do echo \"<$line>\"; [ \"$line\" = end ] && sleep 3600; done");
  options.output.clear();
  Process process(options);
  std::string reply;
  EXPECT_TRUE(process.ask("one", reply));
  EXPECT_EQ(reply, "<one>");
  EXPECT_TRUE(process.ask(std::string(100000, 'x'), reply));
  EXPECT_EQ(reply.size(), 100002u);
  EXPECT_TRUE(process.ask("end", reply));
  EXPECT_FALSE(process.ask("nobody reads this", reply, 0.1));
  const Exit exit = process.wait();
  EXPECT_EQ(exit.signal, SIGKILL);
  EXPECT_TRUE(exit.timed_out);
}

TEST_F(Processes, ThatOthersKillHaveNotRunOutOfTime) {
  Process process(shell("kill -KILL $$"));
  std::string reply;
  EXPECT_FALSE(process.ask("anybody there", reply, 60));
  const Exit exit = process.wait();
  EXPECT_FALSE(exit.timed_out);
  EXPECT_NE(to_string(exit).find("Killed"), std::string::npos) << to_string(exit);
}

TEST_F(Processes, DoNotInheritBlockedSignals) {
  sigset_t signals, before;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, &before);
  EXPECT_EQ(Process(shell("kill -TERM $$; sleep 5")).wait().signal, SIGTERM);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace
}  // namespace quasar
