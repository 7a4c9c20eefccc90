// SPDX-License-Identifier: Apache-2.0
// Reads descriptions of devices.
#include <cmath>
#include <optional>
#include <string>

#include "halftone/accel/crossbar/device.h"
#include "halftone/base/toml/keys.h"

namespace halftone::crossbar {
namespace {

using keys::Key;
using keys::real;
using keys::required;
using keys::section;
using keys::whole;
using keys::word;

constexpr double kLargest = 1e30;
constexpr std::int64_t kMaxCount = std::int64_t{1} << 31;

Key number(std::string_view key, double& store) {
  return real(key, 0, kLargest, [&store](double value) { store = value; });
}
Key fraction(std::string_view key, double& store) {
  return real(key, 0, 1, [&store](double value) { store = value; });
}
Key count(std::string_view key, std::size_t& store) {
  return whole(key, 1, kMaxCount,
               [&store](std::int64_t value) { store = static_cast<std::size_t>(value); });
}

/// A key that one model needs and others do not have.
void expect_for(const toml::table& table, const char* where, const char* key, bool is_needed) {
  const toml::node* node = table.get(key);
  const std::string model = table["model"].value_or(std::string());
  if (is_needed && node == nullptr) {
    keys::fail_at(table,
                  std::string(where) + " needs '" + key + "' for the model " + model + ": add it");
  }
  if (!is_needed && node != nullptr) {
    keys::fail_at(*node, "'" + std::string(key) + "': the model " + model + " has no such number");
  }
}

void read_array(const toml::table& table, CrossbarDevice& device) {
  const auto input_bits = [](std::int64_t) {};
  keys::read_table(
      table,
      {required(count("rows", device.rows)), required(count("columns", device.columns)),
       number("segment_ohms", device.segment_ohms), whole("input_bits", 1, 1, input_bits)},
      "[array]");
}

void read_cell(const toml::table& table, CrossbarDevice& device) {
  std::optional<double> ratio;
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  const auto levels = [&](std::int64_t value) { device.levels = static_cast<int>(value); };
  keys::read_table(
      table,
      {required(whole("levels", 2, 256, levels)), required(number("on_siemens", device.on_siemens)),
       number("off_siemens", device.off_siemens),
       real("on_off_ratio", 1, kInfinite, [&](double value) { ratio = value; }),
       fraction("stuck_on", device.stuck_on), fraction("stuck_off", device.stuck_off)},
      "[cell]");
  const bool has_off = table.contains("off_siemens");
  if (ratio && has_off) {
    keys::fail_at(*table.get("on_off_ratio"),
                  "'on_off_ratio': contradicts 'off_siemens'; expected one of the two");
  }
  if (!ratio && !has_off) {
    keys::fail_at(table, "[cell] needs 'off_siemens' or 'on_off_ratio': add one");
  }
  if (ratio) device.off_siemens = device.on_siemens / *ratio;
}

void read_programming(const toml::table& table, CrossbarDevice& device) {
  const auto model = [&](const std::string& name) {
    device.programming =
        keys::choice<Programming>(name, {{"none", Programming::kNone},
                                         {"constant", Programming::kConstant},
                                         {"proportional", Programming::kProportional},
                                         {"pcm", Programming::kPcm},
                                         {"reram", Programming::kReram}});
  };
  keys::read_table(table,
                   {required(word("model", model)), fraction("sigma", device.programming_sigma),
                    number("scale", device.programming_scale)},
                   "[programming]");
  const bool has_sigma = device.programming == Programming::kConstant ||
                         device.programming == Programming::kProportional;
  expect_for(table, "[programming]", "sigma", has_sigma);
}

void read_drift(const toml::table& table, CrossbarDevice& device) {
  const auto model = [&](const std::string& name) {
    device.drift = keys::choice<Drift>(
        name, {{"none", Drift::kNone}, {"power", Drift::kPower}, {"pcm", Drift::kPcm}});
  };
  keys::read_table(table,
                   {required(word("model", model)), fraction("exponent", device.drift_exponent),
                    fraction("spread", device.drift_spread),
                    number("start_seconds", device.drift_start_seconds)},
                   "[drift]");
  const bool is_power = device.drift == Drift::kPower;
  expect_for(table, "[drift]", "exponent", is_power);
  if (!is_power) expect_for(table, "[drift]", "spread", false);
}

void read_read_noise(const toml::table& table, CrossbarDevice& device) {
  const auto model = [&](const std::string& name) {
    device.read_noise = keys::choice<ReadNoise>(
        name,
        {{"none", ReadNoise::kNone}, {"constant", ReadNoise::kConstant}, {"pcm", ReadNoise::kPcm}});
  };
  keys::read_table(table, {required(word("model", model)), fraction("sigma", device.read_sigma)},
                   "[read]");
  expect_for(table, "[read]", "sigma", device.read_noise == ReadNoise::kConstant);
}

void read_converter(const toml::table& table, CrossbarDevice& device) {
  const auto bits = [&](std::int64_t value) { device.adc.bits = static_cast<int>(value); };
  const auto converts = [&](const std::string& name) {
    device.adc.converts = keys::choice<Converts>(
        name, {{"column", Converts::kColumn}, {"difference", Converts::kDifference}});
  };
  keys::read_table(table,
                   {required(whole("bits", 1, 16, bits)), fraction("range", device.adc.range),
                    word("converts", converts), count("per_array", device.adc.per_array),
                    keys::flag("calibrated", [&](bool value) { device.adc.calibrated = value; })},
                   "[adc]");
}

void read_costs(const toml::table& table, CrossbarDevice& device) {
  keys::read_table(table,
                   {required(number("cell_joules", device.costs.cell_joules)),
                    required(number("conversion_joules", device.costs.conversion_joules)),
                    required(number("conversion_seconds", device.costs.conversion_seconds))},
                   "[cost]");
}

}  // namespace

CrossbarDevice parse_device(std::string_view text, const std::string& where) {
  CrossbarDevice device;
  device.name = where;
  const auto in = [&device](std::string_view key,
                            void (*read)(const toml::table&, CrossbarDevice&)) {
    return section(key, [&device, read](const toml::table& table) { read(table, device); });
  };
  keys::read_document(text, where, [&](const toml::table& root) {
    keys::read_table(root,
                     {number("seconds", device.seconds), required(in("array", read_array)),
                      required(in("cell", read_cell)), in("programming", read_programming),
                      in("drift", read_drift), in("read", read_read_noise),
                      required(in("adc", read_converter)), required(in("cost", read_costs))},
                     "a device");
    device.check();
  });
  return device;
}

}  // namespace halftone::crossbar
