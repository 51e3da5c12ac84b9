#include "quasar/cli/new_password.hpp"

#include <random>
#include <string_view>

namespace quasar::cli {

std::string new_password() {
  constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  std::random_device device;
  std::uniform_int_distribution<size_t> any(0, letters.size() - 1);
  std::string out;
  for (int i = 0; i < 24; ++i) out += letters[any(device)];
  return out;
}

}  // namespace quasar::cli
