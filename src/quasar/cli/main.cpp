// The program quasar, which the library holds.
#include "quasar/cli/program.hpp"

int main(int argc, char** argv) {
  return quasar::cli::program(argc, argv);
}
