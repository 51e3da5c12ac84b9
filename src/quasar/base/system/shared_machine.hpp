// What processes that mpirun or srun started together share on one machine.
#pragma once

#include <cstddef>
#include <vector>

namespace quasar {

// How many of them are on this machine, this one included.
size_t processes_here();

// Which of so many equal things, such as accelerators, are this process's: each process has its own as long as there are enough,
// and several have one otherwise. All of them for a process that was started by itself.
std::vector<size_t> share_of(size_t things);

}  // namespace quasar
