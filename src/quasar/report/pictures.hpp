// The pictures of the worst samples, for pages that hold them.
#pragma once

#include <filesystem>

#include "quasar/base/json.hpp"

namespace quasar::report {

// {sample: "data:image/jpeg;base64,…"} of the samples in result.json's best.flips.worst whose picture stands in the output
// folder's worst_samples; files elsewhere, of more than 64 KiB, and others than JPEG are left out. At most 1 MiB of text.
Json pictures_of(const Json& result, const std::filesystem::path& output_dir);

}  // namespace quasar::report
