// SPDX-License-Identifier: Apache-2.0
// Conversations as a family of models writes them. Private to this folder.
#pragma once

#include <memory>

#include "halftone/lm/chat/chat_family.h"
#include "halftone/lm/chat/chat_template.h"

namespace halftone::lm {

std::shared_ptr<const ChatTemplate::Writer> family_writer(const ChatFamily& family);

}  // namespace halftone::lm
