// SPDX-License-Identifier: Apache-2.0
// tests/lora_test.py compares with the package peft.
#include "halftone/lm/model/adapter.h"

#include <iterator>
#include <utility>

#include "halftone/base/file.h"
#include "halftone/base/testing.h"
#include "halftone/ir/evaluate_graph.h"
#include "halftone/lm/model/build.h"
#include "halftone/lm/model/testing.h"

namespace halftone::lm {
namespace {

Description untied() {
  Description d = small_description("llama");
  d.ties_embeddings = false;
  d.pairing = Pairing::kInterleaved;  // as in GGUF files
  return d;
}

constexpr std::size_t kRank = 2;

/// Factors of a matrix, small enough for logits of order 1.
std::pair<NamedTensor, NamedTensor> factors(const std::string& name,
                                            const std::vector<std::size_t>& shape) {
  NamedTensor a = counting(name + ".lora_a", {kRank, shape[1]});
  NamedTensor b = counting(name + ".lora_b", {shape[0], kRank}, 5);
  for (NamedTensor* factor : {&a, &b}) {
    for (float& value : factor->values) value = std::sin(value) / 4;
  }
  return {a, b};
}

class Adapters : public WithFolder {
 protected:
  /// Writes an adapter of these matrices with alpha 3.
  [[nodiscard]] std::string gguf(const std::vector<NamedTensor>& tensors) const {
    formats::GgufKeys keys;
    keys.set("general.architecture", std::string_view("llama"));
    keys.set("general.type", std::string_view("adapter"));
    keys.set("adapter.type", std::string_view("lora"));
    keys.set("adapter.lora.alpha", 3.0F);
    std::vector<formats::NewGgufTensor> written;
    for (const NamedTensor& tensor : tensors) {
      written.push_back({tensor.name, tensor.shape, &formats::gguf_float32(), source_of(tensor)});
    }
    write_file(path("a.gguf"), formats::gguf_bytes(keys, written));
    return path("a.gguf");
  }
};

/// Logits of one token.
std::vector<float> logits_of(const Description& d, const Weights& weights, const Adapter* adapter) {
  const DecoderGraphs graphs = build_decoder(d, weights, {.context = 4, .adapter = adapter});
  std::vector<ir::Tensor> inputs;
  for (const std::int32_t number : {5, 0, 0}) {
    inputs.push_back(ir::Tensor::from<std::int32_t>({1}, {&number, 1}));
  }
  for (const ir::State& state : graphs.body.states()) {
    inputs.emplace_back(ir::ElementType::kFloat32, graphs.body.value(state.before).type.shape);
  }
  std::vector<ir::Tensor> rows;
  rows.push_back(std::move(ir::evaluate_graph(graphs.body, inputs)[0]));
  const ir::Tensor logits = std::move(ir::evaluate_graph(graphs.head, rows)[0]);
  return {logits.as<float>().begin(), logits.as<float>().end()};
}

/// Sums in another order: of 30 operators, each off by 2^-24 of 8.
constexpr float kTolerance = 30 * 8 * 0x1p-24F;

TEST_F(Adapters, ComputeWhatMergedMatricesCompute) {
  const Description d = untied();
  const std::vector<WeightId> ids = {{.role = WeightRole::kQuery},
                                     {.role = WeightRole::kDown, .block = 1},
                                     {.role = WeightRole::kGate},
                                     {.role = WeightRole::kHead}};
  std::vector<NamedTensor> merged = small_tensors(d);
  for (NamedTensor& tensor : merged) {
    if (tensor.shape.size() < 2) continue;
    for (float& value : tensor.values) value /= 4;
  }
  const Weights before = weights_of(d, merged);
  std::vector<NamedTensor> changes;
  for (const WeightId& id : ids) {
    const std::string name = places_of(d, Naming::kGguf, id)[0].name;
    const auto shape = shape_of(d, id);
    const auto [a, b] = factors(name, shape);
    NamedTensor& matrix = *std::ranges::find(merged, name, &NamedTensor::name);
    for (std::size_t i = 0; i < matrix.values.size(); ++i) {
      for (std::size_t r = 0; r < kRank; ++r) {
        matrix.values[i] += 3.0F / kRank * b.values[i / shape[1] * kRank + r] *
                            a.values[r * shape[1] + i % shape[1]];
      }
    }
    changes.push_back(a);
    changes.push_back(b);
  }
  const Adapter adapter = Adapter::open(gguf(changes), d);
  EXPECT_EQ(adapter.size(), ids.size());
  const std::vector<float> found = logits_of(d, before, &adapter);
  EXPECT_THAT(found, testing::Pointwise(testing::FloatNear(kTolerance),
                                        logits_of(d, weights_of(d, merged), nullptr)));
  EXPECT_THAT(found, testing::Not(testing::Pointwise(testing::FloatNear(0.01F),
                                                     logits_of(d, before, nullptr))));
}

TEST_F(Adapters, NameWhatTheyDoNotFollow) {
  const Description d = untied();
  const auto refuse = [&](ErrorKind kind, const std::vector<NamedTensor>& tensors,
                          const std::string& why) {
    expect_error(kind, why, [&] { (void)Adapter::open(gguf(tensors), d); });
  };
  const auto both = factors("blk.0.attn_q.weight", {d.heads * d.head_width, d.width});
  const NamedTensor& a = both.first;
  const NamedTensor& b = both.second;
  refuse(ErrorKind::kUnsupported, {a, b, counting("blk.0.attn_norm.weight.lora_a", {1, 1})},
         "tensor 'blk.0.attn_norm.weight.lora_a': changes no matrix of this model");
  refuse(ErrorKind::kUnsupported, {a}, "tensor 'blk.0.attn_q.weight.lora_a': changes no matrix");
  NamedTensor wide = b;
  wide.shape = {kRank, d.heads * d.head_width};
  refuse(ErrorKind::kFormat, {a, wide}, "'blk.0.attn_q.weight.lora_a': does not fit the attention");
  refuse(ErrorKind::kFormat, {}, "expected changes, found none");
  expect_error(ErrorKind::kUnsupported, "key 'general.architecture': expected 'qwen2'", [&] {
    (void)Adapter::open(gguf({a, b}), small_description("qwen2"));
  });
  const auto folder = [&](const std::string& config, const std::string& why) {
    write_file(path("adapter_config.json"), std::string_view(config));
    expect_error(ErrorKind::kUnsupported, why, [&] { (void)Adapter::open(folder_, d); });
  };
  folder(R"({"peft_type": "LOHA"})", "adapter_config.json: 'peft_type': expected LORA");
  folder(R"({"peft_type": "LORA", "bias": "all"})", "'bias': changed biases are not read");
  folder(R"({"peft_type": "LORA", "use_dora": true})", "'use_dora': changes of this kind");
  folder(R"({"peft_type": "LORA", "fan_in_fan_out": true})", "'fan_in_fan_out'");
  folder(R"({"peft_type": "LORA", "modules_to_save": ["norm"]})", "'modules_to_save'");
  folder(R"({"peft_type": "LORA", "lora_alpha": 1, "alpha_pattern": {"q_.*": 4}})",
         "'alpha_pattern': expected names of layers, found 'q_.*'");
}

}  // namespace
}  // namespace halftone::lm
