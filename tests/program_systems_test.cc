// SPDX-License-Identifier: Apache-2.0
// Number systems as users name them: listed, chosen for weights and inputs, stored, read and run.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "halftone/data/npy.h"
#include "tests/program.h"

namespace halftone {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TEST_F(Program, ListsNumberSystemsAndTheirLevels) {
  const Outcome table = run("systems");
  EXPECT_EQ(table.code, 0) << table.err;
  const json list = json::parse(run("systems --json").out)["systems"];
  EXPECT_GT(list.size(), 25U);
  for (const json& system : list) EXPECT_THAT(table.out, HasSubstr(system["name"]));
  const json nf4 = json::parse(run("systems nf4 --json").out);
  EXPECT_EQ(nf4["bits"], 4);
  EXPECT_EQ(nf4["levels"].size(), 16U);
  EXPECT_EQ(nf4["levels"].back(), 1.0);
  const json int3 = json::parse(run("systems int --bits 3 --json").out);
  EXPECT_EQ(int3["levels"], (json{-4.0, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0}));
  EXPECT_TRUE(json::parse(run("systems e4m3 --json").out)["levels"][0x7f].is_null());
  const json e5m2 = json::parse(run("systems e5m2 --json").out);
  const json overflowing = json::parse(run("systems e5m2_nan --json").out);
  EXPECT_EQ(e5m2["overflow"], "saturate");
  EXPECT_EQ(overflowing["overflow"], "nan");
  EXPECT_EQ(overflowing["levels"], e5m2["levels"]);
  EXPECT_THAT(run("systems e4m3_nan").out, HasSubstr("beyond the largest: infinity or NaN"));
  expect_failure("systems e3m2_nan", 2, "found 'e3m2', whose codes are all numbers");
  expect_failure("systems ints4", 2, "number system 'ints4': expected one of learned: basis");
  expect_failure("systems nf4 --bits 3", 2, "number system 'nf4': expected 4 bits, found 3");
}

/// Options of quantize, and what the file then is.
struct Choice {
  std::string options;
  int weight_bits;
  int activation_bits;
  std::string arithmetic;
  std::string weights;  ///< how inspect describes them
};

TEST_F(Program, QuantizesToEveryKindOfNumberSystem) {
  const Choice choices[] = {
      {"--scheme int --weight-bits 4 --activation-bits 8", 4, 8, "integers",
       "int(4 bits, channel)"},
      {"--scheme fixed --weight-bits 8 --activation-bits 8", 8, 8, "integers",
       "fixed(8 bits, channel, scales e8m0)"},
      {"--scheme ternary", 2, 2, "bits", "ternary(2 bits, channel)"},
      {"--weight-scheme nf4 --activation-bits none", 4, 32, "integers",
       "nf4(4 bits, groups of 64)"},
      {"--weight-scheme posit --weight-bits 8 --activation-bits none", 8, 32, "float",
       "posit(8 bits, channel)"},
      {"--scheme mxfp4", 4, 4, "float", "mxfp4(4 bits, groups of 32, scales e8m0)"},
      {"--scheme nvfp4", 4, 4, "float", "nvfp4(4 bits, groups of 16, scales e4m3)"},
      {"--weight-scheme int_k --weight-bits 6 --activation-bits none", 6, 32, "integers",
       "int_k(6 bits, groups of 16, scales int8 x float16 of 16 groups)"},
      {"--weight-scheme affine_k --weight-bits 4 --activation-bits none", 4, 32, "integers",
       "affine_k(4 bits, groups of 32, offset, scales uint6 x float16 of 8 groups)"},
      {"--scheme affine_k --weight-bits 4 --activation-bits 4", 4, 4, "float",
       "affine_k(4 bits, groups of 32, offset, scales uint6 x float16 of 8 groups)"},
      {"--scheme mxfp8_e4m3", 8, 8, "float", "mxfp8_e4m3(8 bits, groups of 32, scales e8m0)"},
      {"--scheme bf16", 16, 16, "float", "bf16(16 bits, tensor)"},
      {"--scheme int --weight-bits 12 --activation-bits 12", 12, 12, "float",
       "int(12 bits, channel)"}};
  for (const Choice& choice : choices) {
    for (const char* name : {"m.onnx", "m.tflite"}) {
      SCOPED_TRACE(choice.options + " to " + name);
      const std::string file = path(name);
      const Outcome quantize = run("quantize " + kModel + " -o " + file + " --data " + kExample +
                                   " --limit 60 " + choice.options);
      ASSERT_EQ(quantize.code, 0) << quantize.err;
      const json layer = json::parse(run("inspect " + file + " --json").out)["layers"][0];
      EXPECT_EQ(layer["weight_bits"], choice.weight_bits);
      EXPECT_EQ(layer["activation_bits"], choice.activation_bits);
      EXPECT_EQ(layer["arithmetic"], choice.arithmetic);
      EXPECT_THAT(layer["weights"].get<std::string>(), ::testing::StartsWith(choice.weights));
      const Outcome eval = run("eval " + file + " --data " + kExample + " --json");
      ASSERT_EQ(eval.code, 0) << eval.err;
      EXPECT_GT(json::parse(eval.out)["value"].get<double>(), 0.9);
    }
  }
}

// Images a million times as bright as calibrated are beyond the stored scales of e4m3_nan and
// e5m2_nan, and beyond the largest number of fp16_nan, which has no scale; e4m3 saturates.
TEST_F(Program, OverflowsInEveryFileFormatWhereTheSystemDoes) {
  const std::vector<float> x(784, 1e6F);
  data::write_npy(path("x.npy"), data::make_npy(std::span<const float>(x), {1, 784}));
  for (const std::string scheme : {"e4m3_nan", "e5m2_nan", "fp16_nan", "e4m3"}) {
    const std::string circle = path("m.circle");
    const Outcome quantize = run("quantize " + kModel + " -o " + circle + " --data " + kExample +
                                 " --limit 60 --scheme " + scheme);
    ASSERT_EQ(quantize.code, 0) << quantize.err;
    for (const char* name : {"m.circle", "m.onnx", "m.tflite"}) {
      SCOPED_TRACE(scheme + " in " + name);
      const std::string file = path(name);
      if (file != circle) {
        ASSERT_EQ(run("convert " + circle + " " + file).code, 0);
      }
      const Outcome eval = run("eval " + file + " --data " + kExample + " --limit 500 --json");
      ASSERT_EQ(eval.code, 0) << eval.err;
      EXPECT_GT(json::parse(eval.out)["value"].get<double>(), 0.9);
      const Outcome answer = run("run " + file + " --input " + path("x.npy") + " -o " + path("y"));
      ASSERT_EQ(answer.code, 0) << answer.err;
      const std::vector<float> scores = data::read_npy(path("y") + "/out0.npy").floats();
      const bool has_numbers =
          std::ranges::all_of(scores, [](float score) { return std::isfinite(score); });
      EXPECT_EQ(has_numbers, scheme == "e4m3");
    }
  }
}

TEST_F(Program, RefusesWhatANumberSystemCannotBe) {
  const std::string quantize =
      "quantize " + kModel + " -o " + path("m.onnx") + " --data " + kExample + " --limit 20 ";
  expect_failure(quantize + "--scheme fp5", 2, "number system 'fp5': expected one of");
  expect_failure(quantize + "--scheme mxfp4 --weight-bits 8", 2,
                 "weight bits: number system 'mxfp4': expected 4 bits, found 8");
  expect_failure(quantize + "--scheme mxfp4 --arithmetic bits", 2, "arithmetic bits: ");
  EXPECT_FALSE(std::filesystem::exists(path("m.onnx")));
}

TEST_F(Program, ConvertsCodesToFloatsForOtherRuntimes) {
  const std::string data = " --data " + kExample;
  ASSERT_EQ(run("quantize " + kModel + " -o " + path("q.circle") + data + " --limit 256").code, 0);
  const json own =
      json::parse(run("eval " + path("q.circle") + data + " --float-activations --json").out);
  for (const std::string& file : {path("d.onnx"), path("d.tflite")}) {
    const Outcome convert = run("convert " + path("q.circle") + " " + file + " --decoded --json");
    ASSERT_EQ(convert.code, 0) << convert.err;
    for (const json& layer : json::parse(convert.out)["layers"]) {
      EXPECT_EQ(layer["weight_bits"], 32);
      EXPECT_EQ(layer["activation_bits"], 32);
    }
    const json decoded = json::parse(run("eval " + file + data + " --json").out);
    EXPECT_EQ(decoded["value"], own["value"]) << file;
  }
  const Outcome refused = run("quantize " + kModel + " -o " + path("k.onnx") + data +
                              " --limit 64 --scheme int_k --weight-bits 4 --activation-bits 4");
  ASSERT_EQ(refused.code, 0) << refused.err;
  expect_failure("convert " + path("k.onnx") + " " + path("none.onnx") + " --decoded", 4,
                 "k.onnx: cannot be decoded: roundings whose scales share factors within a row: ");
  EXPECT_FALSE(std::filesystem::exists(path("none.onnx")));
}

TEST_F(Program, QuantizesWholeNetworksToIntegers) {
  const std::string data = " --data " + kExample;
  const json reference = json::parse(run("eval " + kModel + data + " --json").out);
  for (const std::string& file : {path("q.onnx"), path("q.tflite")}) {
    const std::string quantize = "quantize " + kModel + " -o " + file + data + " --full-integer";
    const Outcome done = run(quantize + " --limit 200 --json");
    ASSERT_EQ(done.code, 0) << done.err;
    for (const json& layer : json::parse(done.out)["layers"]) {
      EXPECT_EQ(layer["weight_bits"], 8);
      EXPECT_EQ(layer["activation_bits"], 8);
    }
    const json inspected = json::parse(run("inspect " + file + " --json").out);
    EXPECT_EQ(inspected["layers"].size(), 2U);
    EXPECT_FALSE(inspected["operators"].contains("Encode"));
    const json found = json::parse(run("eval " + file + data + " --json").out);
    EXPECT_NEAR(found["value"], reference["value"], 0.01) << file;
    expect_failure(quantize + " --weight-bits 4", 2, "full-integer quantization has 8-bit weights");
  }
}

/// The example network with 4-bit weights in groups, and the outputs of a file for an input.
class StandardOnnx : public Program {
 protected:
  [[nodiscard]] std::string quantized(const std::string& options) const {
    std::ofstream(path("r.toml")) << "[default]\nactivation_bits = \"none\"\nweight_bits = 4\n"
                                  << options << "[fit]\nerror_feedback = false\nrefine = false\n";
    const std::string file = path("q.circle");
    const Outcome outcome = run("quantize " + kModel + " -o " + file + " --data " + kExample +
                                " --limit 64 --recipe " + path("r.toml"));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return file;
  }
  [[nodiscard]] std::vector<float> outputs(const std::string& file) const {
    std::vector<float> pixels(784);
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<float>(i % 7) / 7;
    data::write_npy(path("x.npy"), data::make_npy(std::span<const float>(pixels), {1, 784}));
    const Outcome outcome = run("run " + file + " --input " + path("x.npy") + " -o " + path("out"));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return data::read_npy(path("out") + "/out0.npy").floats();
  }
};

TEST_F(StandardOnnx, HoldsWeightsOfFewBits) {
  const std::string file = quantized("weight_scheme = \"int\"\ngroup_size = 32\n");
  const std::vector<float> expected = outputs(file);
  for (const std::string form : {"--standard", "--matmul-nbits"}) {
    const std::string written = path("s.onnx");
    const Outcome convert = run("convert " + file + " " + written + " " + form + " --json");
    ASSERT_EQ(convert.code, 0) << convert.err;
    const json described = json::parse(convert.out);
    EXPECT_EQ(described["format"], "onnx");
    EXPECT_EQ(described["layers"][0]["weight_bits"], 4);
    EXPECT_EQ(described["layers"][0]["arithmetic"], "float");
    EXPECT_LT(std::filesystem::file_size(written), 400000U);
    const bool is_nbits = text_of(written).find("MatMulNBits") != std::string::npos;
    EXPECT_EQ(is_nbits, form == "--matmul-nbits");
    EXPECT_EQ(text_of(written).find("ai.halftone"), std::string::npos);
    const std::vector<float> found = outputs(written);
    ASSERT_EQ(found.size(), expected.size());
    // Weights in integer arithmetic round inputs to 8 bits.
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 0.02);
  }
}

