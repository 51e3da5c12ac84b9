// What a PostgreSQL database knows of the processes that work on its studies: who leads which, who is there, and what those leave
// that have died.
//
// Who leads a study holds an advisory lock, which ends with his connection.
#pragma once

#include <soci/soci.h>

#include <optional>
#include <string>

#include "quasar/search/storage.hpp"

namespace quasar::search {

inline constexpr int lock_class = 0x51534152;  // of advisory locks: ours; their numbers are those of studies, which begin at 1

// Makes this connection the study's leader; false where another one is.
bool hold(soci::session& sql, int64_t study);
void release_hold(soci::session& sql, int64_t study);
bool is_held(soci::session& sql, int64_t study);

// "NAME since TIME", or "another process" where it has just ended.
std::string holder_of(soci::session& sql, int64_t study);

// Another text once a study's word `key`, or who leads one, has changed.
std::string leaders_of(soci::session& sql, const std::string& key);

Liveness liveness_of(soci::session& sql, int64_t study);

// Lets a running trial run again whose heartbeat is still `heartbeat`, or fail after max_retry deaths -> what to say of it;
// nullopt where somebody else has done so, or its heart beats.
std::optional<std::string> take_from_the_dead(soci::session& sql, int64_t trial, const std::string& heartbeat, int64_t max_retry);

}  // namespace quasar::search
