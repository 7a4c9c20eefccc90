// SPDX-License-Identifier: Apache-2.0
// The page at / on which people chat with the model.
#pragma once

#include <span>
#include <string>

#include "halftone/base/embedded_text.h"

namespace halftone::server {

/// The files of page/ by their stems.
std::span<const EmbeddedText> page_texts();

struct ChatPage {
  std::string html;
  /// Content-Security-Policy: the script and the style of this page run, asking this server only.
  std::string policy;
};

/// @param nonce  lets the script and the style run; new for each answer, without quotes
ChatPage chat_page(const std::string& nonce);

/// 16 random bytes of the system in base64.
std::string new_nonce();

}  // namespace halftone::server
