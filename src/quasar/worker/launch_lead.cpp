#include "quasar/worker/launch_lead.hpp"

#include <thread>

#include "quasar/base/hash.hpp"

namespace quasar::tune {
namespace {

constexpr double visible = 5;  // seconds at least
constexpr double keeping = 4;  // seconds between two looks whether the connection is still there

}  // namespace

int64_t id_of_launch(const std::string& launch) {
  constexpr int64_t beyond_studies = int64_t{1} << 30;  // which number from 1; PostgreSQL's locks have 31 bits
  return beyond_studies + std::stoll(hash_of(launch).substr(0, 7), nullptr, 16);
}

LaunchLead::LaunchLead(const Job& job, const std::string& launch) {
  if (launch.empty() || !search::is_shared_storage(job.storage)) return;
  storage_ = search::open_storage(storage_url(job));
  try {
    lock_ = storage_->lock({.id = id_of_launch(launch), .name = launch, .directions = {}, .user_attributes = {}});
  } catch (const Error&) {  // several searches that one script began: each leads nobody
    return;
  }
  // A call finds a connection that was lost, makes it anew and holds again.
  const auto look = [this] {
    storage_->studies();
    return false;
  };
  keeper_.emplace(look, keeping, std::stop_token());
}

void LaunchLead::let_others_see(const std::stop_token& stop) const {
  const auto end = begin_ + std::chrono::duration<double>(visible);
  while (lock_ && !stop.stop_requested() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

}  // namespace quasar::tune
