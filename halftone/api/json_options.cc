// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/json_options.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <system_error>

#include "halftone/api/option_fields.h"
#include "halftone/base/error.h"

namespace halftone {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::string shown(const OrderedJson& value) {
  constexpr std::size_t kMaxBytes = 40;
  std::string text = value.dump(-1, ' ', true, OrderedJson::error_handler_t::replace);
  return text.size() <= kMaxBytes ? text : text.substr(0, kMaxBytes) + "...";
}

[[noreturn]] void fail_value(const std::string& name, const char* expected,
                             const OrderedJson& found) {
  fail(ErrorKind::kUsage, name + ": expected " + expected + ", found " + shown(found));
}

/// The text of a schema, a grammar or a regular expression. A request names no files.
std::string form_of(const std::string& name, const OrderedJson& value) {
  if (name == "json_schema") {
    if (value.is_object()) return value.dump();
    if (value != "json") fail_value(name, "a schema or \"json\"", value);
  } else if (name == "regex") {
    if (!value.is_string()) fail_value(name, "a regular expression", value);
  } else if (!value.is_string() || value.get<std::string>().find("::=") == std::string::npos) {
    fail_value(name, "a grammar with \"root ::= ...\"", value);
  }
  return value.get<std::string>();
}

void set(const Field& field, const OrderedJson& value) {
  if (auto* const* number = std::get_if<std::uint64_t*>(&field.place)) {
    // A number such as 64.0 is whole too.
    const bool is_whole =
        value.is_number_unsigned() ||
        (value.is_number_float() && value.get<double>() >= 0 && value.get<double>() < 0x1p63 &&
         std::floor(value.get<double>()) == value.get<double>());
    if (!is_whole) fail_value(field.name, "a whole number of at least 0", value);
    **number = value.get<std::uint64_t>();
  } else if (auto* const* text = std::get_if<std::string*>(&field.place)) {
    **text = form_of(field.name, value);
  } else {
    if (!value.is_number()) fail_value(field.name, "a number", value);
    *std::get<double*>(field.place) = value.get<double>();
  }
  field.check();
}

std::vector<std::string> stops_of(const OrderedJson& value) {
  std::vector<std::string> stops;
  for (const OrderedJson& stop : value.is_array() ? value : OrderedJson::array({value})) {
    if (!stop.is_string()) fail_value("stop", "a text or a list of texts", value);
    stops.push_back(stop.get<std::string>());
  }
  return stops;
}

double bias_of(const OrderedJson& value, const OrderedJson& all) {
  constexpr double kNever = -1e9;
  if (value == false) return kNever;
  const bool is_good = value.is_number() && std::abs(value.get<double>()) <= 100;
  if (!is_good) fail_value("logit_bias", "numbers from -100 to 100 by token", all);
  return value.get<double>();
}

/// {"15043": -100}, or as llama.cpp has it, [[15043, false]].
std::vector<v0::LogitBias> biases_of(const OrderedJson& value) {
  std::vector<v0::LogitBias> biases;
  const auto add = [&](const std::string& token, const OrderedJson& bias) {
    v0::Token id = 0;
    const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), id);
    const bool is_token = error == std::errc() && end == token.data() + token.size() && id >= 0;
    if (!is_token) fail_value("logit_bias", "numbers from -100 to 100 by token", value);
    biases.push_back({id, bias_of(bias, value)});
  };
  if (value.is_object()) {
    for (const auto& [token, bias] : value.items()) add(token, bias);
    return biases;
  }
  if (!value.is_array()) fail_value("logit_bias", "numbers from -100 to 100 by token", value);
  for (const OrderedJson& pair : value) {
    const bool is_pair = pair.is_array() && pair.size() == 2;
    add(is_pair ? pair[0].dump() : "", is_pair ? pair[1] : OrderedJson());
  }
  return biases;
}

}  // namespace

void take_options(OrderedJson& request, v0::GenerateOptions& options) {
  for (const Field& field : fields_of(options)) {
    const auto found = request.find(field.name);
    if (found == request.end() || field.name == "sequence" || field.name == "control") continue;
    if (!found->is_null()) set(field, *found);
    request.erase(field.name);
  }
  const auto bias = request.find("logit_bias");
  if (bias != request.end()) {
    if (!bias->is_null()) options.sampling.logit_bias = biases_of(*bias);
    request.erase("logit_bias");
  }
  const auto stop = request.find("stop");
  if (stop == request.end()) return;
  if (!stop->is_null()) options.stops = stops_of(*stop);
  request.erase("stop");
}

}  // namespace halftone
