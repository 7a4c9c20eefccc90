// SPDX-License-Identifier: Apache-2.0
// What the templates of a family consist of. Private to this folder.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace halftone::lm {

/// What stands around the content of a message. "{bos}" and "{eos}" are the texts of the tokens
/// that begin and end a text.
struct ChatTurn {
  std::string before;
  std::string after;
  bool trims = false;  ///< white space around the content is left out
};

/// Where a system message stands.
enum class SystemUse : std::uint8_t {
  kTurn,       ///< in front of the others, as a message of its own
  kFirstUser,  ///< in the first message of the user
  kLastUser,   ///< in the last message, if it is the user's
  kNone,       ///< nowhere: it is an error
};

/// What becomes of "<think>...</think>" in messages of the assistant.
enum class Thinking : std::uint8_t {
  kKept,
  kDropped,  ///< all up to the last "</think>"
  kQwen3,    ///< dropped in front of the user's last message, written anew behind it
};

struct ChatFamily {
  std::string name;
  std::string end_of_turn;
  std::string begin;  ///< of the whole text
  ChatTurn system{};
  ChatTurn user{};
  ChatTurn assistant{};
  std::string answer{};                     ///< begins the next message of the assistant
  std::string no_answer{};                  ///< ends a text without it
  SystemUse system_use = SystemUse::kTurn;  ///< else system.before and .after are in the user's
  bool alternates = false;                  ///< user, assistant, user, ...
  bool trims_whole_user = false;            ///< the content with the system message in it
  bool leaves_last_open = false;            ///< no user.after, ... behind the last message
  Thinking thinking = Thinking::kKept;
  std::optional<std::string> default_system{};  ///< where there is no system message
};

/// Every family, as its newest models write it.
std::span<const ChatFamily> chat_families();

}  // namespace halftone::lm
