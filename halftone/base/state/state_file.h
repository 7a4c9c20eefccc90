// SPDX-License-Identifier: Apache-2.0
// Files that keep the results of a run, and what they belong to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "halftone/base/growing_file.h"
#include "halftone/base/shared_bytes.h"
#include "halftone/base/state/state_identity.h"

namespace halftone {

/// A result: JSON, and perhaps bytes.
struct StateRecord {
  std::string name;
  nlohmann::ordered_json value;
  SharedBytes bytes;  ///< a view of the mapped file; begins at a multiple of 8 bytes
};

/// What a log keeps, for messages.
struct StateKind {
  std::string name;      ///< "sensitivities", as in "has sensitivities of another job"
  std::string expected;  ///< "measured sensitivities", as in "expected measured sensitivities"
};

/// Records, one behind the other, of which the first says what the others belong to:
///
///     halftone state 1\n
///     TEXT BYTES CHECK HEAD text bytes \n
///
/// Numbers are 16 hexadecimal digits: the bytes of the text and of the bytes behind it, the
/// checksum of both, and that of the three numbers. The text is JSON: {"name", "value"}, with
/// blanks behind it up to a multiple of 8 bytes of the file.
/// A run of n records writes each once: O(n) bytes, not O(n^2) as where a file is replaced.
class StateLog {
 public:
  using Json = nlohmann::ordered_json;

  /// Reads the file if there is one. The last record may end early, where a process was stopped as
  /// it wrote: it is removed.
  /// @param path      empty: nothing is read or written
  /// @param identity  of the job
  /// @param writes    whether this process writes the file
  /// @throws Error kFormat if it is no log or one of an older version, keeps something else, is
  ///         damaged, or is of another job, of which the first part that differs is named; kIo
  StateLog(std::filesystem::path path, StateKind kind, const JobIdentity& identity, bool writes);

  /// The records that the file had, in their order. Called once.
  [[nodiscard]] std::vector<StateRecord> take_records() { return std::move(records_); }

  /// Appends a record and flushes it to disk. The first one makes the file.
  /// @param pieces  its bytes, one behind the other
  /// @throws Error kIo, also if another process has written the file
  void append(const std::string& name, const Json& value,
              std::span<const std::span<const std::byte>> pieces = {});

  /// @throws Error kFormat that the file keeps something else
  [[noreturn]] void fail_form() const;

 private:
  void read(const JobIdentity& identity);
  [[noreturn]] void fail_damaged(const std::string& where) const;
  void fail_if_older(std::span<const std::byte> bytes) const;
  /// The next record; none if the file ends early.
  std::optional<StateRecord> next(const SharedBytes& file, std::size_t& position) const;

  std::filesystem::path path_;
  StateKind kind_;
  Json head_;
  bool writes_;
  std::uint64_t size_bytes_ = 0;  ///< of the file that was read; 0: there is none
  std::vector<StateRecord> records_;
  std::optional<GrowingFile> file_;
};

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
