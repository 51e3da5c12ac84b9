#include "quasar/runtime/qnn_htp.hpp"

#include <cstdlib>
#include <map>
#include <string_view>

#include "quasar/base/error.hpp"
#include "quasar/runtime/user_cache.hpp"

namespace quasar::runtime::assets {
std::string_view qnn_judge();
}

namespace quasar::runtime::qnn_htp {
namespace fs = std::filesystem;
namespace {

constexpr double longest_answer = 600;  // seconds
constexpr const char* cure =
    "; scripts/setup.sh --qnn brings it, or `pip install 'onnxruntime>=1.32' onnxruntime-qnn` into a Python that QUASAR_QNN "
    "names "
    "(in Python the own interpreter is found)";

fs::path interpreter_at(const fs::path& place) {
  return fs::is_directory(place) ? place / "bin" / "python" : place;
}

fs::path interpreter() {
  if (const char* const place = std::getenv(variable); place != nullptr && *place != '\0') {
    fs::path out = interpreter_at(place);
    if (fs::exists(out)) return out;
    throw Error(std::string(variable) + " is '" + place + "', where no Python is" + cure);
  }
  const fs::path copy = user_cache() / "quasar" / "qnn";
  if (fs::path out = interpreter_at(copy); fs::exists(out) && out != copy) return out;
  throw Error("QNN HTP is not here: " + std::string(variable) + " is not set, and there is no Python in " + copy.string() + cure);
}

}  // namespace

// One for each Python that was named in the life of this process.
JudgePool& processes() {
  static std::mutex guard;
  static std::map<std::string, JudgePool> pools;
  const std::string python = interpreter().string();
  const std::scoped_lock lock(guard);
  return pools
      .try_emplace(python, "QNN HTP", std::vector<std::string>{python, "-c", std::string(assets::qnn_judge())}, longest_answer)
      .first->second;
}

std::string obstacle() {
  try {
    facts();
    return "";
  } catch (const Error& error) {
    const std::string why = error.what();
    return why.find("scripts/setup.sh") == std::string::npos ? why + cure : why;
  }
}

Json facts() {
  auto process = processes().take();
  Json out = process->facts();
  processes().give_back(std::move(process));
  return out;
}

}  // namespace quasar::runtime::qnn_htp
