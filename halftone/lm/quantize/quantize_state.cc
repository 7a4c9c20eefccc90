// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/quantize/quantize_state.h"

#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/paths.h"
#include "halftone/base/state/state_identity.h"
#include "halftone/formats/safetensors/safetensors_file.h"
#include "halftone/formats/safetensors/safetensors_writer.h"

namespace halftone::lm {
namespace {

using Json = nlohmann::ordered_json;
using formats::NewSafetensorsTensor;
using formats::SafetensorsFile;
using formats::SafetensorsType;

constexpr const char* kStateKey = "halftone.quantize_state";
constexpr const char* kCheckKey = "halftone.quantize_state.check";
constexpr const char* kNotAState = "expected a state of a quantization, found something else";

constexpr const char* kBlockInputs = "sensitivities.block_inputs";

/// Roles by their names: numbers of an enumeration change from version to version.
Json id_json(const WeightId& id) { return {to_string(id.role), id.block}; }

WeightId id_from(const Json& json) {
  const auto name = json.at(0).get<std::string>();
  for (int i = 0; i < static_cast<int>(WeightRole::kCount); ++i) {
    const auto role = static_cast<WeightRole>(i);
    if (to_string(role) == name) return {.role = role, .block = json.at(1).get<std::size_t>()};
  }
  fail(ErrorKind::kFormat, kNotAState);
}

/// "codes.attention query.12"
std::string tensor_name(const char* what, const WeightId& id) {
  return std::string(what) + "." + std::string(to_string(id.role)) + "." + std::to_string(id.block);
}

/// Tensors to write, with their checksums by name.
struct NewTensors {
  std::vector<NewSafetensorsTensor> list{};
  Json checks = Json::object();

