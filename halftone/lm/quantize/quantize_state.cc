// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/quantize/quantize_state.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "halftone/base/error.h"

namespace halftone::lm {
namespace {

using Json = StateLog::Json;
using Bytes = std::span<const std::byte>;

constexpr const char* kWritten = "written";
constexpr const char* kGradients = "sensitivities";
constexpr const char* kCosts = "costs";
constexpr const char* kFitted = "fitted";
constexpr const char* kLosses = "losses";

/// Bytes of a matrix begin at a multiple of this in a record.
constexpr std::size_t kRecordAlignment = 8;

std::size_t padding_behind(std::size_t bytes) {
  return (kRecordAlignment - bytes % kRecordAlignment) % kRecordAlignment;
}

/// Thrown for records of another form.
struct BadRecord {};
[[noreturn]] void fail_form() { throw BadRecord(); }

/// Roles by their names: numbers of an enumeration change from version to version.
Json id_json(const WeightId& id) { return {to_string(id.role), id.block}; }

WeightId id_from(const Json& json) {
  const auto name = json.at(0).get<std::string>();
  for (int i = 0; i < static_cast<int>(WeightRole::kCount); ++i) {
    const auto role = static_cast<WeightRole>(i);
    if (to_string(role) == name) return {.role = role, .block = json.at(1).get<std::size_t>()};
  }
  fail_form();
}

/// Takes the bytes of a record from front to back.
class RecordBytes {
 public:
  explicit RecordBytes(const SharedBytes& bytes) : bytes_(bytes) {}

  SharedBytes next(std::size_t count) {
    if (count > bytes_.bytes.size() - position_) fail_form();
    SharedBytes part = bytes_.part(position_, count);
    position_ = std::min(position_ + count + padding_behind(count), bytes_.bytes.size());
    return part;
  }
  std::vector<double> doubles(std::size_t count) {
    if (count > bytes_.bytes.size()) fail_form();
    const SharedBytes part = next(count * sizeof(double));
    std::vector<double> values(count);
    if (count > 0) std::memcpy(values.data(), part.bytes.data(), part.bytes.size());
    return values;
  }

