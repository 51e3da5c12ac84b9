// What a call says when it refuses.
#pragma once

#include <exception>
#include <string>

#include "quasar/base/error.hpp"

namespace quasar::test {

// The message of the Error that the work throws; "no error"; what else it threw, marked as such.
template <class Work>
std::string error_of(const Work& work) {
  try {
    work();
  } catch (const Error& e) {
    return e.what();
  } catch (const std::exception& e) {
    return std::string("not an Error: ") + e.what();
  }
  return "no error";
}

}  // namespace quasar::test
