// How the throughput of a shared search grows with the number of its workers: a synthetic objective that sleeps, so that a
// hundred workers fit on one machine, on a PostgreSQL server of its own.
//
// usage: bench_workers [SECONDS_PER_TRIAL] [SECONDS_PER_POINT] [SAMPLER] [WORKERS...]
// Prints one row per number of workers: trials per second, the share of the ideal (workers / seconds per trial), what one trial
// takes beyond its own time, the processor time of workers and server per trial, which other work on the machine does not
// change, the statements that the server ran per trial with their time, waits for turns included (pg_stat_statements, of Debian's
// postgresql-contrib), and the connections per worker.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "quasar/search/run.hpp"
#include "servers/postgresql.hpp"

using namespace quasar;

namespace {

search::Space space() {
  Json params{{"only_if", "a"}};
  for (int i = 0; i < 9; ++i) params["x" + std::to_string(i)] = {{"type", "float"}, {"low", -5.0}, {"high", 5.0}};
  return search::Space::parse({{"a", {1}}, {"p", params}});
}

// A worker's life: trials until the time is over.
void work(const std::string& url, const std::string& name, double trial_s, double life_s, const std::string& sampler,
          bool worker) {
  const auto storage = search::open_storage(url);
  search::Study study(*storage, {.name = name, .resume = true, .worker = worker});
  const auto conditions = search::stop_conditions({{"time_limit", life_s}});
  const auto made = search::samplers::table().make(sampler);
  search::run({.seed = static_cast<uint64_t>(getpid())}, study, space(), *made, conditions,
              [&](search::RunningTrial& job) -> search::Outcome {
                if (const auto other = job.claim(std::to_string(job.seed()))) return {.duplicate_of = other};
                std::this_thread::sleep_for(std::chrono::duration<double>(trial_s));
                double sum = 0;
                for (const auto& [key, value] : job.point().values()) sum += key == "a" ? 0 : std::pow(value.get<double>(), 2);
                return {.values = {sum}, .user_attributes = {{"config", {{"activation", "UInt8Spec"}, {"weight", "Int8Spec"}}}}};
              });
}

// Seconds of the processor that the server and the processes it has had took.
double server_time(const servers::Postgresql& server) {
  std::ifstream stat("/proc/" + std::to_string(server.pid()) + "/stat");
  std::string text((std::istreambuf_iterator<char>(stat)), std::istreambuf_iterator<char>());
  std::istringstream fields(text.substr(text.rfind(')') + 2));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double sum = 0;
  for (int i = 0; i < 4; ++i) {
    double ticks = 0;
    fields >> ticks;
    sum += ticks;
  }
  return sum / static_cast<double>(sysconf(_SC_CLK_TCK));
}

// Statements that the server has run so far, whatever transaction they belong to, and their milliseconds.
std::pair<double, double> statements(const servers::Postgresql& server) {
  std::istringstream answer(server.ask("SELECT sum(calls), sum(total_exec_time + total_plan_time) FROM pg_stat_statements"));
  double calls = 0, milliseconds = 0;
  char bar = 0;
  answer >> calls >> bar >> milliseconds;
  return {calls, milliseconds};
}

// How many there are besides the one that asks.
int connections(const servers::Postgresql& server) {
  return std::atoi(server.ask("SELECT count(*) - 1 FROM pg_stat_activity WHERE client_port IS NOT NULL").c_str());
}

double children_time() {
  rusage used{};
  getrusage(RUSAGE_CHILDREN, &used);
  const auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec); };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

void measure(servers::Postgresql& server, int workers, double trial_s, double life_s, const std::string& sampler) {
  const std::string name = std::to_string(workers) + " workers";
  const auto storage = search::open_storage(server.url());
  { const search::Study made(*storage, {.name = name}); }
  const double server_before = server_time(server), workers_before = children_time();
  const auto [calls_before, ms_before] = statements(server);
  std::vector<pid_t> children;
  for (int i = 0; i < workers; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      try {
        work(server.url(), name, trial_s, life_s, sampler, i > 0);
      } catch (const std::exception& e) {
        std::fprintf(stderr, "worker %d: %s\n", i, e.what());
        _exit(1);
      }
      _exit(0);
    }
    children.push_back(child);
  }
  std::this_thread::sleep_for(std::chrono::duration<double>(life_s * 0.8));
  const int connected = connections(server) - 1;  // without this process
  for (const pid_t child : children) waitpid(child, nullptr, 0);
  const auto [calls, ms] = statements(server);
  const double workers_s = children_time() - workers_before;
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // until the server has heard of its processes' ends
  const double server_s = server_time(server) - server_before;
  size_t finished = 0;
  for (const auto& record : storage->studies()) {
    if (record.name != name) continue;
    for (const auto& trial : storage->trials(record.id)) finished += trial.finished();
  }
  const double rate = static_cast<double>(finished) / life_s, ideal = workers / trial_s;
  const double each = 1000 / static_cast<double>(finished);
  std::printf("| %d | %zu | %.1f | %.0f %% | %.0f | %.1f | %.1f | %.1f | %.1f | %.1f |\n", workers, finished, rate,
              100 * rate / ideal, 1000 * (workers / rate - trial_s), each * workers_s, each * server_s,
              (calls - calls_before) * each / 1000, (ms - ms_before) * each / 1000, static_cast<double>(connected) / workers);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const double trial_s = argc > 1 ? std::atof(argv[1]) : 1, life_s = argc > 2 ? std::atof(argv[2]) : 15;
  const std::string sampler = argc > 3 ? argv[3] : "random";
  std::vector<int> counts;
  for (int i = 4; i < argc; ++i) counts.push_back(std::atoi(argv[i]));
  if (counts.empty()) counts = {1, 2, 5, 10, 20, 50, 100};
  const auto server = servers::Postgresql::start(
      "127.0.0.1",
      {"shared_preload_libraries=pg_stat_statements", "pg_stat_statements.track_planning=on", "pg_stat_statements.max=20000"});
  if (!server) {
    std::fprintf(stderr, "bench_workers: no PostgreSQL server can be started here (Debian's package postgresql)\n");
    return 77;
  }
  if (!server->run("CREATE EXTENSION pg_stat_statements")) {
    std::fprintf(stderr, "bench_workers: no pg_stat_statements (Debian's package postgresql-contrib)\n");
    return 77;
  }
  std::printf(
      "| workers | trials in %.0f s | trials/s | of the ideal | ms beyond its own | processor ms of workers | of the server | "
      "statements | ms of statements | connections a worker |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
      life_s);
  for (const int workers : counts) measure(*server, workers, trial_s, life_s, sampler);
  if (std::getenv("BENCH_STATEMENTS") != nullptr)  // which
    std::fputs(server
                   ->ask("SELECT calls, round(mean_plan_time::numeric, 2) AS plan, round(mean_exec_time::numeric, 2) AS exec, "
                         "left(regexp_replace(query, '\\s+', ' ', "
                         "'g'), 150) FROM pg_stat_statements ORDER BY 1 DESC LIMIT 40")
                   .c_str(),
               stdout);
  return 0;
}
