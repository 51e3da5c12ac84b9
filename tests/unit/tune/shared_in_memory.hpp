// What processes of one study tell each other, in memory.
#pragma once

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "quasar/search/storage.hpp"

namespace quasar::tune {

class SharedInMemory final : public search::Answers {
 public:
  Known ask(int64_t /*study*/, std::span<const std::string> questions, size_t most) override {
    const std::scoped_lock lock(mutex_);
    if (broken) throw Error("permission denied for table quasar_answers");
    asked++;
    Known out;
    for (const auto& question : questions) {
      const auto found = said_.find(question);
      if (found != said_.end() && !found->second.is_null()) out.answers.insert(*found);
      if (found != said_.end() || out.mine.size() == most) continue;
      said_[question] = nullptr;
      if (dead > 0 && dead-- > 0) continue;  // another process has just taken it, and dies
      out.mine.push_back(question);
    }
    return out;
  }
  void answer(int64_t /*study*/, const std::map<std::string, Json>& answers) override {
    const std::scoped_lock lock(mutex_);
    for (const auto& [question, answer] : answers) {
      given.push_back(question);
      if (said_[question].is_null()) said_[question] = answer;
    }
  }
  void forget(int64_t /*study*/, const std::string& question) override {
    const std::scoped_lock lock(mutex_);
    said_.erase(question);
  }
  void say(const std::string& question, const Json& answer) { said_[question] = answer; }
  size_t taken() const { return said_.size(); }

  std::vector<std::string> given;
  size_t asked = 0, dead = 0;  // so many of the next questions are taken by a process that dies
  bool broken = false;

 private:
  std::mutex mutex_;
  std::map<std::string, Json> said_;
};

}  // namespace quasar::tune
