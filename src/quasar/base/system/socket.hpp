// Connections of the operating system that somebody else has opened.
#pragma once

namespace quasar {

// Waits up to so many milliseconds until something can be read from the socket (`to_read`) or written to it. An error on it is
// found by reading or writing, so that it counts as well.
bool is_ready(int socket, bool to_read, int milliseconds);

// Whoever reads from the socket or writes to it finds it closed from now on, in whatever thread; it stays open as a number.
void cut(int socket);

}  // namespace quasar
