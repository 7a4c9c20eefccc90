// SPDX-License-Identifier: Apache-2.0
// A server that gives each header a time. For sources of this folder that know cpp-httplib.
#pragma once

#include <httplib.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "halftone/server/channel.h"

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
  /// Has connections be in TLS.
  /// @param on_stranger  is told of a client of some address that does not follow it, and why
  void set_tls(
      std::unique_ptr<Tls> tls,
      std::function<void(const std::string& address, const std::string& why)> on_stranger) {
    tls_ = std::move(tls);
    on_stranger_ = std::move(on_stranger);
  }
  /// In an error handler: whether the header was late, which is then dealt with.
  static bool take_late();

 private:
  bool process_and_close_socket(socket_t socket) override;
  bool answer(socket_t socket);
  bool answer(Channel& channel);

  std::function<std::string(const std::string&)> late_;
  std::unique_ptr<Tls> tls_;  ///< null: connections are plain
  std::function<void(const std::string&, const std::string&)> on_stranger_;
};

}  // namespace halftone::server
