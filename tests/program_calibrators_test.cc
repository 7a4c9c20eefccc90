// SPDX-License-Identifier: Apache-2.0
// Calibrators of activation ranges, as users choose them.
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/program.h"

namespace halftone {
namespace {

using nlohmann::json;

TEST_F(Program, CoversTheRangeOfTheCalibratorThatAnOptionNames) {
  const std::string quantize = "quantize " + kModel + " -o " + path("m.circle") + " --data " +
                               kExample + " --limit 300 --weight-bits 6 --activation-bits 8 " +
                               "--scheme affine --json ";
  std::map<std::string, float> largest;
  for (const std::string calibrator :
       {"fit", "min-max", "moving-average", "percentile", "mse", "kl"}) {
    const Outcome outcome = run(quantize + "--calibrator " + calibrator);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const json layers = json::parse(outcome.out)["layers"];
    const json range = layers[0]["activation_range"];
    EXPECT_EQ(range[0], 0) << calibrator;  // pixels
    largest[calibrator] = range[1].get<float>();
    EXPECT_GT(layers.back()["sqnr_db"].get<double>(), 30) << calibrator;
    const Outcome eval = run("eval " + path("m.circle") + " --data " + kExample + " --json");
    EXPECT_GT(json::parse(eval.out)["value"].get<double>(), 0.95) << calibrator;
  }
  EXPECT_NEAR(largest["min-max"], 1, 1e-3);
  for (const char* clips : {"kl", "mse", "percentile"}) {
    EXPECT_LE(largest[clips], largest["min-max"]) << clips;
  }
  std::ofstream(path("r.toml")) << "[default]\ncalibrator = \"percentile\"\npercentile = 80\n";
  const Outcome clipped = run(quantize + "--recipe " + path("r.toml"));
  ASSERT_EQ(clipped.code, 0) << clipped.err;
  EXPECT_LT(json::parse(clipped.out)["layers"][0]["activation_range"][1].get<float>(), 0.98F);
  // Without the option, activations are fitted.
  const Outcome plain = run(quantize);
  EXPECT_EQ(json::parse(plain.out)["layers"][0]["activation_range"][1], largest["fit"]);
}

TEST_F(Program, ReportsCalibratorsThatDoNotExistOrHaveNoEffect) {
  const std::string quantize =
      "quantize " + kModel + " -o " + path("m.circle") + " --data " + kExample + " --limit 50 ";
  EXPECT_EQ(run(quantize + "--calibrator entropy").code, 2);
  EXPECT_THAT(text_of(path("stderr")), testing::HasSubstr("--calibrator"));
  expect_failure(quantize + "--calibrator kl --scheme mxfp4", 2,
                 "calibrator kl: it has no effect on activations whose scales are computed at run "
                 "time");
  std::ofstream(path("r.toml")) << "[default]\ncalibrator = \"percentile\"\npercentile = 0.9999\n";
  expect_failure(quantize + "--recipe " + path("r.toml"), 2,
                 "line 3: 'percentile': expected 50 to 100, found 0.9999");
}

#ifdef HALFTONE_MPIRUN
TEST_F(Program, FindsTheSameRangesOnAnyNumberOfRanks) {
  for (const std::string calibrator : {"kl", "moving-average"}) {
    const auto quantize = [&](const std::string& file) {
      return "quantize " + kModel + " -o " + path(file) + " --data " + kExample +
             " --limit 300 --weight-bits 8 --activation-bits 4 --scheme int --calibrator " +
             calibrator;
    };
    EXPECT_EQ(run(quantize("alone.circle")).code, 0);
    EXPECT_EQ(run_ranks(2, quantize("ranks.circle")).code, 0) << text_of(path("stderr"));
    EXPECT_TRUE(text_of(path("alone.circle")) == text_of(path("ranks.circle"))) << calibrator;
  }
}
#endif

}  // namespace
}  // namespace halftone
