#include "quasar/base/system/shared_library.hpp"

#ifndef _WIN32
#include <dlfcn.h>
#endif

#include <filesystem>
#include <system_error>

#include "quasar/base/system/windows.hpp"

namespace quasar {

#ifdef _WIN32
void* open_library(const std::string& file, std::string& why) {
  const HMODULE library = ::LoadLibraryW(std::filesystem::path(file).c_str());
  if (library == nullptr) why = std::system_category().message(static_cast<int>(::GetLastError()));
  return library;
}

void close_library(void* library) {
  ::FreeLibrary(static_cast<HMODULE>(library));
}

void* find_in_library(void* library, const std::string& name) {
  return reinterpret_cast<void*>(::GetProcAddress(static_cast<HMODULE>(library), name.c_str()));
}
#else
void* open_library(const std::string& file, std::string& why) {
  void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const words = ::dlerror();
    why = words == nullptr ? "unknown" : words;
  }
  return library;
}

void close_library(void* library) {
  ::dlclose(library);
}

void* find_in_library(void* library, const std::string& name) {
  return ::dlsym(library, name.c_str());
}
#endif

}  // namespace quasar
