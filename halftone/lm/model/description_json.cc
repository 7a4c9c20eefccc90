// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/model/description_json.h"

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>

#include "halftone/base/error.h"
#include "halftone/base/printable.h"
#include "halftone/lm/model/description_fields.h"

namespace halftone::lm {
namespace {

using nlohmann::json;

/// The names of an enumeration, in its order.
template <typename T>
constexpr std::array<std::string_view, 0> kNamesOf{};
template <>
constexpr auto kNamesOf<Norm> = std::to_array<std::string_view>({"rms", "layer"});
template <>
constexpr auto kNamesOf<Positions> = std::to_array<std::string_view>({"rotary", "learned"});
template <>
constexpr auto kNamesOf<Pairing> = std::to_array<std::string_view>({"neighbours", "halves"});
template <>
constexpr auto kNamesOf<Mixer> = std::to_array<std::string_view>(
    {"attention", "convolution", "scan", "delta", "attention_and_scan", "none", "channel_scan"});
template <>
constexpr auto kNamesOf<FeedForward> = std::to_array<std::string_view>({"silu", "gelu", "gelu_tanh",
                                                                        "relu", "relu_squared",
                                                                        "clamped_swish"});

[[noreturn]] void fail_field(const char* name, const std::string& message) {
  fail(ErrorKind::kFormat, "description of the model: '" + std::string(name) + "': " + message);
}

/// Reads and writes the values of fields.
class FieldValues {
 public:
  template <typename T>
  static json to_json(const T& value) {
    if constexpr (std::is_enum_v<T>) {
      return kNamesOf<T>[static_cast<std::size_t>(value)];
    } else if constexpr (std::is_same_v<T, std::vector<Mixer>>) {
      json names = json::array();
      for (const Mixer mixer : value) names.push_back(to_json(mixer));
      return names;
    } else if constexpr (std::is_same_v<T, RotaryAngles>) {
      return object_of(value, angle_fields());
    } else {
      return value;
    }
  }
  /// The fields that files have; of an object by the rows of its table.
  template <typename Object, typename Row>
  static json object_of(Object object, std::span<const Row> rows) {
    json result = json::object();
    Object usual;
    for (const Row& row : rows) {
      if (row.since == Since::kNoFile) continue;
      json value = in_json(row.place(object));
      if (row.since == Since::kLater && value == in_json(row.place(usual))) continue;
      result[row.name] = std::move(value);
    }
    return result;
  }

  template <typename T>
  static void read(const char* name, const json& from, T& value) {
    if constexpr (std::is_enum_v<T>) {
      value = named<T>(name, from);
    } else if constexpr (std::is_same_v<T, std::vector<Mixer>>) {
      if (!from.is_array()) fail_field(name, "expected a list");
      for (const json& mixer : from) value.push_back(named<Mixer>(name, mixer));
    } else if constexpr (std::is_same_v<T, RotaryAngles>) {
      if (!from.is_object()) fail_field(name, "expected an object");
      if (read_object(from, angle_fields(), value) != from.size()) {
        fail_field(name, "has fields that are not known; a newer Halftone may read it");
      }
    } else {
      read_plain(name, from, value);
    }
  }
  /// Returns the number of fields that are there.
  template <typename Object, typename Row>
  static std::size_t read_object(const json& from, std::span<const Row> rows, Object& object) {
    std::size_t count = 0;
    for (const Row& row : rows) {
      if (row.since == Since::kNoFile) continue;
      const auto found = from.find(row.name);
      if (found == from.end() && row.since == Since::kFirst) fail_field(row.name, "is missing");
      if (found == from.end()) continue;
      ++count;
      std::visit([&](auto* value) { read(row.name, *found, *value); }, row.place(object));
    }
    return count;
  }

 private:
  static json in_json(const FieldPlace& place) {
    return std::visit([](const auto* value) { return to_json(*value); }, place);
  }
  /// The value of an enumeration that has a name.
  template <typename T>
  static T named(const char* name, const json& value) {
    for (std::size_t i = 0; i < kNamesOf<T>.size(); ++i) {
      if (value == kNamesOf<T>[i]) return static_cast<T>(i);
    }
    fail_field(name, "unknown: " + printable(value.dump()));
  }
  template <typename T>
  static void read_plain(const char* name, const json& from, T& value) {
    const bool fits = std::is_same_v<T, bool>          ? from.is_boolean()
                      : std::is_same_v<T, std::size_t> ? from.is_number_unsigned()
                      : std::is_same_v<T, double>      ? from.is_number()
                      : std::is_same_v<T, std::string> ? from.is_string()
                                                       : from.is_array();
    if (!fits) fail_field(name, "expected another type than " + printable(from.dump()));
    try {
      value = from.get<T>();
    } catch (const json::exception&) {
      fail_field(name, "expected a list of other elements");
    }
  }
};

}  // namespace

std::string description_to_json(const Description& description) {
  return FieldValues::object_of(description, description_fields()).dump();
}

Description description_from_json(std::string_view text) {
  const json object = json::parse(text, nullptr, false);
  if (!object.is_object()) fail(ErrorKind::kFormat, "description of the model: is no JSON object");
  Description description;
  const std::size_t count = FieldValues::read_object(object, description_fields(), description);
  if (count != object.size()) {
    fail(ErrorKind::kFormat, "description of the model: has " + std::to_string(object.size()) +
                                 " fields, expected " + std::to_string(count) +
                                 "; a newer Halftone may read it");
  }
  check(description);
  return description;
}

}  // namespace halftone::lm
