// SPDX-License-Identifier: Apache-2.0
// Text files that are part of the program, see cmake/HalftoneTexts.cmake.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace halftone {

struct EmbeddedText {
  std::string_view name;  ///< of the file, without its extension
  std::string_view text;
};

/// The text of this name; null if there is none.
inline const EmbeddedText* find_text(std::span<const EmbeddedText> texts, std::string_view name) {
  for (const EmbeddedText& each : texts) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

/// "a100, h100"
inline std::string names_of(std::span<const EmbeddedText> texts) {
  std::string list;
  for (const EmbeddedText& each : texts) list.append(list.empty() ? "" : ", ").append(each.name);
  return list;
}

}  // namespace halftone
