// What a command reads and what it writes: no output may take the place of an input, or of another output.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace quasar {

class OverwriteGuard {
 public:
  using Which = std::function<bool(const std::filesystem::path&)>;

  // `as`: what it is to the command, "the float model". Empty paths are nothing.
  void reads(const std::filesystem::path& file, const std::string& as);
  // Those files below a folder for which `which` holds.
  void reads_in(const std::filesystem::path& folder, const std::string& as, Which which);

  // `option`: that names it, "--html". What is written into instead of being replaced (is_special_file) is nothing.
  void writes(const std::filesystem::path& file, const std::string& option);
  // Not in folders below it.
  void writes_in(const std::filesystem::path& folder, const std::string& option, Which which);

  // Throws Error, which names the option, the file and what it would replace. Links and other names of a file count as that file.
  // `way_out`: what the user should do.
  void check(const std::string& way_out = "choose another file") const;

 private:
  struct File {
    std::filesystem::path path;
    std::string role;  // what it is, or the option
  };
  struct Folder {
    std::filesystem::path path;
    std::string role;
    Which which;
  };

  std::vector<File> inputs_, outputs_;
  std::vector<Folder> input_folders_, output_folders_;
};

}  // namespace quasar
