// SPDX-License-Identifier: Apache-2.0
// Networks with several inputs, and inputs that options fix, in every verb.
#include <limits>
#include <nlohmann/json.hpp>

#include "halftone/base/random.h"
#include "halftone/data/npy.h"
#include "halftone/formats/model.h"
#include "tests/program.h"

namespace halftone {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr std::size_t kSamples = 48;

class InputsProgram : public Program {
 protected:
  void SetUp() override {
    Program::SetUp();
    write_numbers("a.npy", 3);
    write_numbers("b.npy", 2);
    std::vector<std::int64_t> labels(kSamples);
    for (std::size_t i = 0; i < kSamples; ++i) labels[i] = static_cast<std::int64_t>(i % 4);
    data::write_npy(path("y.npy"),
                    data::make_npy(std::span<const std::int64_t>(labels), {kSamples}));
  }

  void write_numbers(const std::string& name, std::size_t each) const {
    Random random(each);
    std::vector<float> numbers(kSamples * each);
    for (float& x : numbers) x = static_cast<float>(random.normal());
    data::write_npy(path(name), data::make_npy(std::span<const float>(numbers), {kSamples, each}));
  }

  /// A layer of (a * scale) and b, or of a and b.
  void save(const std::string& name, bool has_scale) const {
    Random random(7);
    ir::Graph graph;
    const auto input = [&](const char* input_name, ir::Shape shape) {
      return graph.add_input(input_name, ir::dense_type(ir::ElementType::kFloat32, shape));
    };
    ir::ValueId a = input("a", {ir::kBatch, 3});
    const ir::ValueId b = input("b", {ir::kBatch, 2});
    if (has_scale) {
      const ir::Binary times{ir::BinaryKind::kMul, {}};
      a = graph.add_node("scaled", times, {a, input("scale", {3})});
    }
    const ir::ValueId both = graph.add_node("both", ir::Concat{1}, {a, b});
    std::vector<float> weights(20);
    for (float& x : weights) x = static_cast<float>(random.normal());
    const auto w = graph.add_constant("w", ir::Tensor::from<float>({4, 5}, weights));
    graph.add_output(graph.add_node("y", ir::FullyConnected{}, {both, w}));
    formats::save_model(graph, path(name));
  }

  /// The output of a command that succeeds.
  std::string done(const std::string& arguments) const {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 0) << arguments << "\n" << outcome.err;
    return outcome.out;
  }

  void expect_refused(const std::string& arguments, int code, const std::string& text) const {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, code) << arguments;
    EXPECT_THAT(outcome.err, HasSubstr(text));
  }

  [[nodiscard]] std::string named() const {
    return " --data b=" + path("b.npy") + " --data a=" + path("a.npy") + "," + path("y.npy");
  }
};

TEST_F(InputsProgram, ReadsAnInputFromEachFileInOrderOrByName) {
  save("m.onnx", false);
  const std::string quantize = "quantize " + path("m.onnx") + " -o " + path("q.onnx");
  done(quantize + " --data " + path("a.npy") + " --data " + path("b.npy"));
  const std::string in_order = text_of(path("q.onnx"));
  done(quantize + named());
  EXPECT_TRUE(text_of(path("q.onnx")) == in_order);
  const json found = json::parse(
      done("eval " + path("q.onnx") + named() + " --reference " + path("m.onnx") + " --json"));
  EXPECT_EQ(found["metric"], "accuracy");
  EXPECT_EQ(found["samples"], kSamples);
  expect_refused(quantize + " --data " + path("a.npy"), 4,
                 "expected samples of 2 inputs, like the network, found 1");
  expect_refused(quantize + " --data c=" + path("a.npy") + " --data b=" + path("b.npy"), 4,
                 "expected samples of the network inputs 'a', 'b', found 'c', 'b'");
}

