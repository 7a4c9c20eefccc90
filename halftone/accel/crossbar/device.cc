// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/crossbar/device.h"

#include <algorithm>
#include <bit>
#include <initializer_list>
#include <limits>
#include <sstream>
#include <string>

#include "halftone/accel/crossbar/devices.h"
#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/base/paths.h"

namespace halftone::crossbar {
namespace {

std::string text_of(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

void expect(bool holds, const std::string& key, const std::string& expected, double found) {
  if (holds) return;
  fail(ErrorKind::kUsage, "'" + key + "': expected " + expected + ", found " + text_of(found));
}

void check_cells(const CrossbarDevice& device) {
  constexpr int kMaxLevels = 256;
  const bool is_power = device.levels >= 2 && device.levels <= kMaxLevels &&
                        std::has_single_bit(static_cast<unsigned>(device.levels));
  expect(is_power, "levels", "a power of two from 2 to 256", device.levels);
  expect(device.on_siemens > 0, "on_siemens", "a conductance above 0", device.on_siemens);
  expect(device.off_siemens >= 0 && device.off_siemens < device.on_siemens, "off_siemens",
         "0 or more and less than on_siemens, " + text_of(device.on_siemens), device.off_siemens);
  const double stuck = device.stuck_on + device.stuck_off;
  expect(device.stuck_on >= 0 && device.stuck_off >= 0 && stuck <= 1, "stuck_on and stuck_off",
         "fractions whose sum is at most 1", stuck);
}

void check_noise(const CrossbarDevice& device) {
  expect(device.seconds > 0, "seconds", "a time above 0", device.seconds);
  const bool has_sigma = device.programming == Programming::kConstant ||
                         device.programming == Programming::kProportional;
  expect(!has_sigma || device.programming_sigma > 0, "sigma", "a deviation above 0",
         device.programming_sigma);
  expect(device.read_noise != ReadNoise::kConstant || device.read_sigma > 0, "sigma",
         "a deviation above 0", device.read_sigma);
  expect(device.drift_start_seconds > 0, "start_seconds", "a time above 0",
         device.drift_start_seconds);
  if (device.programming == Programming::kReram) {
    const bool is_known =
        device.seconds == 1 || device.seconds == 86400 || device.seconds == 172800;
    expect(is_known, "seconds", "1, 86400 or 172800, for which the model reram has polynomials",
           device.seconds);
  }
}

void check_converter(const CrossbarDevice& device) {
  const bool is_difference = device.adc.converts == Converts::kDifference;
  constexpr int kMaxBits = 16;
  expect(device.adc.bits >= (is_difference ? 2 : 1) && device.adc.bits <= kMaxBits, "bits",
         is_difference ? "2 to 16 for differences" : "1 to 16", device.adc.bits);
  expect(device.adc.range > 0 && device.adc.range <= 1, "range", "a fraction above 0, at most 1",
         device.adc.range);
  expect(device.adc.per_array >= 1, "per_array", "at least 1",
         static_cast<double>(device.adc.per_array));
  expect(!is_difference || device.levels == 2, "converts",
         "\"column\" for cells of more than 2 levels, which form no pairs; levels", device.levels);
}

}  // namespace

int CrossbarDevice::cell_bits() const { return std::countr_zero(static_cast<unsigned>(levels)); }

bool CrossbarDevice::is_random() const {
  const bool drifts = drift != Drift::kNone && seconds > drift_start_seconds;
  return programming != Programming::kNone || drifts || read_noise != ReadNoise::kNone ||
         stuck_on > 0 || stuck_off > 0;
}

bool CrossbarDevice::is_ideal() const { return !is_random() && segment_ohms == 0; }

void CrossbarDevice::check() const {
  constexpr std::size_t kMaxExtent = 65536;
  expect(rows >= 1 && rows <= kMaxExtent, "rows", "1 to 65536", static_cast<double>(rows));
  expect(columns >= 1 && columns <= kMaxExtent, "columns", "1 to 65536",
         static_cast<double>(columns));
  expect(segment_ohms >= 0, "segment_ohms", "a resistance of at least 0", segment_ohms);
  check_cells(*this);
  check_noise(*this);
  check_converter(*this);
  expect(costs.cell_joules >= 0, "cell_joules", "an energy of at least 0", costs.cell_joules);
  expect(costs.conversion_joules >= 0, "conversion_joules", "an energy of at least 0",
         costs.conversion_joules);
  expect(costs.conversion_seconds > 0, "conversion_seconds", "a time above 0",
         costs.conversion_seconds);
}

std::vector<std::string_view> device_names() {
  std::vector<std::string_view> names;
  for (const EmbeddedText& device : device_texts()) names.push_back(device.name);
  return names;
}

CrossbarDevice load_device(const std::string& name_or_path) {
  if (const EmbeddedText* device = find_text(device_texts(), name_or_path)) {
    return parse_device(device->text, name_or_path);
  }
  if (!path_exists(name_or_path)) {
    fail(ErrorKind::kIo,
         "device '" + name_or_path + "': there is no such file, and none of the " +
             "devices that Halftone knows has this name: " + names_of(device_texts()));
  }
  const std::vector<std::byte> bytes = read_file(name_or_path);
  return parse_device({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, name_or_path);
}

std::string cell_settings(const CrossbarDevice& device) {
  std::ostringstream text;
  text.precision(std::numeric_limits<double>::max_digits10);
  for (const std::size_t number : {device.rows, device.columns}) text << number << ' ';
  for (const int number :
       {device.levels, static_cast<int>(device.programming), static_cast<int>(device.drift),
        static_cast<int>(device.read_noise), static_cast<int>(device.adc.converts),
        static_cast<int>(device.adc.calibrated)}) {
    text << number << ' ';
  }
  for (const double number :
       {device.segment_ohms, device.on_siemens, device.off_siemens, device.stuck_on,
        device.stuck_off, device.seconds, device.programming_sigma, device.programming_scale,
        device.drift_exponent, device.drift_spread, device.drift_start_seconds}) {
    text << number << ' ';
  }
  return text.str();
}

}  // namespace halftone::crossbar
