// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/onnx/registry.h"

#include <map>
#include <utility>

namespace halftone::formats::onnx {
namespace {

using Name = std::pair<std::string_view, std::string_view>;  // domain, operator

using Family = std::span<const ReaderEntry> (*)();

constexpr Family kFamilies[] = {activation_readers, attention_readers,   cast_readers,
                                constant_readers,   control_readers,     convolution_readers,
                                einsum_readers,     elementwise_readers, encoding_readers,
                                expert_readers,     extend_readers,      fused_attention_readers,
                                fused_readers,      grid_readers,        grouped_attention_readers,
                                indexing_readers,   integer_readers,     layout_readers,
                                linear_readers,     loop_readers,        loss_readers,
                                ml_readers,         nbits_readers,       normalize_readers,
                                qoperator_readers,  quantized_readers,   recurrent_readers,
                                reduce_readers,     region_readers,      resample_readers,
                                rotary_readers,     selection_readers,   sequence_readers,
                                signal_readers,     slicing_readers,     state_readers,
                                text_readers,       window_readers};

std::map<Name, Builder> all_readers() {
  std::map<Name, Builder> table;
  for (const Family family : kFamilies) {
    for (const ReaderEntry& entry : family()) {
      table.emplace(Name(entry.domain, entry.op_type), entry.build);
    }
  }
  return table;
}

}  // namespace

std::vector<std::string> readable_operators() {
  std::vector<std::string> names;
  for (const auto& [name, build] : all_readers()) {
    names.push_back(std::string(name.first) + (name.first.empty() ? "" : ".") +
                    std::string(name.second));
  }
  return names;
}

Builder find_builder(std::string_view domain, std::string_view op_type) {
  static const std::map<Name, Builder> table = all_readers();
  if (domain == "ai.onnx") domain = "";
  const auto found = table.find({domain, op_type});
  return found == table.end() ? nullptr : found->second;
}

}  // namespace halftone::formats::onnx
