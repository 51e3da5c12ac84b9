#include "quasar/search/storage.hpp"

#include "quasar/base/error.hpp"

namespace quasar::search {

std::unique_ptr<Storage> open_storage(const std::string& url) {
  if (url == "memory") return storage::table().make("memory");
  const size_t scheme = url.find("://");
  if (scheme == std::string::npos) return storage::table().make("sqlite", {{"path", url}});
  if (url.rfind("sqlite:///", 0) == 0) return storage::table().make("sqlite", {{"path", url.substr(10)}});
  throw Error("the study storage '" + url + "' is not supported; write a path or sqlite:///path");
}

}  // namespace quasar::search
