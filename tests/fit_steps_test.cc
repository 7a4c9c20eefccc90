// SPDX-License-Identifier: Apache-2.0
// Each step of the fit can be used alone, by recipe, and improves on rounding to the nearest level.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "halftone/compress/quantize.h"
#include "halftone/data/open_dataset.h"
#include "halftone/formats/model.h"
#include "halftone/passes/simplify.h"
#include "tests/example.h"

namespace halftone {
namespace {

/// The output error of the bundled network with weights of three bits, in dB below the output.
double output_sqnr_db(const std::string& steps) {
  ir::Graph graph = formats::load_model(kExample + "/mnist_mlp_700.onnx");
  passes::simplify(graph);
  const data::Dataset digits = data::open_dataset(kExample, {.split = "train", .limit = 4000});
  const compress::Recipe recipe = compress::parse_recipe(
      "[default]\nweight_bits = 3\nactivation_bits = \"none\"\nscheme = \"int\"\n[fit]\n"
      "input_weighted = false\n" +
          steps,
      "test");
  return compress::quantize(graph, digits, recipe).layers.back().sqnr_db;
}

constexpr const char* kNothing =
    "error_feedback = false\nrefine = false\nbias_correction = false\n";

TEST(FitSteps, EachAloneIsBetterThanRoundingToTheNearestLevel) {
  const double nearest = output_sqnr_db(kNothing);
  const std::pair<const char*, std::string> steps[] = {
      {"bias correction", "error_feedback = false\nrefine = false\nbias_correction = true\n"},
      {"error feedback", "error_feedback = true\nrefine = false\nbias_correction = false\n"},
      {"refinement", "error_feedback = false\nrefine = true\nbias_correction = false\n"},
      {"learned rounding",
       std::string(kNothing) + "reconstruct_steps = 200\nlevel_rate = 0\nbias_rate = 0\n"},
      {"adaptive rounding",
       std::string(kNothing) +
           "reconstruct_steps = 200\nreconstruct_rounding = \"adaptive\"\n"
           "reconstruct_unit = \"layer\"\nlevel_rate = 0\nbias_rate = 0\ndrop = 0\n"},
  };
  for (const auto& [name, recipe] : steps) {
    const double found = output_sqnr_db(recipe);
    RecordProperty(name, std::to_string(found - nearest));
    EXPECT_GT(found, nearest + 0.1) << name;
  }
}

}  // namespace
}  // namespace halftone
