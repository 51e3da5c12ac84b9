#include "quasar/base/files/overwrite_guard.hpp"

#include "quasar/base/error.hpp"
#include "quasar/base/files/special_files.hpp"

namespace quasar {
namespace fs = std::filesystem;
namespace {

// Without links on the way to it; it may be one itself, and need not exist.
fs::path placed(const fs::path& path) {
  std::error_code code;
  const fs::path whole = fs::absolute(path).lexically_normal();
  const fs::path folder = fs::weakly_canonical(whole.parent_path(), code);
  return code ? whole : folder / whole.filename();
}

// Without links at all, as far as it exists.
fs::path resolved(const fs::path& path) {
  std::error_code code;
  const fs::path whole = fs::weakly_canonical(fs::absolute(path), code);
  return code ? placed(path) : whole;
}

bool is_same_file(const fs::path& one, const fs::path& other) {
  std::error_code code;
  return placed(one) == placed(other) || fs::equivalent(one, other, code);
}

bool is_in(const fs::path& folder, const fs::path& file) {
  const fs::path root = resolved(folder);
  return placed(file).parent_path() == root || resolved(file).parent_path() == root;
}

// A file of this folder, which both take for theirs; empty: there is none.
fs::path of_both(const fs::path& folder, const OverwriteGuard::Which& one, const OverwriteGuard::Which& other) {
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(folder, code)) {
    if (one(entry.path()) && other(entry.path())) return entry.path();
  }
  return {};
}

bool is_below(const fs::path& folder, const fs::path& file) {
  const fs::path root = resolved(folder / "");
  const auto below = [&](const fs::path& path) {
    const fs::path way = path.lexically_relative(root.has_filename() ? root : root.parent_path());
    return !way.empty() && way != "." && *way.begin() != "..";
  };
  return below(placed(file)) || below(resolved(file));
}

}  // namespace

void OverwriteGuard::reads(const fs::path& file, const std::string& as) {
  if (!file.empty()) inputs_.push_back({file, as});
}

void OverwriteGuard::reads_in(const fs::path& folder, const std::string& as, Which which) {
  if (!folder.empty()) input_folders_.push_back({folder, as, std::move(which)});
}

void OverwriteGuard::writes(const fs::path& file, const std::string& option) {
  if (!file.empty() && !is_special_file(file)) outputs_.push_back({file, option});
}

void OverwriteGuard::writes_in(const fs::path& folder, const std::string& option, Which which) {
  if (!folder.empty()) output_folders_.push_back({folder, option, std::move(which)});
}

void OverwriteGuard::check(const std::string& way_out) const {
  const auto refuse = [&](const std::string& option, const fs::path& file, const std::string& input) {
    throw Error(option + ": '" + file.string() + "' is " + input + ", which would be replaced; " + way_out);
  };
  for (const auto& [output, option] : outputs_) {
    for (const auto& [input, as] : inputs_) {
      if (is_same_file(output, input)) refuse(option, output, as);
    }
    for (const auto& [folder, as, which] : input_folders_) {
      std::error_code ignored;
      if (fs::exists(output, ignored) && is_below(folder, output) && which(output)) refuse(option, output, as);
    }
  }
  for (const auto& [folder, option, which] : output_folders_) {
    for (const auto& [input, as] : inputs_) {
      if (is_in(folder, input) && which(input)) refuse(option, input, as);
    }
    for (const auto& [from, as, wanted] : input_folders_) {
      if (!is_same_file(folder, from)) continue;
      if (const fs::path file = of_both(folder, which, wanted); !file.empty()) refuse(option, file, as);
    }
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      if (placed(outputs_[i].path) != placed(outputs_[k].path)) continue;  // of two links to one file, each is replaced
      throw Error(outputs_[i].role + ": '" + outputs_[i].path.string() + "' is what " + outputs_[k].role + " writes too; " +
                  way_out);
    }
  }
}

}  // namespace quasar
