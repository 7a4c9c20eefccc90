// SPDX-License-Identifier: Apache-2.0
#include "halftone/server/timed_server.h"

#include <netdb.h>
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

/// The address of one end of a connection.
template <typename Name>
void name(const Name& name, socket_t socket, std::string& ip, int& port) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> service{};
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  const bool is_named = name(socket, any, &size) == 0 &&
                        ::getnameinfo(any, size, host.data(), host.size(), service.data(),
                                      service.size(), NI_NUMERICHOST | NI_NUMERICSERV) == 0;
  if (!is_named) return;
  ip = host.data();
  port = std::atoi(service.data());
}

/// The bytes of a connection, with a limit of time until a header is read.
class TimedStream : public httplib::Stream {
 public:
  TimedStream(Channel& channel, milliseconds read_patience, milliseconds write_patience)
      : channel_(channel), read_patience_(read_patience), write_patience_(write_patience) {}

  void begin_header() { header_end_ = Clock::now() + TimedServer::kHeaderPatience; }
  void end_header() { header_end_.reset(); }
  [[nodiscard]] bool is_header() const { return header_end_.has_value(); }
  [[nodiscard]] bool waits_for_bytes(milliseconds patience) const {
    return begin_ < end_ || channel_.has_bytes() || channel_.waits_for(POLLIN, patience);
  }

  [[nodiscard]] bool is_readable() const override { return waits_for_bytes(read_patience_); }
  [[nodiscard]] bool is_writable() const override {
    return channel_.waits_for(POLLOUT, write_patience_) && !channel_.is_gone();
  }
  ssize_t read(char* bytes, std::size_t size) override {
    if (begin_ == end_ && !fill()) return -1;
    const std::size_t count = std::min(size, end_ - begin_);
    std::memcpy(bytes, buffer_.data() + begin_, count);
    begin_ += count;
    return static_cast<ssize_t>(count);
  }
  ssize_t write(const char* bytes, std::size_t size) override {
    if (channel_.is_gone()) return -1;
    return channel_.send(bytes, size, write_patience_);
  }
  void get_remote_ip_and_port(std::string& ip, int& port) const override {
    name(::getpeername, channel_.socket(), ip, port);
  }
  void get_local_ip_and_port(std::string& ip, int& port) const override {
    name(::getsockname, channel_.socket(), ip, port);
  }
  [[nodiscard]] socket_t socket() const override { return channel_.socket(); }

 private:
  /// @return  whether there are bytes
  bool fill() {
    milliseconds patience = read_patience_;
    if (header_end_) {
      const auto left = std::chrono::ceil<milliseconds>(*header_end_ - Clock::now());
      patience = std::clamp(left, milliseconds(0), patience);
    }
    const ssize_t count = channel_.receive(buffer_.data(), buffer_.size(), patience);
    if (count < 0) is_late_here = header_end_ && Clock::now() >= *header_end_;
    begin_ = 0;
    end_ = static_cast<std::size_t>(std::max<ssize_t>(count, 0));
    return count > 0;
  }

  Channel& channel_;
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
  const bool goes_on = answer(socket);
  ::shutdown(socket, SHUT_RDWR);
  ::close(socket);
  return goes_on;
}

bool TimedServer::answer(socket_t socket) {
  if (tls_ == nullptr) {
    Channel channel(socket);
    return answer(channel);
  }
  std::string why;
  const std::unique_ptr<Channel> channel = tls_->greet(socket, kHeaderPatience, why);
  if (channel != nullptr) return answer(*channel);
  std::string address;
  int port = 0;
  name(::getpeername, socket, address, port);
  on_stranger_(address, why);
  return false;
}

bool TimedServer::answer(Channel& channel) {
  TimedStream stream(channel, duration(read_timeout_sec_, read_timeout_usec_),
                     duration(write_timeout_sec_, write_timeout_usec_));
  const milliseconds idle = duration(keep_alive_timeout_sec_, 0);
  bool goes_on = true;
  for (std::size_t left = keep_alive_max_count_; goes_on && left > 0; --left) {
    if (svr_sock_ == INVALID_SOCKET || !stream.waits_for_bytes(idle)) break;
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
    (void)channel.send(response.data(), response.size(), milliseconds(0));
  }
  return goes_on;
}

}  // namespace halftone::server
