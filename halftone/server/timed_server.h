// SPDX-License-Identifier: Apache-2.0
// A server that gives each header a time. For sources of this folder that know cpp-httplib.
#pragma once

#include <httplib.h>

#include <chrono>
#include <functional>
#include <string>

namespace halftone::server {

/// The library limits how long one byte of a request may take, so that a client which sends a byte
/// now and then keeps a thread. Here the whole header has a time.
class TimedServer : public httplib::Server {
 public:
  /// Of a header from its first byte on.
  static constexpr std::chrono::seconds kHeaderPatience{10};

  /// @param late  makes the response to a client of some address that sent no whole line in time
  void set_late_handler(std::function<std::string(const std::string& address)> late) {
    late_ = std::move(late);
  }
  /// In an error handler: whether the header was late, which is then dealt with.
  static bool take_late();

 private:
  bool process_and_close_socket(socket_t socket) override;

  std::function<std::string(const std::string&)> late_;
};

}  // namespace halftone::server
