// The folder that a search writes its results into.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "quasar/base/file_lock.hpp"

namespace quasar::tune {

// What a search leaves besides its summary, in the order in which put_in_place() takes it; `pieces`: the files of a pipeline's
// models.
std::vector<std::string> result_files(const std::vector<std::string>& pieces);

// For one search alone: two that write to one folder would take each other's files. Results appear together: what is ready first
// lies in a folder of its own beside them until then.
class OutputFolder {
 public:
  // Makes the folder, and removes what a search that was killed had begun to write there. Throws Error, naming the holder, when
  // another search has it.
  explicit OutputFolder(const std::filesystem::path& path);
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

  // Where files are written that are not to be seen yet. Throws Error when it cannot be made.
  const std::filesystem::path& unfinished();
  // Moves those that are there to where they belong, in this order, `summary`, which speaks of them, last. What they replace is
  // away meanwhile: a model never stands beside another one's data, nor a summary beside what it does not speak of.
  // Names may have a folder before them (best/encoder.onnx), whose other files stay.
  void put_in_place(const std::vector<std::string>& names, const std::string& summary) const;

  // Why nothing may be written there any more: it is gone, or its name is now that of another search's folder. "": it is there.
  std::string lost() const;

 private:
  void move(const std::string& name) const;

  std::filesystem::path path_, unfinished_;
  bool made_ = false;
  FileLock lock_;
};

}  // namespace quasar::tune
