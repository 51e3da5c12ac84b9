// Which trial has, or is making, the result of a plan, so that a duplicate is never executed.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>

#include "quasar/search/trial.hpp"

namespace quasar::search {

// Not thread-safe.
class Claims {
 public:
  // Begins with what the study's trials have claimed; duplicates and trials that wait own nothing.
  explicit Claims(std::span<const Trial> trials);

  // What another process says of its trial.
  void learn(const Trial& trial);

  // nullopt: the hash now belongs to trial `number`; otherwise the trial that it belongs to.
  std::optional<int64_t> claim(const std::string& hash, int64_t number);

  // The trial was interrupted: what it claimed is free.
  void give_up(int64_t number);

 private:
  std::map<std::string, int64_t> owners_;
};

}  // namespace quasar::search
