// SPDX-License-Identifier: Apache-2.0
#include "halftone/server/channel.h"

#include <sys/socket.h>

#include <cerrno>

namespace halftone::server {

bool Channel::waits_for(short events, Milliseconds patience) const {
  pollfd what{socket_, events, 0};
  int found = 0;
  do {
    found = ::poll(&what, 1, static_cast<int>(patience.count()));
  } while (found < 0 && errno == EINTR);
  return found > 0;
}

ssize_t Channel::receive(char* bytes, std::size_t size, Milliseconds patience) {
  return waits_for(POLLIN, patience) ? ::recv(socket_, bytes, size, 0) : -1;
}

ssize_t Channel::send(const char* bytes, std::size_t size, Milliseconds patience) {
  return waits_for(POLLOUT, patience) ? ::send(socket_, bytes, size, MSG_NOSIGNAL) : -1;
}

bool Channel::is_gone() {
  char byte = 0;
  return ::recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

}  // namespace halftone::server
