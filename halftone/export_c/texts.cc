// SPDX-License-Identifier: Apache-2.0
#include "halftone/export_c/texts.h"

#include <algorithm>
#include <sstream>

#include "halftone/base/error.h"

namespace halftone::export_c {
namespace {

constexpr std::string_view kNeeds = "/* needs: ";

std::vector<std::string> needs_of(const EmbeddedText& text) {
  if (!text.text.starts_with(kNeeds)) return {};
  const std::size_t end = text.text.find(" */");
  std::istringstream words(std::string(text.text.substr(kNeeds.size(), end - kNeeds.size())));
  std::vector<std::string> names;
  for (std::string name; words >> name;) names.push_back(name);
  return names;
}

void add(const std::string& name, std::vector<const EmbeddedText*>& texts) {
  const EmbeddedText* text = find_text(kernel_texts(), name);
  if (text == nullptr) fail(ErrorKind::kInternal, "no C text '" + name + "'");
  if (std::ranges::find(texts, text) != texts.end()) return;
  for (const std::string& need : needs_of(*text)) add(need, texts);
  texts.push_back(text);
}

}  // namespace

std::vector<const EmbeddedText*> with_needs(const std::set<std::string>& names) {
  std::vector<const EmbeddedText*> texts;
  for (const std::string& name : names) add(name, texts);
  return texts;
}

std::string_view body_of(const EmbeddedText& text) {
  if (!text.text.starts_with(kNeeds)) return text.text;
  return text.text.substr(text.text.find('\n') + 1);
}

}  // namespace halftone::export_c
