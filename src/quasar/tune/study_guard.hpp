// Looks whether a search's study, and its folder, are still where they were.
#pragma once

#include <string>

#include "quasar/base/deadline.hpp"
#include "quasar/search/storage.hpp"
#include "quasar/tune/output_folder.hpp"
#include "quasar/tune/summary.hpp"

namespace quasar::tune {

class StudyGuard {
 public:
  // All of them outlive it.
  StudyGuard(search::Storage& storage, const OutputFolder& folder, const Monitor& monitor);

  // The monitor for the search's trials: looks before and after each of them, and stops the search when study or folder is gone.
  Monitor monitor();

  // Throws Error when nothing may be written, as the output folder is gone.
  void expect_folder() const;

  // What became of the study, and what that means; "": it is there.
  std::string lost_study() const { return storage_.lost(); }
  std::string lost() const;

  bool has_stopped() const { return stopped_; }

 private:
  search::Storage& storage_;
  const OutputFolder& folder_;
  const Monitor& outer_;
  Deadline ending_;
  bool stopped_ = false;
};

}  // namespace quasar::tune
