// SPDX-License-Identifier: Apache-2.0
#include "halftone/server/chat_page.h"

#include <fmt/format.h>

#include <random>
#include <string_view>
#include <utility>

#include "halftone/base/base64.h"

namespace halftone::server {

ChatPage chat_page(const std::string& nonce) {
  constexpr std::string_view kMark = "@nonce@";
  std::string html(find_text(page_texts(), "chat")->text);
  for (auto at = html.find(kMark); at != std::string::npos; at = html.find(kMark, at)) {
    html.replace(at, kMark.size(), nonce);
  }
  // Trusted types have the browser refuse texts that would become markup.
  return {std::move(html),
          fmt::format("default-src 'none'; script-src 'nonce-{0}'; style-src 'nonce-{0}'; "
                      "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
                      "frame-ancestors 'none'; require-trusted-types-for 'script'",
                      nonce)};
}

std::string new_nonce() {
  std::random_device source;
  std::string bytes;
  for (int i = 0; i < 16; ++i) bytes += static_cast<char>(source() & 255U);
  return to_base64(bytes);
}

}  // namespace halftone::server
