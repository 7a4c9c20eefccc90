// SPDX-License-Identifier: Apache-2.0
// A file that keeps what was measured, so that an interrupted run continues.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace halftone {

/// What a file keeps, and of which run.
struct StateIdentity {
  std::string what;      ///< "sensitivities"
  std::uint64_t key;     ///< hash of all that it depends on,
  std::string key_text;  ///< which is "network, data, recipe or seed"
};

/// Measured values by name, as JSON.
class StateFile {
 public:
  using Json = nlohmann::ordered_json;

  /// Reads the file if there is one.
  /// @param path    empty: values are kept for this object only
  /// @param writes  whether this process writes the file
  /// @throws Error kFormat if it keeps something else, or has another key
  StateFile(std::filesystem::path path, StateIdentity identity, bool writes);

  /// A value that the file keeps.
  /// @param from_json  makes it of its JSON
  /// @throws Error kFormat if the JSON has another form
  template <typename FromJson>
  [[nodiscard]] auto find(const std::string& name, const FromJson& from_json) const
      -> std::optional<std::invoke_result_t<FromJson, const Json&>> {
    const auto found = measured_.find(name);
    if (found == measured_.end()) return std::nullopt;
    try {
      return from_json(*found);
    } catch (const Json::exception&) {
      fail_form();
    }
  }

  /// Keeps a value. @throws Error kIo
  void add(const std::string& name, Json value);

 private:
  [[noreturn]] void fail_form() const;

  std::filesystem::path path_;
  StateIdentity identity_;
  bool writes_;
  Json measured_ = Json::object();
};

}  // namespace halftone
