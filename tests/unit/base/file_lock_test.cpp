#include "quasar/base/file_lock.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/error.hpp"
#include "quasar/base/file.hpp"

namespace quasar {
namespace {

struct Lock : testing::Test {
  std::string refusal(int64_t record = 0) const {
    try {
      const FileLock lock(file, "the study", "wait for it", record);
      return "";
    } catch (const Error& e) {
      return e.what();
    }
  }

  TemporaryFolder folder;
  std::filesystem::path file = folder.path() / "lock";
};

TEST_F(Lock, LinksAreNotFollowed) {
  std::filesystem::create_symlink(folder.path() / "elsewhere", file);
  EXPECT_NE(refusal().find("is a symbolic link"), std::string::npos) << refusal();
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "elsewhere"));
}

TEST_F(Lock, OneHolderWhoIsNamed) {
  {
    const FileLock lock(file, "the study", "wait for it", 3);
    const std::string message = refusal(3);
    EXPECT_NE(message.find("the study is in use by process " + std::to_string(getpid()) + " on "), std::string::npos) << message;
    EXPECT_NE(message.find(" since 2"), std::string::npos) << message;
    EXPECT_NE(message.find("; wait for it"), std::string::npos) << message;
    EXPECT_EQ(refusal(2), "");
    EXPECT_EQ(refusal(4), "");
  }
  EXPECT_EQ(refusal(3), "");
}

TEST_F(Lock, IsSeenWithoutBeingTaken) {
  EXPECT_EQ(FileLock::is_held(file, 3), std::nullopt);
  EXPECT_FALSE(std::filesystem::exists(file));
  {
    const FileLock lock(file, "the study", "wait for it", 3);
    EXPECT_EQ(FileLock::is_held(file, 3), true);
    EXPECT_EQ(FileLock::is_held(file, 2), false);
    EXPECT_EQ(FileLock::is_held(file, 3), true) << "asking takes nothing";
  }
  EXPECT_EQ(FileLock::is_held(file, 3), false);
}

TEST_F(Lock, DiesWithItsProcess) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const FileLock lock(file, "the study", "wait for it");
    if (write(ends[1], "x", 1) != 1) _exit(1);
    pause();
  }
  char byte = 0;
  ASSERT_EQ(read(ends[0], &byte, 1), 1);
  EXPECT_NE(refusal().find("process " + std::to_string(child)), std::string::npos);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(refusal(), "");
}

TEST_F(Lock, WaitsForItsHolder) {
  std::optional<FileLock> holder(std::in_place, file, "the study", "wait for it");
  std::vector<std::string> holders;
  std::promise<void> waiting;
  std::jthread other([&] {
    waiting.get_future().wait();
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    holder.reset();
  });
  const FileLock lock(file, [&](const std::string& name) {
    holders.push_back(name);
    waiting.set_value();
  });
  ASSERT_EQ(holders.size(), 1U);
  EXPECT_NE(holders[0].find("process " + std::to_string(getpid()) + " on "), std::string::npos) << holders[0];
  EXPECT_NE(refusal(), "");
}

TEST_F(Lock, WaitingCanBeCancelled) {
  std::optional<FileLock> holder(std::in_place, file, "the study", "wait for it");
  std::stop_source stop;
  const CancelScope scope(stop.get_token());
  EXPECT_THROW(FileLock(file, [&](const std::string&) { stop.request_stop(); }), Cancelled);
  EXPECT_NE(refusal().find("process " + std::to_string(getpid())), std::string::npos) << "who waited has not taken its name away";
  holder.reset();
  EXPECT_EQ(refusal(), "");
}

TEST_F(Lock, SaysWhichFileCannotBeOpened) {
  file = folder.path() / "missing" / "lock";
  EXPECT_NE(refusal().find(file.string()), std::string::npos);
}

}  // namespace
}  // namespace quasar
