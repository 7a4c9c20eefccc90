// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/onnx/own_operators.h"

#include <utility>

#include "halftone/formats/conv_layer.h"
#include "halftone/formats/low_bit_layer.h"
#include "halftone/formats/onnx/one_operator.h"
#include "halftone/formats/recurrent_layer.h"

namespace halftone::formats::onnx {
namespace {

/// Inputs of a layer of low_bit_layer.h and of recurrent_layer.h.
constexpr std::size_t kLayerInputs = 5;
constexpr std::size_t kRecurrentInputs = 9;

/// The attribute names that a visit of fields finds, behind "version" and those that are given.
template <typename Fields, typename ForEach>
std::vector<std::string> names_of(Fields fields, ForEach for_each,
                                  std::vector<std::string> names = {}) {
  names.emplace_back("version");
  for_each(fields, [&](const char* name, const auto&) { names.emplace_back(name); });
  return names;
}

std::vector<std::string> layer_names(std::vector<std::string> window = {}) {
  const auto visit = [](auto& fields, auto&& use) { for_each_field(fields, use); };
  return names_of(LowBitFields{}, visit, std::move(window));
}

}  // namespace

std::vector<OwnOperator> own_operators() {
  const std::vector<std::string> window = {"kernel_shape", "strides", "dilations", "pads", "group"};
  std::vector<std::string> transposed = window;
  transposed.emplace_back("output_padding");
  const auto rounded = [](auto& fields, auto&& use) { for_each_fake_quantize_field(fields, use); };
  const auto recurrent = [](auto& fields, auto&& use) { for_each_recurrent_field(fields, use); };
  return {{"Conv", kLayerInputs, layer_names(window)},
          {"ConvTranspose", kLayerInputs, layer_names(std::move(transposed))},
          {"FakeQuantize", 1, names_of(FakeQuantizeFields{}, rounded)},
          {"FullyConnected", kLayerInputs, layer_names()},
          {"Gather", kLayerInputs, layer_names()},
          {kNetwork, 0, {kNetworkBytes}, true},
          {"Recurrent", kRecurrentInputs, names_of(RecurrentFields{}, recurrent)}};
}

}  // namespace halftone::formats::onnx
