// Ctrl-C, or the end of the terminal, asks a program to stop and keep its results; a second Ctrl-C ends it at once.
#pragma once

#include <stop_token>

namespace quasar {

// For programs. SIGINT, SIGTERM and SIGHUP, each unless whoever started the program has it ignored: nohup, `&` in a script, trap
// ''. On Windows Ctrl-C, Ctrl-Break and the console's end.
void catch_signals();
std::stop_token stop_requested();  // set by the first signal, or by request_stop()
void request_stop();               // as the first signal

// A reader who has gone and a file beyond the size that is allowed (ulimit -f) are errors of writing, and do not end the program.
void ignore_signals_of_writing();

}  // namespace quasar
