// SPDX-License-Identifier: Apache-2.0
// A file that keeps what was measured, so that an interrupted run continues.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "halftone/base/state/state_identity.h"

namespace halftone {

/// Measured values by name, as JSON. The file has a checksum of each, and of what it belongs to.
class StateFile {
 public:
  using Json = nlohmann::ordered_json;

  /// Reads the file if there is one.
  /// @param path      empty: values are kept for this object only
  /// @param what      what it keeps: "sensitivities"
  /// @param identity  of the job
  /// @param writes    whether this process writes the file
  /// @throws Error kFormat if it keeps something else, is damaged, or is of another job, of which
  ///         the first part that differs is named
  StateFile(std::filesystem::path path, std::string what, const JobIdentity& identity, bool writes);

  /// A value that the file keeps.
  /// @param from_json  makes it of its JSON
  /// @throws Error kFormat if the JSON has another form
  template <typename FromJson>
  [[nodiscard]] auto find(const std::string& name, const FromJson& from_json) const
      -> std::optional<std::invoke_result_t<FromJson, const Json&>> {
    const auto found = measured_.find(name);
    if (found == measured_.end()) return std::nullopt;
    try {
      return from_json(found->at("value"));
    } catch (const Json::exception&) {
      fail_form();
    }
  }

  /// Keeps a value. @throws Error kIo
  void add(const std::string& name, const Json& value);

 private:
  [[noreturn]] void fail_form() const;
  void read(const JobIdentity& identity);

  std::filesystem::path path_;
  std::string what_;
  Json head_;
  bool writes_;
  Json measured_ = Json::object();
};

}  // namespace halftone
