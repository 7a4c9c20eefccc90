// SPDX-License-Identifier: Apache-2.0
// Reads keys of config.json, which differ between architectures and years.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/lm/model/description_fields.h"

namespace halftone::lm {

/// A view of a JSON object. A key with the value null is no key.
class ConfigReader {
 public:
  /// @param name  put before messages
  ConfigReader(const nlohmann::json& object, std::string name)
      : object_(&object), name_(std::move(name)) {}

  struct Entry {
    const char* key = nullptr;
    const nlohmann::json* value = nullptr;  ///< null if there is none
  };
  /// The first of the names that there is.
  [[nodiscard]] Entry find(ConfigNames names) const;
  [[nodiscard]] bool has(const char* key) const { return find({key}).value != nullptr; }
  /// All keys that there are.
  [[nodiscard]] std::vector<std::string> keys() const;
  /// @throws Error kFormat unless it is a whole number from 0 to 2^32
  [[nodiscard]] std::optional<std::size_t> whole(ConfigNames names) const;
  /// @throws Error as whole(); kFormat if there is none
  [[nodiscard]] std::size_t needed_whole(ConfigNames names) const;
  /// @throws Error kFormat if it is no number
  [[nodiscard]] std::optional<double> number(ConfigNames names) const;
  [[nodiscard]] double needed_number(ConfigNames names) const;
  /// @throws Error kFormat if it is no boolean
  [[nodiscard]] bool flag(ConfigNames names, bool otherwise) const;
  /// Empty if there is none. @throws Error kFormat if it is no text
  [[nodiscard]] std::string text(ConfigNames names) const;
  /// @throws Error kFormat if it is no list of numbers, or missing
  [[nodiscard]] std::vector<double> needed_numbers(const char* name) const;
  /// Sets the fields of a part whose keys there are; the others stay as they are.
  /// @throws Error kFormat if a key that is needed is missing or one is of another type, named
  void read(FieldPart part, Description& description) const;
  /// A member that is an object; nothing if there is none.
  [[nodiscard]] std::optional<ConfigReader> part(const char* name) const;

  [[noreturn]] void fail_key(const char* key, const std::string& message,
                             ErrorKind kind = ErrorKind::kFormat) const;

 private:
  /// Names the key that the object has without a value, or else the commonest.
  [[noreturn]] void fail_missing(ConfigNames names) const;

  const nlohmann::json* object_;
  std::string name_;
};

}  // namespace halftone::lm
