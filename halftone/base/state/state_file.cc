// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/state/state_file.h"

#include <cstddef>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/base/file.h"

namespace halftone {

StateFile::StateFile(std::filesystem::path path, StateIdentity identity, bool writes)
    : path_(std::move(path)), identity_(std::move(identity)), writes_(writes && !path_.empty()) {
  if (!std::filesystem::exists(path_)) return;
  const std::vector<std::byte> bytes = read_file(path_);
  const char* text = reinterpret_cast<const char*>(bytes.data());
  Json json = Json::parse(text, text + bytes.size(), nullptr, false);
  const bool is_state = json.is_object() && json.value("kind", Json()) == identity_.what &&
                        json.value("measured", Json()).is_object();
  if (!is_state) fail_form();
  if (json.value("key", Json()) != identity_.key) {
    fail(ErrorKind::kFormat, path_.string() + ": has " + identity_.what + " of another " +
                                 identity_.key_text + ": name another file");
  }
  measured_ = std::move(json["measured"]);
}

void StateFile::add(const std::string& name, Json value) {
  measured_[name] = std::move(value);
  if (!writes_) return;
  const Json json = {{"kind", identity_.what}, {"key", identity_.key}, {"measured", measured_}};
  write_file(path_, json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

void StateFile::fail_form() const {
  fail(ErrorKind::kFormat, path_.string() + ": expected measured " + identity_.what +
                               ", found something else: name another file");
}

}  // namespace halftone