TEST_F(InputsProgram, FixesInputsInEveryVerb) {
  save("m.onnx", true);
  const std::string fixed = " --constant scale=1 --shape a=N,3";
  const std::string model = path("m.onnx") + fixed;
  const json inspection = json::parse(done("inspect " + model + " --json"));
  EXPECT_EQ(inspection["inputs"].size(), 2U);
  done("bench " + model + " --seconds 0.001");
  done("convert " + path("m.onnx") + " " + path("fixed.circle") + fixed);
  const std::string inputs = " --input " + path("a.npy") + " --input " + path("b.npy") + " -o ";
  done("run " + model + inputs + path("r"));
  done("run " + path("fixed.circle") + inputs + path("s"));
  EXPECT_TRUE(text_of(path("r/out0.npy")) == text_of(path("s/out0.npy")));
  done("quantize " + model + " -o " + path("q.onnx") + named());
  done("eval " + path("q.onnx") + fixed + named() + " --reference " + path("m.onnx"));
  expect_refused(
      "eval " + path("q.onnx") + " --constant scala=1" + named() + " --reference " + path("m.onnx"),
      2, "input 'scala': no network has such an input to fix");
}

TEST_F(InputsProgram, GivesAShapeToAnInput) {
  save("m.onnx", true);
  const json found = json::parse(done("inspect " + path("m.onnx") + " --json --shape a=8,3" +
                                      " --shape b=8,2 --constant scale=1"));
  EXPECT_EQ(found["outputs"][0]["shape"], json({8, 4}));
  expect_refused("inspect " + path("m.onnx") + " --shape a=3", 2,
                 "m.onnx: input 'a': expected a shape of 2 axes, found [3]");
  expect_refused("inspect " + path("m.onnx") + " --shape z=3", 2,
                 "input 'z': the model has no such input to fix; its inputs are 'a', 'b', 'scale'");
  expect_refused("inspect " + path("m.onnx") + " --shape 3", 2,
                 "expected NAME=EXTENT,..., found '3'");
  expect_refused("inspect " + path("m.onnx") + " --constant scale=big", 2,
                 "expected a number or a .npy file, found 'big'");
}

#ifdef HALFTONE_TRAINS
TEST_F(InputsProgram, TrainsNetworksOfSeveralInputs) {
  save("m.onnx", true);
  const std::string options = " --constant scale=1 --limit 32 --batch 16 -o ";
  done("train " + path("m.onnx") + options + path("t.onnx") + named());
  done("distill --teacher " + path("m.onnx") + " --student " + path("t.onnx") + options +
       path("d.onnx") + named());
  const json student = json::parse(done("inspect " + path("d.onnx") + " --json"));
  EXPECT_EQ(student["inputs"].size(), 2U);
}
#endif

/// Samples of the inputs of save(), of which one may be a glitch or have gaps.
class StrangeSamples : public InputsProgram {
 protected:
  /// @param at  index in a.npy
  void write_with(std::size_t at, float value) const {
    Random random(3);
    std::vector<float> numbers(kSamples * 3);
    for (float& x : numbers) x = static_cast<float>(random.normal());
    numbers[at] = value;
    data::write_npy(path("a.npy"), data::make_npy(std::span<const float>(numbers), {kSamples, 3}));
  }

  [[nodiscard]] std::string command(const std::string& options) const {
    return "quantize " + path("m.onnx") + " -o " + path("q.onnx") + named() +
           " --weight-bits 8 --scheme int " + options;
  }
};

TEST_F(StrangeSamples, AreNamedAndLeftOut) {
  save("m.onnx", false);
  write_with(20, -1e4F);
  for (const std::string options : {"--activation-bits none", "--activation-bits 8"}) {
    const Outcome outcome = run(command(options + " --json"));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("warning: "));
    EXPECT_THAT(outcome.err, HasSubstr("sample 6 is left out of the fit: the largest magnitude of "
                                       "'a' is 1e+04 there"));
    const json warnings = json::parse(outcome.out)["warnings"];
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_THAT(std::string(warnings[0]), HasSubstr("sample 6 is left out of the fit"));
    write_with(20, -1);
    EXPECT_EQ(run(command(options)).err, "");
    write_with(20, -1e4F);
  }
}

TEST_F(StrangeSamples, ThatReachTheOutputAreRefused) {
  save("m.onnx", false);
  write_with(20, std::numeric_limits<float>::quiet_NaN());
  expect_refused(command("--activation-bits none"), 3,
                 "sample 6: expected finite numbers, found NaN");
  expect_refused("eval " + path("m.onnx") + named(), 3,
                 "sample 6: expected finite numbers, found NaN");
}

}  // namespace
}  // namespace halftone
