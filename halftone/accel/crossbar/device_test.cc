// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/crossbar/device.h"

#include <gtest/gtest.h>

#include "halftone/base/file.h"
#include "halftone/base/testing.h"

namespace halftone::crossbar {
namespace {

/// A complete description with one line exchanged.
std::string text_with(const std::string& from = "", const std::string& to = "") {
  std::string text =
      "seconds = 30\n"                                                                    // 1
      "[array]\nrows = 64\ncolumns = 32\n"                                                // 2
      "[cell]\nlevels = 2\non_siemens = 1e-4\noff_siemens = 1e-5\n"                       // 5
      "[programming]\nmodel = \"constant\"\nsigma = 0.1\n"                                // 9
      "[drift]\nmodel = \"power\"\nexponent = 0.05\n"                                     // 12
      "[read]\nmodel = \"constant\"\nsigma = 0.01\n"                                      // 15
      "[adc]\nbits = 6\n"                                                                 // 18
      "[cost]\ncell_joules = 0\nconversion_joules = 1e-12\nconversion_seconds = 1e-9\n";  // 20
  if (!from.empty()) text.replace(text.find(from), from.size(), to);
  return text;
}

void expect_usage(const std::string& text, const std::string& message) {
  expect_error(ErrorKind::kUsage, "d.toml: " + message, [&] { parse_device(text, "d.toml"); });
}

TEST(ParseDevice, ReadsEveryKey) {
  const CrossbarDevice device =
      parse_device(text_with("[adc]\n",
                             "[adc]\nrange = 0.5\nconverts = \"difference\"\n"
                             "per_array = 4\n"),
                   "d.toml");
  EXPECT_EQ(device.name, "d.toml");
  EXPECT_EQ(device.seconds, 30);
  EXPECT_EQ(device.rows, 64U);
  EXPECT_EQ(device.columns, 32U);
  EXPECT_EQ(device.levels, 2);
  EXPECT_EQ(device.on_siemens, 1e-4);
  EXPECT_EQ(device.off_siemens, 1e-5);
  EXPECT_EQ(device.programming, Programming::kConstant);
  EXPECT_EQ(device.programming_sigma, 0.1);
  EXPECT_EQ(device.drift, Drift::kPower);
  EXPECT_EQ(device.drift_exponent, 0.05);
  EXPECT_EQ(device.read_noise, ReadNoise::kConstant);
  EXPECT_EQ(device.read_sigma, 0.01);
  EXPECT_EQ(device.adc.bits, 6);
  EXPECT_EQ(device.adc.range, 0.5);
  EXPECT_EQ(device.adc.converts, Converts::kDifference);
  EXPECT_EQ(device.adc.per_array, 4U);
  EXPECT_EQ(device.costs.conversion_joules, 1e-12);
  EXPECT_EQ(device.costs.conversion_seconds, 1e-9);
  EXPECT_TRUE(device.is_random());
}

TEST(ParseDevice, TakesARatioInPlaceOfAConductance) {
  const CrossbarDevice device =
      parse_device(text_with("off_siemens = 1e-5", "on_off_ratio = 20"), "d.toml");
  EXPECT_DOUBLE_EQ(device.off_siemens, 5e-6);
  EXPECT_EQ(parse_device(text_with("off_siemens = 1e-5", "on_off_ratio = inf"), "").off_siemens, 0);
}

TEST(ParseDevice, RejectsUnknownAndMissingKeys) {
  expect_usage(text_with("rows = 64", "rows = 64\ncolour = 1"),
               "line 4: unknown key 'colour' in [array]; known are: rows");
  expect_usage(text_with("seconds = 30", "minutes = 1"), "line 1: unknown key 'minutes'");
  expect_usage(text_with("columns = 32\n"), "line 2: [array] needs 'columns': add it");
  expect_usage(text_with("off_siemens = 1e-5\n"),
               "line 5: [cell] needs 'off_siemens' or 'on_off_ratio': add one");
  expect_usage(text_with("sigma = 0.1\n"),
               "line 9: [programming] needs 'sigma' for the model constant: add it");
}

TEST(ParseDevice, RejectsContradictions) {
  expect_usage(text_with("off_siemens = 1e-5", "off_siemens = 1e-5\non_off_ratio = 10"),
               "line 9: 'on_off_ratio': contradicts 'off_siemens'; expected one of the two");
  expect_usage(text_with("\"constant\"", "\"pcm\""),
               "line 11: 'sigma': the model pcm has no such number");
  expect_usage(text_with("exponent = 0.05", "exponent = 0.05\nspread = 0.1")
                   .replace(text_with().find("\"power\""), 7, "\"pcm\"  "),
               "line 14: 'exponent': the model pcm has no such number");
  expect_usage(text_with("off_siemens = 1e-5", "off_siemens = 2e-4"),
               "'off_siemens': expected 0 or more and less than on_siemens, 0.0001, found 0.0002");
  expect_usage(text_with("levels = 2", "levels = 4")
                   .append("\n")
                   .replace(0, 0, "")
                   .insert(text_with("levels = 2", "levels = 4").find("bits = 6"),
                           "converts = \"difference\"\n"),
               "'converts': expected \"column\" for cells of more than 2 levels");
}

TEST(ParseDevice, RejectsValuesOutOfRange) {
  expect_usage(text_with("levels = 2", "levels = 3"),
               "'levels': expected a power of two from 2 to 256, found 3");
  expect_usage(text_with("conversion_seconds = 1e-9", "conversion_seconds = 0"),
               "'conversion_seconds': expected a time above 0, found 0");
  expect_usage(text_with("on_siemens = 1e-4", "on_siemens = 0"),
               "'on_siemens': expected a conductance above 0, found 0");
  expect_usage(text_with("sigma = 0.1", "sigma = 0"), "'sigma': expected a deviation above 0");
  expect_usage(text_with("sigma = 0.01", "sigma = 0"), "'sigma': expected a deviation above 0");
  expect_usage(text_with("seconds = 30", "seconds = 0"), "'seconds': expected a time above 0");
  expect_usage(text_with("bits = 6", "bits = 17"), "line 19: 'bits': expected 1 to 16, found 17");
  expect_usage(text_with("bits = 6", "bits = 1\nconverts = \"difference\""),
               "'bits': expected 2 to 16 for differences, found 1");
  expect_usage(text_with("bits = 6", "bits = 6\nrange = 0"),
               "'range': expected a fraction above 0");
  expect_usage(text_with("rows = 64", "rows = 65537"), "'rows': expected 1 to 65536, found 65537");
  expect_usage(text_with("rows = 64", "rows = 64\ninput_bits = 2"),
               "line 4: 'input_bits': expected 1 to 1, found 2");
  expect_usage(text_with("exponent = 0.05", "exponent = 0.05\nstart_seconds = 0"),
               "'start_seconds': expected a time above 0, found 0");
  expect_usage(text_with("levels = 2", "levels = 2\nstuck_on = 0.6\nstuck_off = 0.6"),
               "'stuck_on and stuck_off': expected fractions whose sum is at most 1, found 1.2");
  expect_usage(text_with("\"constant\"\nsigma = 0.1", "\"reram\""),
               "'seconds': expected 1, 86400 or 172800");
  expect_usage("rows", "line 1: ");
}

TEST(LoadDevice, KnowsItsOwnDevices) {
  EXPECT_EQ(device_names(), (std::vector<std::string_view>{"ideal", "pcm", "reram"}));
  EXPECT_TRUE(load_device("ideal").is_ideal());
  EXPECT_FALSE(load_device("ideal").is_random());
  EXPECT_EQ(load_device("pcm").programming, Programming::kPcm);
  EXPECT_EQ(load_device("reram").programming, Programming::kReram);
}

using LoadDeviceFrom = WithFolder;

TEST_F(LoadDeviceFrom, ReadsAFile) {
  write_file(path("d.toml"), text_with());
  EXPECT_EQ(load_device(path("d.toml")).rows, 64U);
  expect_error(ErrorKind::kIo,
               "device 'pmc': there is no such file, and none of the devices that Halftone knows "
               "has this name: ideal, pcm, reram",
               [] { load_device("pmc"); });
}

TEST(CrossbarDevice, HasASettingsTextForWhatItsCellsRepresent) {
  const CrossbarDevice pcm = load_device("pcm");
  CrossbarDevice other = pcm;
  other.name = "renamed";
  other.costs.cell_joules = 1;
  EXPECT_EQ(cell_settings(other), cell_settings(pcm));
  other.seconds = 86400;
  EXPECT_NE(cell_settings(other), cell_settings(pcm));
  other = pcm;
  other.adc.calibrated = true;
  EXPECT_NE(cell_settings(other), cell_settings(pcm));
}

}  // namespace
}  // namespace halftone::crossbar
