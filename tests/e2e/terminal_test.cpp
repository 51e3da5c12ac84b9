// What a search shows on a terminal, and what it leaves in its log. `script` lends a terminal.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "e2e/program.hpp"
#include "quasar/graph/load.hpp"

namespace quasar::e2e {
namespace {
namespace fs = std::filesystem;

// What a terminal of 80 columns gets; "": there is no `script` here.
std::string shown(const std::string& arguments, const std::string& environment) {
  const TemporaryFolder folder;
  if (std::system("command -v script > /dev/null") != 0) return "";
  const std::string record = (folder.path() / "record").string();
  const std::string command = environment + " TERM=xterm-256color script -qec 'stty cols 80; " + program() + " " + arguments +
                              "' " + record + " > /dev/null < /dev/null";
  EXPECT_EQ(std::system(command.c_str()), 0);
  return read_file(record);
}

// Without escape sequences.
std::string plain(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\033') {
      while (i + 1 < text.size() && std::isalpha(static_cast<unsigned char>(text[++i])) == 0) {
      }
    } else {
      out += text[i];
    }
  }
  return out;
}

class Terminal : public testing::Test {
 protected:
  std::string search(const std::string& more = "", const std::string& environment = "") {
    return shown("search " + digits("search.yaml") + " " + more + " --output-dir " + out.string(), environment);
  }
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "out";
};

// A terminal gets the names of a model as text; a file gets them as they are.
TEST_F(Terminal, NamesDoNotSteerIt) {
  graph::Model model = graph::load(digits("digits.onnx"));
  for (auto& node : model.nodes) node.name += "\x1b[2J\x07\n  Conv  forged";
  const std::string path = (folder.path() / "hostile.onnx").string();
  graph::save(model, path);
  const std::string text = shown("inspect " + path, "");
  if (text.empty()) GTEST_SKIP() << "no script";
  EXPECT_EQ(text.find("\x1b[2J"), std::string::npos);
  EXPECT_NE(text.find("\\x1b[2J\\x07"), std::string::npos) << text;
  EXPECT_NE(text.find("\\n  Conv  forged"), std::string::npos) << text;
  EXPECT_EQ(text.find("\n  Conv  forged"), std::string::npos);
  EXPECT_EQ(run("inspect " + path).out.find("\x1b[2J\x07"), std::string::npos) << "it may be piped to less";
  EXPECT_NE(run("inspect " + path + " --json").out.find("\\u001b[2J\\u0007\\n"), std::string::npos);
}

TEST_F(Terminal, OneLineTellsHowFarItIs) {
  const std::string text = search();
  if (text.empty()) GTEST_SKIP() << "no script";
  EXPECT_NE(text.find("\033[32mbest L2"), std::string::npos) << text;
  EXPECT_NE(text.find("\033[33m"), std::string::npos) << "pruned trials and warnings are yellow";
  const std::string words = plain(text);
  EXPECT_NE(words.find("trial 20/20  [################]  best L2 0.00"), std::string::npos) << words;
  EXPECT_NE(words.find(" left"), std::string::npos);
  EXPECT_NE(words.find(" pruned"), std::string::npos);
  std::istringstream lines(words);
  for (std::string line; std::getline(lines, line, '\r');) {
    if (line.starts_with("trial ")) {
      EXPECT_LT(line.size(), 80U) << line;
    }
  }
}

// What is told of every trial (rounding) does not tear the line apart, and stands in the log.
TEST_F(Terminal, TheLineStaysOneLine) {
  const std::string text = plain(search("--set n_trials=4 --set pruner=none --set search_space.algorithms=[adaround]"));
  if (text.empty()) GTEST_SKIP() << "no script";
  std::istringstream lines(text);
  int bars = 0;
  for (std::string line; std::getline(lines, line);) bars += line.find("trial 1/4") != std::string::npos ? 1 : 0;
  EXPECT_EQ(bars, 1) << text;
  EXPECT_EQ(text.find("output error of nearest rounding"), std::string::npos) << text;
  EXPECT_NE(read_file(out / "auto_search.log").find("output error of nearest rounding"), std::string::npos);
}

TEST_F(Terminal, ColoursAreOffWhenTheUserSaysSo) {
  const std::string text = search("--set n_trials=4", "NO_COLOR=1");
  if (text.empty()) GTEST_SKIP() << "no script";
  EXPECT_EQ(text.find("\033[3"), std::string::npos) << text;
  EXPECT_NE(text.find("best L2"), std::string::npos);
}

TEST_F(Terminal, QuietLeavesTheResult) {
  const std::string text = search("--set n_trials=4 --set pruner=none --quiet");
  if (text.empty()) GTEST_SKIP() << "no script";
  EXPECT_EQ(text.find("trial 1/"), std::string::npos) << text;
  EXPECT_NE(text.find("95 % interval"), std::string::npos);
}

// Every line by itself tells when and what.
TEST(Log, IsOneLineForEachEvent) {
  const TemporaryFolder folder;
  ASSERT_EQ(run("search " + digits("search.yaml") + " --set n_trials=5 --output-dir " + (folder.path() / "out").string()).code,
            0);
  const std::string log = read_file(folder.path() / "out/auto_search.log");
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) EXPECT_EQ(line.front(), '[') << line;
  for (int trial = 0; trial < 5; ++trial) {
    const std::string name = "trial " + std::to_string(trial) + " ";
    EXPECT_NE(log.find(name + "started: activation="), std::string::npos) << log;
    EXPECT_GE(std::ranges::count(log, '\n'), 12);
  }
  EXPECT_NE(log.find("status=ok reason="), std::string::npos);
}

}  // namespace
}  // namespace quasar::e2e
