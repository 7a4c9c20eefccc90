// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/model/config_reader.h"

#include <algorithm>
#include <cstdint>

namespace halftone::lm {
namespace {

void take(const ConfigReader& config, ConfigNames names, bool& value) {
  value = config.flag(names, value);
}
void take(const ConfigReader& config, ConfigNames names, double& value) {
  value = config.needed_number(names);
}
void take(const ConfigReader& config, ConfigNames names, std::size_t& value) {
  value = config.needed_whole(names);
}

}  // namespace

ConfigReader::Entry ConfigReader::find(ConfigNames names) const {
  for (const char* name : names) {
    const auto found = object_->find(name);
    if (found != object_->end() && !found->is_null()) return {name, &*found};
  }
  return {};
}

std::vector<std::string> ConfigReader::keys() const {
  std::vector<std::string> keys;
  for (const auto& item : object_->items()) {
    if (!item.value().is_null()) keys.push_back(item.key());
  }
  return keys;
}

std::optional<std::size_t> ConfigReader::whole(ConfigNames names) const {
  constexpr std::uint64_t kMaxNumber = std::uint64_t{1} << 32;
  const auto [key, found] = find(names);
  if (found == nullptr) return std::nullopt;
  if (found->is_number_unsigned() && found->get<std::uint64_t>() <= kMaxNumber) {
    return found->get<std::size_t>();
  }
  fail_key(key, "expected a whole number from 0 to 2^32");
}

std::size_t ConfigReader::needed_whole(ConfigNames names) const {
  const auto found = whole(names);
  if (!found) fail_missing(names);
  return *found;
}

std::optional<double> ConfigReader::number(ConfigNames names) const {
  const auto [key, found] = find(names);
  if (found == nullptr) return std::nullopt;
  if (!found->is_number()) fail_key(key, "expected a number");
  return found->get<double>();
}

double ConfigReader::needed_number(ConfigNames names) const {
  const auto found = number(names);
  if (!found) fail_missing(names);
  return *found;
}

bool ConfigReader::flag(ConfigNames names, bool otherwise) const {
  const auto [key, found] = find(names);
  if (found == nullptr) return otherwise;
  if (!found->is_boolean()) fail_key(key, "expected a boolean");
  return found->get<bool>();
}

std::string ConfigReader::text(ConfigNames names) const {
  const auto [key, found] = find(names);
  if (found == nullptr) return "";
  if (!found->is_string()) fail_key(key, "expected a text");
  return found->get<std::string>();
}

std::vector<double> ConfigReader::needed_numbers(const char* name) const {
  const auto [key, found] = find({name});
  if (found == nullptr || !found->is_array()) fail_key(name, "expected a list of numbers");
  std::vector<double> numbers;
  for (const nlohmann::json& entry : *found) {
    if (!entry.is_number()) fail_key(key, "expected a list of numbers");
    numbers.push_back(entry.get<double>());
  }
  return numbers;
}

void ConfigReader::read(FieldPart part, Description& description) const {
  visit_part(part, description, [&](const DescriptionField& field, auto& value) {
    if (field.config.empty()) return;
    if (find(field.config).value != nullptr) return take(*this, field.config, value);
    const bool is_needed = field.needed == Needed::kInConfig || field.needed == Needed::kAlways;
    if (is_needed) fail_missing(field.config);
  });
}

std::optional<ConfigReader> ConfigReader::part(const char* name) const {
  const auto [key, found] = find({name});
  if (found == nullptr || !found->is_object()) return std::nullopt;
  return ConfigReader(*found, name_);
}

void ConfigReader::fail_missing(ConfigNames names) const {
  const auto is_known = [&](const char* name) { return object_->contains(name); };
  const auto* const known = std::ranges::find_if(names, is_known);
  const char* name = known == names.end() ? *names.begin() : *known;
  fail(ErrorKind::kFormat, name_ + ": needs '" + name + "'");
}

void ConfigReader::fail_key(const char* key, const std::string& message, ErrorKind kind) const {
  fail(kind, name_ + ": '" + key + "': " + message);
}

}  // namespace halftone::lm
