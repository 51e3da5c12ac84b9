#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <thread>

#include "quasar/base/error.hpp"
#include "quasar/base/json.hpp"
#include "quasar/base/printable.hpp"
#include "quasar/base/system/signals.hpp"
#include "quasar/cli/command.hpp"
#include "quasar/cli/end_of_input.hpp"
#include "quasar/cli/private_server.hpp"

namespace quasar::cli::commands {
namespace {

// "0.0.0.0:5433", "[::1]:5433", "::1": an address, and a port where one is given.
PrivateServerOptions listening(const std::string& folder, const std::string& where) {
  PrivateServerOptions out{.folder = folder};
  if (where.empty()) return out;
  const bool brackets = where.starts_with("[");
  const size_t close = brackets ? where.find(']') : std::ranges::count(where, ':') > 1 ? where.size() : where.find(':');
  out.listen = where.substr(brackets ? 1 : 0, std::min(close, where.size()) - (brackets ? 1 : 0));
  const std::string rest = close < where.size() ? where.substr(close + (brackets ? 1 : 0)) : "";
  if (!rest.empty()) {
    const std::string port = rest.starts_with(":") ? rest.substr(1) : "";
    const bool digits = !port.empty() && port.size() <= 5 && port.find_first_not_of("0123456789") == std::string::npos;
    out.port = digits ? std::stoll(port) : 0;
  }
  if (out.port < 1 || out.port > 65535 || out.listen.empty() || (brackets && close == std::string::npos))
    throw Error("--listen is '" + where +
                "', but must be an address of this machine, or ADDRESS:PORT with a port from 1 to 65535 ([::1]:5432 of IPv6)");
  return out;
}

class Serve final : public Command {
 public:
  void define(CLI::App& app) override {
    app.add_option("folder", folder_, "where the database is kept; made when it does not exist")->required();
    app.add_option("--listen", listen_, "ADDRESS[:PORT] of this machine (default 127.0.0.1:5432; 0.0.0.0: all addresses)");
    app.add_flag("--json", json_, json_help);
    end_of_input_.define(app);
    app.footer("Example: quasar serve studies --listen 0.0.0.0");
  }

  int run() override {
    catch_signals();
    end_of_input_.watch();
    const Log log = [](Level, const std::string& text) { std::cerr << printable_message(text) << "\n"; };
    PrivateServer server(listening(folder_, listen_), log);
    const std::string folder = std::filesystem::absolute(folder_).lexically_normal().string();
    std::cout << (json_ ? Json{{"address", server.address()}, {"folder", folder}}.dump() : server.address()) << "\n"
              << std::flush;
    constexpr int looks = 50;  // of a tenth of a second, between two looks whether it is still there
    while (!stop_requested().stop_requested()) {
      for (int i = 0; i < looks && !stop_requested().stop_requested(); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
      if (!stop_requested().stop_requested() && !server.runs())
        throw Error("the server in " + folder_ + " has ended: " + server.last_words(), Blame::world);
    }
    server.stop();
    return exit_done;
  }

 private:
  std::string folder_, listen_;
  bool json_ = false;
  EndOfInput end_of_input_;
};

}  // namespace

Entry<Command> serve() {
  return {"Runs a private PostgreSQL server for studies of several machines, and prints its address.", make_as<Serve, Command>};
}

}  // namespace quasar::cli::commands
