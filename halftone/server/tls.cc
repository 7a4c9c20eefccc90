// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include "halftone/base/error.h"
#include "halftone/server/channel.h"

namespace halftone::server {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = Channel::Milliseconds;

/// What OpenSSL says of the last error of this thread.
std::string last_error() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* reason = ERR_reason_error_string(code);
  return reason == nullptr ? "the connection ended" : reason;
}

class TlsChannel : public Channel {
 public:
  TlsChannel(int socket, SSL_CTX* context) : Channel(socket), ssl_(SSL_new(context), SSL_free) {
    if (ssl_ == nullptr) throw std::bad_alloc();
    // Records come in pieces, for which this waits itself.
    (void)fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK);
    SSL_set_fd(ssl_.get(), socket);
    SSL_set_mode(ssl_.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  }
  ~TlsChannel() override {
    ERR_clear_error();
    if (is_greeted_ && !has_failed_) (void)SSL_shutdown(ssl_.get());
    ERR_clear_error();
  }

  [[nodiscard]] bool greets(Milliseconds patience) {
    is_greeted_ = within(patience, [&] { return SSL_accept(ssl_.get()); }) == 1;
    return is_greeted_;
  }
  [[nodiscard]] bool has_bytes() const override { return SSL_pending(ssl_.get()) > 0; }
  [[nodiscard]] ssize_t receive(char* bytes, std::size_t size, Milliseconds patience) override {
    return within(patience, [&] { return SSL_read(ssl_.get(), bytes, whole(size)); });
  }
  ssize_t send(const char* bytes, std::size_t size, Milliseconds patience) override {
    const int count = within(patience, [&] { return SSL_write(ssl_.get(), bytes, whole(size)); });
    return count > 0 ? count : -1;
  }
  [[nodiscard]] bool is_gone() override {
    char byte = 0;
    return within(Milliseconds(0), [&] { return SSL_peek(ssl_.get(), &byte, 1); }) == 0;
  }

 private:
  static int whole(std::size_t size) {
    return static_cast<int>(std::min<std::size_t>(size, std::numeric_limits<int>::max()));
  }
  /// Repeats `work` while it waits for the socket.
  /// @return  what is positive of it; 0: the client has ended; -1: the time was over
  template <typename Work>
  int within(Milliseconds patience, const Work& work) {
    const Clock::time_point end = Clock::now() + patience;
    while (!has_failed_) {
      ERR_clear_error();
      const int result = work();
      if (result > 0) return result;
      const int error = SSL_get_error(ssl_.get(), result);
      if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) {
        has_failed_ = true;
        break;
      }
      const auto left = std::chrono::ceil<Milliseconds>(end - Clock::now());
      const short events = error == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT;
      if (!waits_for(events, std::max(left, Milliseconds(0)))) return -1;
    }
    return 0;
  }

  std::unique_ptr<SSL, decltype(&SSL_free)> ssl_;
  bool is_greeted_ = false;
  bool has_failed_ = false;
};

void check_readable(const std::string& file) {
  if (!std::ifstream(file)) fail(ErrorKind::kIo, file + ": cannot open");
}

}  // namespace

struct Tls::Context {
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> ssl{SSL_CTX_new(TLS_server_method()),
                                                        SSL_CTX_free};
};

Tls::Tls(const std::string& certificate, const std::string& key)
    : context_(std::make_unique<Context>()) {
  SSL_CTX* ssl = context_->ssl.get();
  if (ssl == nullptr) throw std::bad_alloc();
  check_readable(certificate);
  check_readable(key);
  ERR_clear_error();
  SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION);
  // A key with a password is refused rather than asked for at the terminal.
  SSL_CTX_set_default_passwd_cb(ssl, [](char*, int, int, void*) { return 0; });
  if (SSL_CTX_use_certificate_chain_file(ssl, certificate.c_str()) != 1) {
    fail(ErrorKind::kFormat,
         certificate + ": expected a certificate in PEM (" + last_error() + ")");
  }
  if (SSL_CTX_use_PrivateKey_file(ssl, key.c_str(), SSL_FILETYPE_PEM) != 1) {
    fail(ErrorKind::kFormat, key + ": expected the private key of " + certificate +
                                 ", in PEM and without a password (" + last_error() + ")");
  }
}

Tls::~Tls() = default;

std::unique_ptr<Channel> Tls::greet(int socket, Channel::Milliseconds patience,
                                    std::string& why) const {
  auto channel = std::make_unique<TlsChannel>(socket, context_->ssl.get());
  if (channel->greets(patience)) return channel;
  why = "TLS: " + last_error();
  return nullptr;
}

}  // namespace halftone::server
