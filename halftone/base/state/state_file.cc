// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/state/state_file.h"

#include <utility>

namespace halftone {

StateFile::StateFile(std::filesystem::path path, const std::string& what,
                     const JobIdentity& identity, bool writes)
    : log_(std::move(path), {what, "measured " + what}, identity, writes) {
  for (StateRecord& record : log_.take_records()) {
    measured_.insert_or_assign(std::move(record.name), std::move(record.value));
  }
}

void StateFile::add(const std::string& name, const Json& value) {
  measured_.insert_or_assign(name, value);
  log_.append(name, value);
}

}  // namespace halftone