TEST_F(StandardOnnx, IsWrittenByQuantize) {
  const std::string quantize = "quantize " + kModel + " --data " + kExample +
                               " --limit 64 --weight-bits 8 --activation-bits 8 --scheme ";
  const std::string written = path("s.onnx");
  const Outcome done = run(quantize + "asymmetric --standard -o " + written);
  ASSERT_EQ(done.code, 0) << done.err;
  const std::string text = text_of(written);
  EXPECT_EQ(text.find("ai.halftone"), std::string::npos);
  EXPECT_NE(text.find("QuantizeLinear"), std::string::npos);
  ASSERT_EQ(run(quantize + "asymmetric -o " + path("q.circle")).code, 0);
  const std::vector<float> expected = outputs(path("q.circle"));
  const std::vector<float> found = outputs(written);
  ASSERT_EQ(found.size(), expected.size());
  // Both multiply integers. A sum may round to the next code of a hidden value: a step of 2 / 255
  // between -1 and 1, times a weight below 1.
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 2.0 / 255);
}

TEST_F(StandardOnnx, IsCheckedBeforeTheFit) {
  const std::string written = path("s.onnx");
  const std::string quantize =
      "quantize " + kModel + " --data " + kExample + " -o " + written + " --standard";
  expect_failure(quantize + " --weight-scheme fp16", 4,
                 "operators of ONNX alone cannot hold weights in fp16 of 16 bits: codes of more "
                 "than 8 bits ('dense1', 'dense2'); Halftone's own operators do");
  expect_failure(quantize + " --full-integer", 2, "leave out standard or matmul-nbits");
  EXPECT_FALSE(std::filesystem::exists(written));
  // Long before the fit: the data is not even opened.
  expect_failure("quantize " + kModel + " --data no-such-data -o " + written +
                     " --standard --weight-scheme fp16",
                 4, "codes of more than 8 bits");
}

TEST_F(StandardOnnx, LooksUpLearnedLevels) {
  const std::string file = quantized("");
  const std::string written = path("s.onnx");
  ASSERT_EQ(run("convert " + file + " " + written + " --standard").code, 0);
  ASSERT_EQ(run("convert " + file + " " + path("decoded.onnx") + " --decoded").code, 0);
  EXPECT_NE(text_of(written).find("GatherElements"), std::string::npos);
  EXPECT_EQ(text_of(written).find("ai.halftone"), std::string::npos);
  EXPECT_LT(std::filesystem::file_size(written), 400000U);
  // The levels are those of the codes, and the same kernels add them in the same order.
  EXPECT_EQ(outputs(written), outputs(path("decoded.onnx")));
}

TEST_F(StandardOnnx, IsOfOnnxAlone) {
  expect_failure("convert " + kModel + " " + path("s.tflite") + " --standard", 2,
                 "the standard form is one of ONNX");
}

}  // namespace
}  // namespace halftone
