// SPDX-License-Identifier: Apache-2.0
// Compares layers with many windows, and recurrent layers, with their reference implementations.
#include "halftone/train/graph/testing.h"
#include "halftone/train/graph/torch_operators.h"

namespace halftone::train {
namespace {

using ir::Activation;
using ir::ActivationKind;
using ir::Shape;
using ir::Window;

/// Windows over `rank` axes: each stride with each dilation and padding.
std::vector<Window> windows(std::size_t rank) {
  std::vector<Window> result;
  for (const ir::Dim stride : {1, 2}) {
    for (const ir::Dim dilation : {1, 2}) {
      for (const auto& [before, after] : {std::pair{0, 0}, {1, 1}, {0, 1}, {2, 1}}) {
        Window window = ir::plain_window(rank);
        window.strides[0] = stride;
        window.dilations.back() = dilation;
        window.pads_before.assign(rank, before);
        window.pads_after.assign(rank, 0);
        window.pads_after.back() = after;
        window.pads_after[0] = after;
        result.push_back(window);
      }
    }
  }
  return result;
}

Shape image(std::size_t rank, ir::Dim channels) {
  static constexpr ir::Dim kExtents[] = {6, 5, 4};
  std::vector<ir::Dim> dims{2};
  dims.insert(dims.end(), kExtents, kExtents + rank);
  dims.push_back(channels);
  return Shape(dims);
}

Shape filters(ir::Dim outputs, std::size_t rank, ir::Dim channels) {
  static constexpr ir::Dim kKernel[] = {3, 2, 1};
  std::vector<ir::Dim> dims{outputs};
  dims.insert(dims.end(), kKernel, kKernel + rank);
  dims.push_back(channels);
  return Shape(dims);
}

TEST(TorchConv, IsTheDefinition) {
  for (std::size_t rank = 1; rank <= 3; ++rank) {
    for (const Window& window : windows(rank)) {
      expect_defined({ir::Conv{window, 1, {}}, {image(rank, 3), filters(4, rank, 3)}});
      expect_defined({ir::Conv{window, 2, kTanh}, {image(rank, 4), filters(6, rank, 2), {6}}});
      expect_defined({ir::Conv{window, 4, {}}, {image(rank, 4), filters(8, rank, 1), {8}}});
    }
  }
}

TEST(TorchConvTranspose, IsTheDefinition) {
  for (std::size_t rank = 1; rank <= 3; ++rank) {
    for (Window window : windows(rank)) {
      for (const ir::Dim extra : {0, 1, 3}) {
        const std::vector<ir::Dim> padding(rank, extra);
        // No padding along the last axis, which has no elements to spare.
        window.pads_before.back() = 0;
        window.pads_after.back() = 0;
        expect_defined(
            {ir::ConvTranspose{window, padding, 1, {}}, {image(rank, 3), filters(4, rank, 3)}});
        expect_defined({ir::ConvTranspose{window, padding, 2, kTanh},
                        {image(rank, 4), filters(6, rank, 2), {6}}});
      }
    }
  }
}

TEST(TorchPool, IsTheDefinition) {
  for (std::size_t rank = 1; rank <= 3; ++rank) {
    for (const Window& window : windows(rank)) {
      for (const bool round_up : {false, true}) {
        std::vector<ir::Dim> kernel{3, 2, 1};
        kernel.resize(rank);
        const Shape x = image(rank, 3);
        expect_defined({ir::Pool{ir::PoolKind::kMax, kernel, window, false, round_up}, {x}});
        expect_defined({ir::Pool{ir::PoolKind::kAverage, kernel, window, false, round_up}, {x}});
        expect_defined({ir::Pool{ir::PoolKind::kAverage, kernel, window, true, round_up}, {x}});
      }
    }
  }
}

TEST(TorchWindows, HaveThreeAxesAtMostButForMeans) {
  const Window window = ir::plain_window(4);
  EXPECT_FALSE(is_differentiable(ir::Operator(ir::Conv{window})));
  EXPECT_FALSE(is_differentiable(ir::Operator(ir::ConvTranspose{window, {0, 0, 0, 0}})));
  EXPECT_FALSE(is_differentiable(ir::Operator(ir::Pool{ir::PoolKind::kMax, {1, 1, 1, 1}, window})));
  const ir::Pool mean{ir::PoolKind::kAverage, {1, 1, 1, 1}, window};
  EXPECT_TRUE(is_differentiable(ir::Operator(mean)));
}

/// Inputs of a layer of `hidden` states; the bits of `there` select the optional ones.
OperatorCase recurrent_case(const ir::Recurrent& op, unsigned there) {
  constexpr ir::Dim kSteps = 4;
  constexpr ir::Dim kSamples = 3;
  constexpr ir::Dim kHidden = 2;
  const auto rows = static_cast<ir::Dim>(ir::num_gates(op.kind)) * kHidden;
  const bool lstm = op.kind == ir::RecurrentKind::kLstm;
  const auto optional = [&](bool fits, unsigned bit, Shape shape) {
    return fits && (there >> bit & 1U) != 0 ? shape : kNoInput;
  };
  OperatorCase test{op,
                    {op.batch_major ? Shape{kSamples, kSteps, rows} : Shape{kSteps, kSamples, rows},
                     {rows, kHidden},
                     optional(op.linear_before_reset, 0, {kHidden}),
                     optional(true, 0, {kSamples, kHidden}),
                     optional(lstm, 0, {1, kHidden}),
                     optional(true, 1, {kSamples}),
                     optional(lstm, 0, {3 * kHidden})}};
  if ((there >> 1 & 1U) != 0) test.fixed = {{5, ir::ElementType::kInt32, {2, 0, 7}}};
  return test;
}

TEST(TorchRecurrent, IsTheDefinition) {
  using Kind = ir::RecurrentKind;
  for (const Kind kind : {Kind::kRnn, Kind::kGru, Kind::kLstm}) {
    for (unsigned flags = 0; flags < 64; ++flags) {
      const auto flag = [&](unsigned bit) { return (flags >> bit & 1U) != 0; };
      ir::Recurrent op;
      op.kind = kind;
      op.reverse = flag(0);
      op.batch_major = flag(1);
      op.linear_before_reset = kind == Kind::kGru && flag(2);
      op.input_forget = kind == Kind::kLstm && flag(2);
      op.with_cell = kind == Kind::kLstm && flag(3);
      op.cell_clip = kind == Kind::kLstm && flag(3) ? 0.4F : 0;
      op.carry = !op.reverse && flag(4);
      op.clip = flag(5) ? 0.7F : 0;
      for (unsigned there = 0; there < 4; ++there) expect_defined(recurrent_case(op, there));
    }
  }
}

TEST(TorchRecurrent, HasTheSlopes) {
  using Kind = ir::RecurrentKind;
  for (const Kind kind : {Kind::kRnn, Kind::kGru, Kind::kLstm}) {
    for (const bool flag : {false, true}) {
      ir::Recurrent op;
      op.kind = kind;
      op.reverse = flag;
      op.carry = !flag;
      op.batch_major = flag;
      op.with_cell = kind == Kind::kLstm && flag;
      op.linear_before_reset = kind == Kind::kGru && flag;
      expect_slopes(recurrent_case(op, 1));
      expect_slopes(recurrent_case(op, 3));
    }
  }
}

TEST(TorchRecurrent, OfNoStepsIsEmpty) {
  ir::Recurrent op;
  op.with_cell = true;
  expect_defined({op, {{0, 3, 8}, {8, 2}}});
  op.batch_major = true;
  expect_defined({op, {{3, 0, 8}, {8, 2}}});
}

TEST(TorchRecurrent, MultipliesLevelsOfItsStates) {
  using Kind = ir::RecurrentKind;
  for (const Kind kind : {Kind::kRnn, Kind::kGru, Kind::kLstm}) {
    ir::Recurrent op;
    op.kind = kind;
    op.state_encoding = std::make_shared<const numerics::MatrixEncoding>(
        numerics::tensor_encoding(numerics::make_basis(std::vector{0.2F, 0.4F, 0.1F})));
    for (unsigned there = 0; there < 4; ++there) expect_defined(recurrent_case(op, there));
  }
}

}  // namespace
}  // namespace halftone::train
