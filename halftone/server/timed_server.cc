// SPDX-License-Identifier: Apache-2.0
#include "halftone/server/timed_server.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

namespace halftone::server {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// Of the connection that this thread answers.
thread_local bool is_late_here = false;

/// The bytes of a connection, with a limit of time until a header is read.
class TimedStream : public httplib::Stream {
 public:
  TimedStream(socket_t socket, milliseconds read_patience, milliseconds write_patience)
      : socket_(socket), read_patience_(read_patience), write_patience_(write_patience) {}

  void begin_header() { header_end_ = Clock::now() + TimedServer::kHeaderPatience; }
  void end_header() { header_end_.reset(); }
  [[nodiscard]] bool is_header() const { return header_end_.has_value(); }
  [[nodiscard]] bool has_bytes() const { return begin_ < end_; }
  /// Waits for bytes to read or for room to write.
  [[nodiscard]] bool waits_for(short events, milliseconds patience) const {
    pollfd what{socket_, events, 0};
    int found = 0;
    do {
      found = ::poll(&what, 1, static_cast<int>(patience.count()));
    } while (found < 0 && errno == EINTR);
    return found > 0;
  }

  [[nodiscard]] bool is_readable() const override {
    return has_bytes() || waits_for(POLLIN, read_patience_);
  }
  [[nodiscard]] bool is_writable() const override {
    char byte = 0;
    // A client that has gone reads nothing more, whatever there is room for.
    const bool is_gone = ::recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
    return waits_for(POLLOUT, write_patience_) && !is_gone;
  }
  ssize_t read(char* bytes, std::size_t size) override {
    if (!has_bytes() && !fill()) return -1;
    const std::size_t count = std::min(size, end_ - begin_);
    std::memcpy(bytes, buffer_.data() + begin_, count);
    begin_ += count;
    return static_cast<ssize_t>(count);
  }
  ssize_t write(const char* bytes, std::size_t size) override {
    if (!is_writable()) return -1;
    return ::send(socket_, bytes, size, MSG_NOSIGNAL);
  }
  void get_remote_ip_and_port(std::string& ip, int& port) const override {
    name(::getpeername, ip, port);
  }
  void get_local_ip_and_port(std::string& ip, int& port) const override {
    name(::getsockname, ip, port);
  }
  [[nodiscard]] socket_t socket() const override { return socket_; }

 private:
  /// @return  whether there are bytes
  bool fill() {
    milliseconds patience = read_patience_;
    if (header_end_) {
      const auto left = std::chrono::ceil<milliseconds>(*header_end_ - Clock::now());
      patience = std::clamp(left, milliseconds(0), patience);
    }
    if (!waits_for(POLLIN, patience)) {
      is_late_here = header_end_ && Clock::now() >= *header_end_;
      return false;
    }
    const ssize_t count = ::recv(socket_, buffer_.data(), buffer_.size(), 0);
    begin_ = 0;
    end_ = static_cast<std::size_t>(std::max<ssize_t>(count, 0));
    return count > 0;
  }
  template <typename Name>
  void name(const Name& name, std::string& ip, int& port) const {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    std::array<char, NI_MAXHOST> host{};
    std::array<char, NI_MAXSERV> service{};
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    const bool is_named = name(socket_, any, &size) == 0 &&
                          ::getnameinfo(any, size, host.data(), host.size(), service.data(),
                                        service.size(), NI_NUMERICHOST | NI_NUMERICSERV) == 0;
    if (!is_named) return;
    ip = host.data();
    port = std::atoi(service.data());
  }

  socket_t socket_;
  milliseconds read_patience_;
  milliseconds write_patience_;
  std::optional<Clock::time_point> header_end_;
  std::array<char, 4096> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

milliseconds duration(time_t seconds, time_t microseconds) {
  return milliseconds(1000 * seconds + microseconds / 1000);
}

}  // namespace

bool TimedServer::take_late() { return std::exchange(is_late_here, false); }

bool TimedServer::process_and_close_socket(socket_t socket) {
  TimedStream stream(socket, duration(read_timeout_sec_, read_timeout_usec_),
                     duration(write_timeout_sec_, write_timeout_usec_));
  const milliseconds idle = duration(keep_alive_timeout_sec_, 0);
  bool goes_on = true;
  for (std::size_t left = keep_alive_max_count_; goes_on && left > 0; --left) {
    if (svr_sock_ == INVALID_SOCKET || (!stream.has_bytes() && !stream.waits_for(POLLIN, idle))) {
      break;
    }
    stream.begin_header();
    bool is_closed = false;
    goes_on = process_request(stream, left == 1, is_closed,
                              [&](httplib::Request&) { stream.end_header(); }) &&
              !is_closed && !stream.is_header();
  }
  if (take_late()) {
    std::string address;
    int port = 0;
    stream.get_remote_ip_and_port(address, port);
    const std::string response = late_(address);
    (void)::send(socket, response.data(), response.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  ::shutdown(socket, SHUT_RDWR);
  ::close(socket);
  return goes_on;
}

}  // namespace halftone::server