  template <typename T>
  void add(const std::string& name, SafetensorsType type, std::span<const T> values) {
    const auto bytes = std::as_bytes(values);
    checks[name] = checksum(name, bytes);
    list.push_back({name, type, {values.size()}, [bytes](const ByteSink& sink) { sink(bytes); }});
  }
};

const formats::SafetensorsTensor& tensor_in(const SafetensorsFile& file, const std::string& name) {
  const formats::SafetensorsTensor* tensor = file.tensor(name);
  if (tensor == nullptr) fail(ErrorKind::kFormat, kNotAState);
  return *tensor;
}

template <typename T>
std::vector<T> values_in(const SafetensorsFile& file, const std::string& name) {
  const std::span<const std::byte> bytes = tensor_in(file, name).bytes.bytes;
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

Json costs_json(const TypeCosts& costs) {
  Json list = Json::array();
  for (const auto& [id, types] : costs) {
    Json each = Json::array();
    for (const TypeCost& cost : types) each.push_back({cost.type->name, cost.loss, cost.bytes});
    list.push_back({{"id", id_json(id)}, {"types", each}});
  }
  return list;
}

TypeCosts costs_from(const Json& list) {
  TypeCosts costs;
  for (const Json& each : list) {
    std::vector<TypeCost>& types = costs[id_from(each.at("id"))];
    for (const Json& cost : each.at("types")) {
      types.push_back({&weight_type(cost.at(0).get<std::string>()), cost.at(1).get<double>(),
                       cost.at(2).get<std::size_t>()});
    }
  }
  return costs;
}

Json fitted_json(const FittedMatrices& fitted, NewTensors& tensors) {
  Json list = Json::array();
  for (const auto& [id, matrix] : fitted) {
    list.push_back({{"id", id_json(id)},
                    {"type", matrix.type->name},
                    {"rows", matrix.rows},
                    {"cols", matrix.cols},
                    {"factor", matrix.encoded.encoding->factor},
                    {"error", matrix.error}});
    tensors.add(tensor_name("codes", id), SafetensorsType::kU8, matrix.encoded.bytes.bytes);
  }
  return list;
}

FittedMatrices fitted_from(const Json& list, const SafetensorsFile& file) {
  FittedMatrices fitted;
  for (const Json& each : list) {
    const WeightId id = id_from(each.at("id"));
    FittedMatrix matrix;
    matrix.type = &weight_type(each.at("type").get<std::string>());
    matrix.rows = each.at("rows").get<std::size_t>();
    matrix.cols = each.at("cols").get<std::size_t>();
    const Json& error = each.at("error");  // JSON has no infinity
    matrix.error = error.is_null() ? std::numeric_limits<double>::infinity() : error.get<double>();
    matrix.encoded = {encoding_of(*matrix.type, each.at("factor").get<float>()),
                      tensor_in(file, tensor_name("codes", id)).bytes};
    if (matrix.encoded.bytes.bytes.size() != matrix.type->size_bytes(matrix.rows, matrix.cols)) {
      fail(ErrorKind::kFormat, kNotAState);
    }
    fitted.emplace(id, std::move(matrix));
  }
  return fitted;
}

Json sensitivities_json(const std::optional<Sensitivities>& sensitivities, NewTensors& tensors) {
  if (!sensitivities) return nullptr;
  Json ids = Json::array();
  for (const auto& [id, outputs] : sensitivities->outputs) {
    ids.push_back(id_json(id));
    tensors.add(tensor_name("sensitivities", id), SafetensorsType::kF64,
                std::span<const double>(outputs));
  }
  tensors.add("sensitivities.embedding", SafetensorsType::kF64,
              std::span<const double>(sensitivities->embedding));
  if (!sensitivities->block_inputs.empty()) {
    tensors.add(kBlockInputs, SafetensorsType::kF64,
                std::span<const double>(sensitivities->block_inputs));
  }
  return {{"tokens", sensitivities->tokens}, {"loss", sensitivities->loss}, {"outputs", ids}};
}

std::optional<Sensitivities> sensitivities_from(const Json& json, const SafetensorsFile& file) {
  if (json.is_null()) return std::nullopt;
  Sensitivities sensitivities;
  sensitivities.tokens = json.at("tokens").get<std::size_t>();
  sensitivities.loss = json.at("loss").get<double>();
  for (const Json& each : json.at("outputs")) {
    const WeightId id = id_from(each);
    sensitivities.outputs[id] = values_in<double>(file, tensor_name("sensitivities", id));
  }
  sensitivities.embedding = values_in<double>(file, "sensitivities.embedding");
  if (file.tensor(kBlockInputs) != nullptr) {
    sensitivities.block_inputs = values_in<double>(file, kBlockInputs);
  }
  return sensitivities;
}

/// @throws Error kFormat unless the text and all tensors are as they were written
void check_records(const SafetensorsFile& file, const std::string& text, const Json& json) {
  const auto found = file.metadata().find(kCheckKey);
  if (found == file.metadata().end()) fail(ErrorKind::kFormat, kNotAState);
  check_record(kStateKey, found->second, checksum(kStateKey, text));
  for (const auto& [name, check] : json.at("checks").items()) {
    check_record(name, check.get<std::string>(), checksum(name, tensor_in(file, name).bytes.bytes));
  }
}

QuantizeState state_from(const SafetensorsFile& file, const JobIdentity& identity) {
  const auto found = file.metadata().find(kStateKey);
  if (found == file.metadata().end()) fail(ErrorKind::kFormat, kNotAState);
  try {
    const Json json = Json::parse(found->second);
    check_records(file, found->second, json);
    check_identity("the state", json.at("job"), identity);
    QuantizeState state;
    state.written = json.at("written").get<std::vector<std::vector<TokenId>>>();
    state.sensitivities = sensitivities_from(json.at("sensitivities"), file);
    state.costs = costs_from(json.at("costs"));
    state.fitted = fitted_from(json.at("fitted"), file);
    state.losses = json.at("losses").get<std::vector<double>>();
    return state;
  } catch (const Json::exception&) {
    fail(ErrorKind::kFormat, kNotAState);
  }
}

}  // namespace

QuantizeState read_quantize_state(const std::filesystem::path& path, const JobIdentity& identity) {
  if (!path_exists(path)) return {};
  const SafetensorsFile file = SafetensorsFile::open(path);
  return with_context(path.string(), [&] { return state_from(file, identity); });
}

void write_quantize_state(const std::filesystem::path& path, const JobIdentity& identity,
                          const QuantizeState& state) {
  NewTensors tensors;
  Json json = {{"job", to_json(identity)},
               {"written", state.written},
               {"sensitivities", sensitivities_json(state.sensitivities, tensors)},
               {"costs", costs_json(state.costs)},
               {"fitted", fitted_json(state.fitted, tensors)},
               {"losses", state.losses}};
  json["checks"] = tensors.checks;
  const std::string text = json.dump();
  formats::write_safetensors(path, {{kStateKey, text}, {kCheckKey, checksum(kStateKey, text)}},
                             tensors.list);
}

}  // namespace halftone::lm
