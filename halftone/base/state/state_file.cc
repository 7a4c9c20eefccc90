// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/state/state_file.h"

#include <cstddef>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/base/paths.h"

namespace halftone {
namespace {

using Json = StateFile::Json;

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// A value beside its checksum.
Json record(const std::string& name, const Json& value) {
  return {{"value", value}, {"check", checksum(name, text_of(value))}};
}

void check(const std::string& name, const Json& record) {
  check_record(name, record.at("check").get<std::string>(),
               checksum(name, text_of(record.at("value"))));
}

}  // namespace

StateFile::StateFile(std::filesystem::path path, std::string what, const JobIdentity& identity,
                     bool writes)
    : path_(std::move(path)),
      what_(std::move(what)),
      head_({{"kind", what_}, {"job", to_json(identity)}}),
      writes_(writes && !path_.empty()) {
  if (!path_.empty() && path_exists(path_)) read(identity);
}

void StateFile::read(const JobIdentity& identity) {
  const std::vector<std::byte> bytes = read_file(path_);
  const char* text = reinterpret_cast<const char*>(bytes.data());
  try {
    Json json = Json::parse(text, text + bytes.size());
    const Json& head = json.at("head").at("value");
    if (head.at("kind") != what_) fail_form();
    Json measured = json.at("measured");
    if (!measured.is_object()) fail_form();
    with_context(path_.string(), [&] {
      check("head", json.at("head"));
      check_identity(what_, head.at("job"), identity);
      for (const auto& [name, each] : measured.items()) check(name, each);
    });
    measured_ = std::move(measured);
  } catch (const Json::exception&) {
    fail_form();
  }
}

void StateFile::add(const std::string& name, const Json& value) {
  measured_[name] = record(name, value);
  if (!writes_) return;
  const Json json = {{"head", record("head", head_)}, {"measured", measured_}};
  write_file(path_, text_of(json) + "\n");
}

void StateFile::fail_form() const {
  fail(ErrorKind::kFormat, path_.string() + ": expected measured " + what_ +
                               ", found something else: name another file");
}

}  // namespace halftone
