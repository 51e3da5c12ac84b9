#include "quasar/base/survive_abort.hpp"

#include <csetjmp>
#include <csignal>

namespace quasar {

#ifdef _WIN32
// Nothing jumps out of Windows' abort(): it ends the program.
bool survives_abort(const std::function<void()>& work) {
  work();
  return true;
}
#else
namespace {

thread_local sigjmp_buf* way_back = nullptr;  // nullptr: this thread's abort() is nobody's here
struct sigaction handled_before;

void on_abort(int signal) {
  if (way_back != nullptr) siglongjmp(*way_back, 1);
  ::sigaction(SIGABRT, &handled_before, nullptr);
  ::raise(signal);  // comes when this function has returned
}

// For good: a handler that is put in place and taken away for every call would race with other threads' calls.
void handle_aborts() {
  static const bool done = [] {
    struct sigaction action {};
    action.sa_handler = on_abort;
    sigemptyset(&action.sa_mask);
    return ::sigaction(SIGABRT, &action, &handled_before) == 0;
  }();
  (void)done;
}

}  // namespace

// glibc's abort() lets a handler jump out of it. No object with a destructor may stand between here and `work`.
bool survives_abort(const std::function<void()>& work) {
  handle_aborts();
  sigjmp_buf* const outer = way_back;
  sigjmp_buf here;
  if (sigsetjmp(here, 1) != 0) {
    way_back = outer;
    return false;
  }
  way_back = &here;
  try {
    work();
  } catch (...) {
    way_back = outer;
    throw;
  }
  way_back = outer;
  return true;
}
#endif

}  // namespace quasar
