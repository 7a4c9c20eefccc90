// SPDX-License-Identifier: Apache-2.0
// A file that keeps what was measured, so that an interrupted run continues.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>

#include "halftone/base/state/state_log.h"

namespace halftone {

/// Measured values by name, as JSON: records of a log. Of a name that comes again, the last one
/// counts.
class StateFile {
 public:
  using Json = nlohmann::ordered_json;

  /// Reads the file if there is one.
  /// @param path      empty: values are kept for this object only
  /// @param what      what it keeps: "sensitivities"
  /// @param identity  of the job
  /// @param writes    whether this process writes the file
  /// @throws Error as StateLog
  StateFile(std::filesystem::path path, const std::string& what, const JobIdentity& identity,
            bool writes);

  /// A value that the file keeps.
  /// @param from_json  makes it of its JSON
  /// @throws Error kFormat if the JSON has another form
  template <typename FromJson>
  [[nodiscard]] auto find(const std::string& name, const FromJson& from_json) const
      -> std::optional<std::invoke_result_t<FromJson, const Json&>> {
    const auto found = measured_.find(name);
    if (found == measured_.end()) return std::nullopt;
    try {
      return from_json(found->second);
    } catch (const Json::exception&) {
      log_.fail_form();
    }
  }

  /// Keeps a value. @throws Error as StateLog::append()
  void add(const std::string& name, const Json& value);

 private:
  StateLog log_;
  std::map<std::string, Json> measured_;
};

}  // namespace halftone
