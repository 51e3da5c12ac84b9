#include "quasar/search/claims.hpp"

namespace quasar::search {

Claims::Claims(std::span<const Trial> trials) {
  for (const Trial& trial : trials) learn(trial);
}

void Claims::learn(const Trial& trial) {
  if (trial.state == State::waiting) return give_up(trial.number);
  if (trial.is_duplicate()) return;
  const auto hash = trial.user_attributes.find(attribute::plan_hash);
  if (hash != trial.user_attributes.end()) owners_.emplace(hash->get<std::string>(), trial.number);
}

std::optional<int64_t> Claims::claim(const std::string& hash, int64_t number) {
  const auto [owner, is_new] = owners_.emplace(hash, number);
  return is_new || owner->second == number ? std::nullopt : std::optional(owner->second);
}

void Claims::give_up(int64_t number) {
  std::erase_if(owners_, [&](const auto& entry) { return entry.second == number; });
}

}  // namespace quasar::search
