// SPDX-License-Identifier: Apache-2.0
// Networks on memristive crossbars, as users run them: the bundled network on all test images.
#include <nlohmann/json.hpp>

#include "halftone/base/file.h"
#include "tests/program.h"

namespace halftone {
namespace {

using nlohmann::json;
using testing::HasSubstr;

/// A device without errors, with converters of some bits.
std::string ideal_device(int adc_bits) {
  return "[array]\nrows = 255\ncolumns = 256\n"
         "[cell]\nlevels = 2\non_siemens = 1e-4\non_off_ratio = 10\n"
         "[adc]\nbits = " +
         std::to_string(adc_bits) +
         "\n[cost]\ncell_joules = 1e-15\nconversion_joules = 2e-12\nconversion_seconds = 1e-9\n";
}

class CrossbarProgram : public Program {
 protected:
  [[nodiscard]] std::string quantized(int bits) const {
    const std::string file = path("m.circle");
    const std::string number = std::to_string(bits);
    const Outcome outcome =
        run("quantize " + kModel + " -o " + file + " --data " + kExample +
            " --split train --weight-bits " + number + " --activation-bits " + number);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return file;
  }
  [[nodiscard]] json simulate(const std::string& model, const std::string& options) const {
    const Outcome outcome = run("crossbar " + model + " --data " + kExample + " --json " + options);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return json::parse(outcome.out);
  }
};

TEST_F(CrossbarProgram, EqualsTheDigitalNetworkIfTheConverterIsWideEnough) {
  write_file(path("exact.toml"), ideal_device(8));
  write_file(path("short.toml"), ideal_device(7));
  for (const int bits : {1, 2, 3}) {
    const std::string model = quantized(bits);
    const json exact = simulate(model, "--device " + path("exact.toml"));
    EXPECT_EQ(exact["samples"], 10000);
    EXPECT_EQ(exact["equal"], true) << bits;
    EXPECT_EQ(exact["mean"], exact["digital"]);
    EXPECT_EQ(exact["agreement"], 1);
    const json coarse = simulate(model, "--device " + path("short.toml"));
    EXPECT_EQ(coarse["equal"], false) << bits;
    EXPECT_LT(coarse["agreement"], 1) << bits;
  }
}

TEST_F(CrossbarProgram, LosesAtMostAPointToPcmNoiseAtTwentySeconds) {
  const std::string model = quantized(2);
  const json found = simulate(model, "--device pcm --seeds 10");
  EXPECT_EQ(found["device"]["seconds"], 20);
  EXPECT_EQ(found["values"].size(), 10U);
  EXPECT_GT(found["deviation"], 0);
  EXPECT_GE(found["mean"], found["digital"].get<double>() - 0.01);
  const json two = simulate(model, "--device pcm --seeds 2 --threads 1 --batch 100");
  EXPECT_EQ(two["values"], (json{found["values"][0], found["values"][1]}));
  EXPECT_EQ(two["layers"], found["layers"]);
  const json day = simulate(model, "--device pcm --seconds 86400 --seeds 1");
  EXPECT_LT(day["mean"], found["digital"].get<double>() - 0.1) << "drift without calibration";
}

TEST_F(CrossbarProgram, ShowsLayersAndRejectsBadDevices) {
  const std::string model = quantized(1);
  const Outcome text = run("crossbar " + model + " --device ideal --limit 20 --data " + kExample);
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("arrays of 255 x 256 cells with 2 levels, 8-bit converters"));
  EXPECT_THAT(text.out, HasSubstr("all outputs equal those of the digital network"));
  EXPECT_THAT(text.out, HasSubstr("all, per sample"));
  const std::string rest = " --limit 20 --data " + kExample;
  expect_failure("crossbar " + model + " --device pmc" + rest, 3, "none of the devices that");
  write_file(path("d.toml"), ideal_device(17));
  expect_failure("crossbar " + model + " --device " + path("d.toml") + rest, 2,
                 "line 9: 'bits': expected 1 to 16, found 17");
  expect_failure("crossbar " + kModel + " --device ideal" + rest, 4,
                 "no layer can be mapped on arrays");
  expect_failure("crossbar " + model + " --device reram --seconds 5" + rest, 2,
                 "'seconds': expected 1, 86400 or 172800");
}

}  // namespace
}  // namespace halftone
