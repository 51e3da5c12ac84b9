#include "quasar/search/state_name.hpp"

namespace quasar::search {

const char* name_of(State state) {
  switch (state) {
    case State::running:
      return "running";
    case State::waiting:
      return "waiting";
    case State::complete:
      return "complete";
    case State::pruned:
      return "pruned";
    case State::failed:
      return "failed";
  }
  return "";
}

}  // namespace quasar::search
