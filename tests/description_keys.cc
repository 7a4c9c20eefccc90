// SPDX-License-Identifier: Apache-2.0
// What Halftone calls the keys of language models, for a test that compares it with their packages:
//
//     description_keys > JSON
//
// {"config": names of keys of config.json, "gguf": names of keys of GGUF files without that of the
// architecture, "architectures": [[model_type, general.architecture, usual keys], ...]}
#include <iostream>
#include <nlohmann/json.hpp>

#include "halftone/lm/model/architectures.h"
#include "halftone/lm/model/description_fields.h"
#include "halftone/lm/model/hf_parts.h"

int main() {
  using nlohmann::json;
  json config = json::array();
  json gguf = json::array();
  for (const halftone::lm::DescriptionField& field : halftone::lm::description_fields()) {
    for (const char* name : field.config) config.push_back(name);
    if (field.gguf != nullptr) gguf.push_back(field.gguf);
  }
  json rows = json::array();
  for (const halftone::lm::Architecture& row : halftone::lm::architectures()) {
    rows.push_back({row.hf, row.start.architecture, halftone::lm::hf_defaults(row.hf)});
  }
  std::cout << json({{"config", config}, {"gguf", gguf}, {"architectures", rows}}) << '\n';
}
