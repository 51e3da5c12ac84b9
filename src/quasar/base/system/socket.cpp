#include "quasar/base/system/socket.hpp"

#ifdef _WIN32
#include <winsock2.h>
#else
#include <poll.h>
#include <sys/socket.h>
#endif

namespace quasar {

#ifdef _WIN32
bool is_ready(int socket, bool to_read, int milliseconds) {
  WSAPOLLFD asked{};
  asked.fd = static_cast<SOCKET>(socket);
  asked.events = to_read ? POLLRDNORM : POLLWRNORM;
  return ::WSAPoll(&asked, 1, milliseconds) > 0;
}

void cut(int socket) {
  ::shutdown(static_cast<SOCKET>(socket), SD_BOTH);
}
#else
bool is_ready(int socket, bool to_read, int milliseconds) {
  pollfd asked{.fd = socket, .events = static_cast<short>(to_read ? POLLIN : POLLOUT), .revents = 0};
  return ::poll(&asked, 1, milliseconds) > 0;
}

void cut(int socket) {
  ::shutdown(socket, SHUT_RDWR);
}
#endif

}  // namespace quasar