 private:
  const SharedBytes& bytes_;
  std::size_t position_ = 0;
};

void read_costs(const Json& list, TypeCosts& costs) {
  for (const Json& each : list) {
    std::vector<TypeCost> types;
    for (const Json& cost : each.at("types")) {
      types.push_back({&weight_type(cost.at(0).get<std::string>()), cost.at(1).get<double>(),
                       cost.at(2).get<std::size_t>()});
    }
    costs.insert_or_assign(id_from(each.at("id")), std::move(types));
  }
}

void read_fitted(const StateRecord& record, FittedMatrices& fitted) {
  RecordBytes bytes(record.bytes);
  for (const Json& each : record.value) {
    FittedMatrix matrix;
    matrix.type = &weight_type(each.at("type").get<std::string>());
    matrix.rows = each.at("rows").get<std::size_t>();
    matrix.cols = each.at("cols").get<std::size_t>();
    const Json& error = each.at("error");  // JSON has no infinity
    matrix.error = error.is_null() ? std::numeric_limits<double>::infinity() : error.get<double>();
    matrix.encoded = {encoding_of(*matrix.type, each.at("factor").get<float>()),
                      bytes.next(each.at("bytes").get<std::size_t>())};
    if (matrix.encoded.bytes.bytes.size() != matrix.type->size_bytes(matrix.rows, matrix.cols)) {
      fail_form();
    }
    fitted.insert_or_assign(id_from(each.at("id")), std::move(matrix));
  }
}

SquaredGradients gradients_from(const StateRecord& record) {
  RecordBytes bytes(record.bytes);
  const auto next = [&](const Json& count) { return bytes.doubles(count.get<std::size_t>()); };
  SquaredGradients result;
  result.tokens = record.value.at("tokens").get<std::size_t>();
  result.loss = record.value.at("loss").get<double>();
  for (const Json& each : record.value.at("outputs")) {
    result.outputs[id_from(each.at(0))] = next(each.at(1));
  }
  result.embedding = next(record.value.at("embedding"));
  result.block_inputs = next(record.value.at("block_inputs"));
  return result;
}

void append_gradients(const SquaredGradients& found, StateLog& log) {
  std::vector<Bytes> pieces;
  const auto add = [&](const std::vector<double>& values) {
    pieces.push_back(std::as_bytes(std::span(values)));
    return values.size();
  };
  Json outputs = Json::array();
  for (const auto& [id, values] : found.outputs) outputs.push_back({id_json(id), add(values)});
  const std::size_t embedding = add(found.embedding);
  const std::size_t block_inputs = add(found.block_inputs);
  log.append(kGradients,
             {{"tokens", found.tokens},
              {"loss", found.loss},
              {"outputs", outputs},
              {"embedding", embedding},
              {"block_inputs", block_inputs}},
             pieces);
}

}  // namespace

QuantizeStateFile::QuantizeStateFile(const std::filesystem::path& path, const JobIdentity& identity,
                                     const StateKind& kind)
    : path_(path), log_(path, kind, identity, true) {}

QuantizeState QuantizeStateFile::read() {
  QuantizeState state;
  try {
    with_context(path_.string(), [&] {
      for (const StateRecord& record : log_.take_records()) add(record, state);
    });
  } catch (const Json::exception&) {
    log_.fail_form();
  } catch (const BadRecord&) {
    log_.fail_form();
  }
  remember(state);
  return state;
}

void QuantizeStateFile::add(const StateRecord& record, QuantizeState& state) const {
  if (record.name == kWritten) {
    for (const Json& sample : record.value) {
      state.written.push_back(sample.get<std::vector<TokenId>>());
    }
  } else if (record.name == kGradients) {
    state.gradients = gradients_from(record);
  } else if (record.name == kCosts) {
    read_costs(record.value, state.costs);
  } else if (record.name == kFitted) {
    read_fitted(record, state.fitted);
  } else if (record.name == kLosses) {
    state.losses = record.value.get<std::vector<double>>();
  } else {
    fail_form();
  }
}

void QuantizeStateFile::save(const QuantizeState& state) {
  save_written(state);
  if (state.gradients && !has_gradients_) append_gradients(*state.gradients, log_);
  save_costs(state.costs);
  save_fitted(state.fitted);
  if (!state.losses.empty() && !has_losses_) log_.append(kLosses, state.losses);
  remember(state);
}

void QuantizeStateFile::save_written(const QuantizeState& state) {
  Json samples = Json::array();
  for (std::size_t i = num_written_; i < state.written.size(); ++i) {
    samples.push_back(state.written[i]);
  }
  if (!samples.empty()) log_.append(kWritten, samples);
}

void QuantizeStateFile::save_costs(const TypeCosts& costs) {
  Json list = Json::array();
  for (const auto& [id, types] : costs) {
    if (costs_.contains(id)) continue;
    Json each = Json::array();
    for (const TypeCost& cost : types) each.push_back({cost.type->name, cost.loss, cost.bytes});
    list.push_back({{"id", id_json(id)}, {"types", each}});
  }
  if (!list.empty()) log_.append(kCosts, list);
}

void QuantizeStateFile::save_fitted(const FittedMatrices& fitted) {
  static constexpr std::array<std::byte, kRecordAlignment> kZeros{};
  Json list = Json::array();
  std::vector<Bytes> pieces;
  for (const auto& [id, matrix] : fitted) {
    if (fitted_.contains(id)) continue;
    const Bytes bytes = matrix.encoded.bytes.bytes;
    list.push_back({{"id", id_json(id)},
                    {"type", matrix.type->name},
                    {"rows", matrix.rows},
                    {"cols", matrix.cols},
                    {"factor", matrix.encoded.encoding->factor},
                    {"error", matrix.error},
                    {"bytes", bytes.size()}});
    pieces.push_back(bytes);
    pieces.push_back(Bytes(kZeros).first(padding_behind(bytes.size())));
  }
  if (!list.empty()) log_.append(kFitted, list, pieces);
}

void QuantizeStateFile::remember(const QuantizeState& state) {
  num_written_ = state.written.size();
  has_gradients_ = state.gradients.has_value();
  has_losses_ = !state.losses.empty();
  for (const auto& [id, types] : state.costs) costs_.insert(id);
  for (const auto& [id, matrix] : state.fitted) fitted_.insert(id);
}

}  // namespace halftone::lm
