// Keeps an assertion inside a library from ending the program with everything that it has found.
#pragma once

#include <functional>

namespace quasar {

// Does `work`. false: it called abort() on this thread (a failed assertion, std::terminate), and was left where it stood: what it
// held is never given back, and what it worked on must not be touched again. Exceptions pass. Only for calls of libraries whose
// state is their own: a corrupted heap or a wrong address still ends the program, and so does abort() on any other thread.
bool survives_abort(const std::function<void()>& work);

}  // namespace quasar
