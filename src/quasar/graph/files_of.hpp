// The files that make up a model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace quasar::graph {

// The files in which a model's external data lies, by the location that the model has for them. The model is not loaded: the file
// is gone through once, and whatever holds no tensors is passed over. What is no model, or breaks off, has none beyond. Throws
// Error, as load() does, for a file that cannot be opened and a location that leaves the model's folder.
std::map<std::string, std::filesystem::path> external_files_of(const std::filesystem::path& model);

// The size of all of these together with the model's own file, each counted once. Throws Error, as above, and for a file that is
// missing.
uintmax_t bytes_on_disk(const std::filesystem::path& model);

}  // namespace quasar::graph
