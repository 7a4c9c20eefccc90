// SPDX-License-Identifier: Apache-2.0
// The bytes of a connection, as they are or in TLS. For sources of this folder.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>

namespace halftone::server {

/// One thread uses it.
class Channel {
 public:
  using Milliseconds = std::chrono::milliseconds;

  /// @param socket  that outlives this
  explicit Channel(int socket) : socket_(socket) {}
  virtual ~Channel() = default;
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  [[nodiscard]] int socket() const { return socket_; }
  /// Waits for bytes of the socket to read or for room to write, POLLIN or POLLOUT.
  [[nodiscard]] bool waits_for(short events, Milliseconds patience) const;
  /// Whether bytes have come that waits_for() does not see.
  [[nodiscard]] virtual bool has_bytes() const { return false; }
  /// @return  the number of bytes; 0: the client has ended; -1: none came in time
  [[nodiscard]] virtual ssize_t receive(char* bytes, std::size_t size, Milliseconds patience);
  /// @return  the number of bytes that were sent; -1: none, in time
  virtual ssize_t send(const char* bytes, std::size_t size, Milliseconds patience);
  /// Whether the client has ended: it reads nothing more, whatever room there is.
  [[nodiscard]] virtual bool is_gone();

 private:
  int socket_;
};

/// A certificate with its key.
class Tls {
 public:
  /// @param certificate  file in PEM, with the chain of those who signed it
  /// @param key          its private key, in PEM
  /// @throws Error kIo if a file cannot be opened; kFormat if it is none, or the key of another
  Tls(const std::string& certificate, const std::string& key);
  ~Tls();
  Tls(const Tls&) = delete;
  Tls& operator=(const Tls&) = delete;

  /// Greets a client. By any number of threads.
  /// @param why  of what went wrong
  /// @return  null if it does not follow in time
  [[nodiscard]] std::unique_ptr<Channel> greet(int socket, Channel::Milliseconds patience,
                                               std::string& why) const;

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

}  // namespace halftone::server
