#include "quasar/base/system/shared_machine.hpp"

#include <cstdlib>
#include <initializer_list>
#include <numeric>

namespace quasar {
namespace {

// The first of these variables that is a number from `least` on; else that.
size_t number_in(std::initializer_list<const char*> names, long least) {
  for (const char* name : names) {
    const char* text = std::getenv(name);
    char* end = nullptr;
    const long number = text == nullptr ? least - 1 : std::strtol(text, &end, 10);
    if (number >= least && end != text) return static_cast<size_t>(number);
  }
  return static_cast<size_t>(least);
}

}  // namespace

// Open MPI, Intel's MPI and MPICH, Slurm ("4(x2)": four on each of two machines).
size_t processes_here() {
  return number_in({"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_STEP_TASKS_PER_NODE"}, 1);
}

std::vector<size_t> share_of(size_t things) {
  const size_t processes = processes_here();
  const size_t mine = number_in({"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"}, 0);
  std::vector<size_t> out;
  if (processes == 1 || things == 0) {
    out.resize(things);
    std::iota(out.begin(), out.end(), size_t{0});
  } else if (processes >= things) {
    out.push_back(mine % things);
  } else {
    for (size_t i = mine % processes; i < things; i += processes) out.push_back(i);
  }
  return out;
}

}  // namespace quasar
