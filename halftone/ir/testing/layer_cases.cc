// SPDX-License-Identifier: Apache-2.0
// Products and windows.
#include "halftone/ir/testing/operator_cases.h"

namespace halftone::ir::test {
namespace {

const Activation kTanhActivation{ActivationKind::kTanh};

std::vector<OperatorCase> matmul_cases() {
  std::vector<OperatorCase> cases;
  const auto add = [&](const std::string& name, const MatMul& op, Shape a, Shape b) {
    cases.push_back(
        {"MatMul" + name, op, {numbers_input(std::move(a)), numbers_input(std::move(b))}});
  };
  add("Plain", {}, {kBatch, 33}, {33, 17});
  add("TransposedB", {false, true}, {kBatch, 9}, {5, 9});
  add("TransposedA", {true, false}, {9, kBatch}, {9, 5});
  add("BothTransposed", {true, true}, {9, kBatch}, {5, 9});
  add("Batched", {}, {kBatch, 4, 3, 8}, {1, 4, 8, 5});
  add("BatchedBoth", {}, {kBatch, 3, 4}, {kBatch, 4, 5});
  add("BatchedOneMatrix", {}, {kBatch, 3, 8}, {8, 5});
  add("BroadcastLeft", {false, true}, {3, 8}, {3, 5, 8});
  add("BroadcastBoth", {}, {kBatch, 1, 3, 8}, {4, 8, 5});
  add("BroadcastBothTransposedA", {true, false}, {kBatch, 1, 4, 3}, {3, 4, 2});
  add("VectorLeft", {}, {33}, {33, 17});
  add("VectorRight", {}, {kBatch, 33}, {33});
  add("Vectors", {}, {33}, {33});
  add("VectorBatched", {}, {4}, {2, 4, 3});
  add("BatchedVector", {}, {kBatch, 3, 4}, {4});
  add("Empty", {}, {kBatch, 0}, {0, 4});
  add("ManyAxes", {}, {1, 1, 1, 1, 1, kBatch, 4}, {4, 3});
  return cases;
}

std::vector<OperatorCase> convolution_cases() {
  const Window strided{{2, 1}, {1, 2}, {1, 0}, {0, 2}};
  return {
      {"ConvStrided",
       Conv{strided, 1, kTanhActivation},
       {numbers_input({kBatch, 4, 5, 3}), numbers_input({4, 2, 2, 3}), numbers_input({4})}},
      {"ConvDepthwise",
       Conv{strided, 4, {}},
       {numbers_input({kBatch, 4, 5, 4}), numbers_input({4, 2, 2, 1}), numbers_input({4})}},
      {"ConvGroupsOneAxis",
       Conv{plain_window(1), 2, {}},
       {numbers_input({kBatch, 5, 4}), numbers_input({4, 2, 2})}},
      {"ConvThreeAxes",
       Conv{plain_window(3), 1, {}},
       {numbers_input({kBatch, 2, 3, 2, 2}), numbers_input({3, 2, 1, 2, 2}), numbers_input({3})}},
      {"ConvResidual",
       Conv{plain_window(2), 1, {ActivationKind::kTanh}},
       {numbers_input({kBatch, 3, 3, 2}), numbers_input({2, 1, 1, 2}), numbers_input({2}),
        numbers_input({kBatch, 3, 3, 2})}},
      {"ConvTranspose",
       ConvTranspose{strided, {0, 0}, 1, kTanhActivation},
       {numbers_input({kBatch, 3, 4, 2}), numbers_input({3, 2, 2, 2}), numbers_input({3})}},
      {"ConvTransposeGroups",
       ConvTranspose{strided, {1, 0}, 2, kTanhActivation},
       {numbers_input({kBatch, 3, 4, 2}), numbers_input({4, 2, 2, 1}), numbers_input({4})}},
  };
}

std::vector<OperatorCase> pool_cases() {
  std::vector<OperatorCase> cases;
  const Window strided{{2, 1}, {1, 2}, {1, 0}, {0, 2}};
  for (const PoolKind kind : {PoolKind::kMax, PoolKind::kAverage}) {
    const std::string name(name_of(Pool{kind, {1}, plain_window(1)}));
    const auto add = [&](const std::string& suffix, const Pool& op, Shape x) {
      cases.push_back({name + suffix, op, {numbers_input(std::move(x))}});
    };
    add("Strided", Pool{kind, {2, 2}, strided}, {kBatch, 4, 4, 2});
    add("OneAxis", Pool{kind, {3}, {{2}, {1}, {1}, {1}}}, {kBatch, 7, 2});
    add("RoundedUp", Pool{kind, {3}, {{2}, {1}, {1}, {1}}, false, true}, {kBatch, 6, 2});
    add("FourAxes", Pool{kind, {2, 1, 2, 1}, plain_window(4)}, {kBatch, 2, 2, 3, 2, 1});
  }
  cases.push_back({"AveragePoolCountsPadding",
                   Pool{PoolKind::kAverage, {2}, {{1}, {1}, {1}, {0}}, true},
                   {numbers_input({kBatch, 3, 1})}});
  return cases;
}

}  // namespace

std::vector<OperatorCase> layer_cases() {
  std::vector<OperatorCase> cases = {
      {"FullyConnected", FullyConnected{}, {numbers_input({kBatch, 4}), numbers_input({5, 4})}},
      {"FullyConnectedTanh",
       FullyConnected{kTanhActivation},
       {numbers_input({kBatch, 4}), numbers_input({5, 4}), numbers_input({5})}},
      {"FullyConnectedOneOutput",
       FullyConnected{},
       {numbers_input({kBatch, 3, 4}), numbers_input({1, 4}), numbers_input({1})}},
      {"FullyConnectedVector",
       FullyConnected{},
       {numbers_input({4}), numbers_input({5, 4}), absent_input()}},
  };
  for (const auto& family : {matmul_cases(), convolution_cases(), pool_cases()}) {
    cases.insert(cases.end(), family.begin(), family.end());
  }
  return cases;
}

std::vector<OperatorCase> recurrent_cases() {
  constexpr Dim kSteps = 3;
  constexpr Dim kHidden = 2;
  std::vector<OperatorCase> cases;
  const auto add = [&](const std::string& name, const Recurrent& op,
                       std::vector<CaseInput> more = {}) {
    const Dim rows = static_cast<Dim>(num_gates(op.kind)) * kHidden;
    const Shape gates = op.batch_major ? Shape{kBatch, kSteps, rows} : Shape{kSteps, kBatch, rows};
    OperatorCase test{name, op, {numbers_input(gates), numbers_input({rows, kHidden})}};
    test.inputs.insert(test.inputs.end(), more.begin(), more.end());
    cases.push_back(std::move(test));
  };
  const CaseInput state = numbers_input({kBatch, kHidden});
  const CaseInput peepholes = numbers_input({3 * kHidden});
  Recurrent rnn;
  rnn.kind = RecurrentKind::kRnn;
  rnn.activations[0] = kTanhActivation;
  add("Rnn", rnn);
  rnn.reverse = true;
  rnn.batch_major = true;
  add("RnnReversed", rnn, {absent_input(), state});
  Recurrent gru;
  gru.kind = RecurrentKind::kGru;
  add("Gru", gru, {absent_input(), numbers_input({1, kHidden})});
  gru.linear_before_reset = true;
  add("GruLinearBeforeReset", gru, {numbers_input({kHidden}), state});
  Recurrent lstm;
  add("Lstm", lstm);
  add("LstmPeepholes", lstm, {absent_input(), state, state, absent_input(), peepholes});
  add("LstmLengths", lstm,
      {absent_input(), absent_input(), absent_input(),
       integers_input(ElementType::kInt32, {kBatch})});
  lstm.with_cell = true;
  lstm.cell_clip = 0.7F;
  lstm.clip = 1.5F;
  lstm.input_forget = true;
  add("LstmClipped", lstm);
  return cases;
}

}  // namespace halftone::ir::test
