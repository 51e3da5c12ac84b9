// Every trial is scored to its end.
#include "quasar/search/pruner.hpp"

namespace quasar::search::pruners {
namespace {

class None final : public Pruner {
 public:
  bool prunes() const override { return false; }
  bool gives_up(const Race&) const override { return false; }
};

}  // namespace

Entry<Pruner> none() {
  return {.help = "Scores every trial on all samples.", .make = make_as<None, Pruner>, .aliases = {"NopPruner", "off"}};
}

}  // namespace quasar::search::pruners
