// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/explore/sensitivity_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/base/hash.h"

namespace halftone::accel {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kKind = "halftone sensitivities";

template <typename T>
void add_number(Hash& hash, const T& value) {
  hash.add(std::as_bytes(std::span(&value, 1)));
}

void add_graph(Hash& hash, const ir::Graph& graph) {
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    hash.add(node.name);
    hash.add(name_of(node.op));
    for (const ir::ValueId input : node.inputs) {
      const ir::Constant* constant = graph.constant(input);
      const auto* tensor = constant == nullptr ? nullptr : std::get_if<ir::Tensor>(constant);
      if (tensor != nullptr) hash.add(tensor->bytes());
    }
  }
}

void add_samples(Hash& hash, const data::Dataset& data) {
  constexpr std::size_t kBlock = 64;
  add_number(hash, data.size());
  for (std::size_t input = 0; input < data.inputs().size(); ++input) {
    const std::size_t elements = data.inputs()[input].shape.num_elements();
    std::vector<float> values(kBlock * elements);
    for (std::size_t first = 0; first < data.size(); first += kBlock) {
      const std::size_t count = std::min(kBlock, data.size() - first);
      const std::span<float> block(values.data(), count * elements);
      data.read(input, first, count, block);
      hash.add(std::as_bytes(block));
    }
  }
  for (std::size_t i = 0; data.has_labels() && i < data.size(); ++i) {
    add_number(hash, data.label(i));
  }
}

std::string key_of(const Measurement& on) {
  Hash hash;
  add_graph(hash, on.graph);
  add_samples(hash, on.samples);
  add_samples(hash, on.evaluation);
  hash.add(on.recipe_text);
  add_number(hash, on.options.seed);
  return fmt::format("{:016x}", hash.value());
}

}  // namespace

SensitivityState::SensitivityState(std::filesystem::path path, const Measurement& on)
    : path_(std::move(path)),
      writes_(on.options.devices.empty() || on.options.devices.rank() == 0) {
  if (path_.empty()) return;
  key_ = key_of(on);
  if (std::filesystem::exists(path_)) with_context(path_.string(), [&] { read(); });
}

void SensitivityState::read() {
  const std::vector<std::byte> bytes = read_file(path_);
  const Json json =
      Json::parse(reinterpret_cast<const char*>(bytes.data()),
                  reinterpret_cast<const char*>(bytes.data()) + bytes.size(), nullptr, false);
  try {
    if (json.is_discarded() || json.at("kind") != kKind) {
      fail(ErrorKind::kFormat, "expected measured sensitivities, found something else");
    }
    if (json.at("key") != key_) {
      fail(ErrorKind::kFormat,
           "has sensitivities of another network, data, recipe or seed: name another file");
    }
    for (const Json& each : json.at("measured")) {
      losses_[{each.at("layer").get<std::string>(),
               {each.at("weight_bits").get<int>(), each.at("activation_bits").get<int>()}}] = {
          each.at("noise").get<double>(), each.at("drop").get<double>()};
    }
  } catch (const Json::exception&) {
    fail(ErrorKind::kFormat, "expected measured sensitivities, found something else");
  }
}

std::optional<Loss> SensitivityState::find(const LayerChoice& choice) const {
  const auto found = losses_.find({choice.name, choice.bits});
  if (found == losses_.end()) return std::nullopt;
  return found->second;
}

void SensitivityState::add(const LayerChoice& choice, const Loss& loss) {
  losses_[{choice.name, choice.bits}] = loss;
  if (!path_.empty() && writes_) write_file(path_, text());
}

std::string SensitivityState::text() const {
  Json measured = Json::array();
  for (const auto& [choice, loss] : losses_) {
    measured.push_back({{"layer", choice.first},
                        {"weight_bits", choice.second.weights},
                        {"activation_bits", choice.second.inputs},
                        {"noise", loss.noise},
                        {"drop", loss.drop}});
  }
  const Json json = {{"kind", kKind}, {"key", key_}, {"measured", measured}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace halftone::accel
