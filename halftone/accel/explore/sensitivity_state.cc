// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/explore/sensitivity_state.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/base/hash.h"
#include "halftone/compress/input_hash.h"

namespace halftone::accel {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kKind = "halftone sensitivities";

std::string key_of(const Measurement& on) {
  Hash hash;
  compress::add_to_hash(hash, on.graph);
  compress::add_to_hash(hash, on.samples);
  compress::add_to_hash(hash, on.evaluation);
  hash.add(on.recipe_text);
  hash.add(std::as_bytes(std::span(&on.options.seed, 1)));
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
