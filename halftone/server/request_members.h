// SPDX-License-Identifier: Apache-2.0
// Takes members out of requests. For sources of this folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "halftone/server/json_body.h"

namespace halftone::server::internal {

/// A member of an object; null of what is none.
inline Json member_of(const Json& object, const char* name) {
  return object.is_object() ? object.value(name, Json()) : Json();
}

/// Takes a member out of a request; null counts as absent.
inline std::optional<Json> take(Json& request, const std::string& name) {
  const auto found = request.find(name);
  if (found == request.end()) return std::nullopt;
  Json value = std::move(*found);
  request.erase(name);
  if (value.is_null()) return std::nullopt;
  return value;
}

[[noreturn]] inline void fail_member(const std::string& name, const std::string& expected) {
  throw RequestError(400, name + ": expected " + expected, name);
}

inline bool take_flag(Json& request, const std::string& name, bool otherwise = false) {
  const auto value = take(request, name);
  if (value && !value->is_boolean()) fail_member(name, "a boolean");
  return value ? value->get<bool>() : otherwise;
}

inline std::string take_text(Json& request, const std::string& name) {
  const auto value = take(request, name);
  if (value && !value->is_string()) fail_member(name, "a text");
  return value ? value->get<std::string>() : std::string();
}

inline std::optional<std::size_t> take_count(Json& request, const std::string& name,
                                             std::size_t low, std::size_t high) {
  const auto value = take(request, name);
  if (!value) return std::nullopt;
  const bool is_good = value->is_number_unsigned() && value->get<std::uint64_t>() >= low &&
                       value->get<std::uint64_t>() <= high;
  if (!is_good)
    fail_member(name, "a whole number from " + std::to_string(low) + " to " + std::to_string(high));
  return value->get<std::size_t>();
}

}  // namespace halftone::server::internal
