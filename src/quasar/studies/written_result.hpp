// result.json of an output folder, as programs read it back: whoever made the folder may have written anything.
#pragma once

#include <filesystem>

#include "quasar/base/json.hpp"

namespace quasar::tune {

// null: the folder has none. Throws Error, which names the file and the key, for what no search writes there.
Json read_result(const std::filesystem::path& folder);

// Throws Error with what the JSON library says of a value in it.
[[noreturn]] void refuse_result(const std::filesystem::path& folder, const Json::exception& why);

// Runs the work on what the file says; what it is not ready for becomes an Error about the file.
template <class Work>
auto with_result_of(const std::filesystem::path& folder, const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const Json::exception& why) {
    refuse_result(folder, why);
  }
}

}  // namespace quasar::tune
