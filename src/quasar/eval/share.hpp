// A metric that is a share, a mean of shares, or otherwise never below 0: what has 0 can lose nothing.
#pragma once

namespace quasar::eval {

class Share {
 public:
  virtual ~Share() = default;
};

}  // namespace quasar::eval
