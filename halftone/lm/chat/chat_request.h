// SPDX-License-Identifier: Apache-2.0
// What a template of chats is given.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/types/language.hpp"

namespace halftone::lm {

using ChatRole = v0::Role;
using v0::Message;

/// A conversation and what belongs to it, in JSON, as apply_chat_template() of the package
/// transformers takes them.
struct ChatRequest {
  /// A list of objects such as {"role": "user", "content": "Hi"}; with "tool_calls",
  /// "reasoning_content" and what else a template reads.
  std::string messages = "[]";
  std::string tools{};      ///< a list of descriptions of functions; empty: none
  std::string documents{};  ///< a list of objects; empty: none
  std::string variables{};  ///< an object with more, such as {"enable_thinking": false}; or empty
  bool adds_answer = true;  ///< ends with the beginning of the assistant's next message
  /// Ends inside the last message instead, which an answer continues.
  bool continues_last = false;
  /// Ends inside a call of a function instead, which an answer begins with: in front of its name.
  bool begins_call = false;
  /// Functions, calls and results become texts of messages: with_tools_as_text().
  bool tools_as_text = false;
};

/// @throws Error kFormat if a message is not UTF-8
ChatRequest chat_request(std::span<const Message> messages, bool adds_answer = true);

/// A request as one object: {"messages": [...], "tools": [...], "documents": [...],
/// "add_generation_prompt": true, "continue_final_message": false}, with any variables as further
/// members. Only messages must be there; add_generation_prompt is usually the contrary of
/// continue_final_message.
/// @throws Error kFormat of what is no such object; kUsage if it both begins an answer and
/// continues
///         the last message
ChatRequest parse_chat_request(std::string_view json);

/// Puts a system message in front of the others, in place of the one that is there.
/// @throws Error kFormat if messages are malformed or the text is not UTF-8
void put_system_message(ChatRequest& request, const std::string& content);
/// Appends a message, which is to be answered.
/// @throws Error as put_system_message()
void append_message(ChatRequest& request, const Message& message);
/// Appends an answer, to the last message if it was continued.
/// @throws Error as put_system_message(); kUsage if there is no text that could be continued
void append_answer(ChatRequest& request, const std::string& content);

/// Leaves out the oldest turn: the messages behind leading ones of the system, up to the second
/// message of the user.
/// @return  how many these were; 0 if there is one turn only
/// @throws Error as put_system_message()
std::size_t forget_turn(ChatRequest& request);

/// The messages of a request that have a role and a text only.
/// @throws Error kFormat of malformed messages; kUnsupported if there is more in the request
std::vector<Message> plain_messages(const ChatRequest& request);

/// The request whose last message has a mark at its end, which the text of a conversation then
/// shows the end of.
/// @throws Error kUsage if there is no message, or the last one has no text
ChatRequest with_end_mark(const ChatRequest& request, std::string_view mark);
/// The request with an answer that calls a function of this name.
/// @throws Error kFormat if messages are malformed
ChatRequest with_call(const ChatRequest& request, std::string_view name, const std::string& id);

/// The request whose messages have thoughts under all the names that templates read:
/// "reasoning_content" and "thinking", beside "reasoning".
/// @throws Error kFormat if messages, tools, documents or variables are not what they should be
ChatRequest with_thoughts(const ChatRequest& request);

}  // namespace halftone::lm
