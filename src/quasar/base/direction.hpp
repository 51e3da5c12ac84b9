// Which values of a number are better.
#pragma once

namespace quasar {

enum class Direction { minimize, maximize };

}  // namespace quasar
