// SPDX-License-Identifier: Apache-2.0
// Conversations as a template in Jinja writes them. Private to this folder.
#pragma once

#include <memory>
#include <string_view>

#include "halftone/lm/chat/chat_template.h"

namespace halftone::lm {

/// @throws Error as ChatTemplate::parsed()
std::shared_ptr<const ChatTemplate::Writer> jinja_writer(std::string_view source);

}  // namespace halftone::lm
