// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/text/json_parts.h"

#include <algorithm>

#include "halftone/base/error.h"

namespace halftone::lm::tokenizer_json {

using nlohmann::json;

void fail_format(const std::string& message) {
  fail(ErrorKind::kFormat, "tokenizer.json: " + message);
}

void refuse(const std::string& part, const json& found) {
  std::string text = found.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() > 100) text = text.substr(0, 97) + "...";
  fail(ErrorKind::kUnsupported, "tokenizer.json: " + part + ": found " + text);
}

const json& member(const json& object, const char* key) {
  static const json none;
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() ? *found : none;
}

std::string text_member(const json& object, const char* key) {
  const json& found = member(object, key);
  if (!found.is_string()) fail_format("'" + std::string(key) + "': expected a text");
  return found.get<std::string>();
}

std::string optional_text(const json& object, const char* key) {
  return member(object, key).is_null() ? "" : text_member(object, key);
}

bool flag_member(const json& object, const char* key, bool otherwise) {
  const json& found = member(object, key);
  if (!found.is_null() && !found.is_boolean()) {
    fail_format("'" + std::string(key) + "': expected true or false");
  }
  return found.is_boolean() ? found.get<bool>() : otherwise;
}

std::size_t count_member(const json& object, const char* key, std::size_t otherwise) {
  const json& found = member(object, key);
  if (found.is_null()) return otherwise;
  constexpr std::uint64_t kMost = std::uint64_t{1} << 24;
  if (!found.is_number_unsigned() || found.get<std::uint64_t>() > kMost) {
    fail_format("'" + std::string(key) + "': expected a number from 0 to 2^24");
  }
  return found.get<std::size_t>();
}

void check_members(const std::string& part, const json& object,
                   std::initializer_list<std::string_view> known) {
  for (const auto& item : object.items()) {
    if (std::ranges::find(known, item.key()) == known.end()) {
      refuse(part + ": '" + item.key() + "' is not known", item.value());
    }
  }
}

std::vector<json> steps_of(const json& step, const char* list) {
  if (step.is_null()) return {};
  if (text_member(step, "type") != "Sequence") return {step};
  const json& steps = member(step, list);
  if (!steps.is_array()) fail_format("'" + std::string(list) + "': expected a list");
  std::vector<json> all;
  for (const json& each : steps) {
    for (json& inner : steps_of(each, list)) all.push_back(std::move(inner));
  }
  return all;
}

TokenId id_of(const json& id) {
  constexpr std::int64_t kMaxId = 1 << 24;
  if (!id.is_number_unsigned() || id.get<std::uint64_t>() > kMaxId) {
    fail_format("expected ids of tokens from 0 to 2^24, found another value");
  }
  return id.get<TokenId>();
}

}  // namespace halftone::lm::tokenizer_json
