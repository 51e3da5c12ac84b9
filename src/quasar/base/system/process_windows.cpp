// What Windows has of programs: names. None is started there.
#ifdef _WIN32
#include <array>
#include <string>

#include "quasar/base/error.hpp"
#include "quasar/base/process.hpp"
#include "quasar/base/system/windows.hpp"

namespace quasar {
namespace {

[[noreturn]] void cannot_start(const std::vector<std::string>& arguments) {
  throw Error("cannot start '" + (arguments.empty() ? std::string() : arguments.front()) +
              "': starting programs is not available on Windows");
}

}  // namespace

Process::Process(const ProcessOptions& options) {
  cannot_start(options.arguments);
}

// There is no Process of which these could be asked.
Process::~Process() = default;
void Process::kill() {}
Exit Process::wait(double) {
  return exit_;
}
bool Process::ask(std::string_view, std::string&, double) {
  return false;
}

std::string to_string(const Exit& exit) {
  return exit.timed_out ? "its time was up" : "exit code " + std::to_string(exit.code);
}

std::filesystem::path this_program() {
  std::array<wchar_t, 32768> name{};
  const DWORD length = ::GetModuleFileNameW(nullptr, name.data(), static_cast<DWORD>(name.size()));
  return std::wstring(name.data(), length);
}

void become(const std::vector<std::string>& arguments) {
  cannot_start(arguments);
}

uint64_t process_number() {
  return ::GetCurrentProcessId();
}

std::string process_name() {
  std::array<char, 64> host{};
  DWORD size = static_cast<DWORD>(host.size());
  if (::GetComputerNameA(host.data(), &size) == 0) host[0] = 0;
  return "process " + std::to_string(process_number()) + " on " + host.data();
}

}  // namespace quasar
#endif
