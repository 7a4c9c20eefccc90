// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "halftone/runtime/elementwise/elementwise.h"
#include "halftone/runtime/recurrent/recurrent.h"

namespace halftone::runtime {
namespace {

/// The samples of a share as they run along the sequences.
class Share {
 public:
  Share(const RecurrentSteps& layer, const RecurrentBuffers& memory, std::size_t share,
        std::byte* scratch)
      : layer_(layer),
        op_(layer.op),
        memory_(memory),
        extents_(layer.extents),
        first_(extents_.batch * share / layer.shares),
        rows_(extents_.batch * (share + 1) / layer.shares - first_),
        width_(extents_.hidden) {
    const auto take = [&scratch](std::size_t rows, std::size_t cols) {
      const MatrixView<float> view(reinterpret_cast<float*>(scratch), rows, cols, cols);
      scratch += AlignedBuffer::rounded_up(rows * cols * sizeof(float));
      return view;
    };
    gates_ = take(rows_, extents_.gates);
    h_ = take(rows_, width_);
    c_ = take(rows_, width_);
    spare_ = take(rows_, width_);
    scratch_ = scratch;
  }

  void run() {
    start(memory_.hidden, layer_.shares_hidden, h_);
    start(memory_.cell, layer_.shares_cell, c_);
    for (std::size_t i = 0; i < extents_.steps; ++i) {
      for (std::size_t r = 0; r < rows_; ++r) {
        if (i < length(r)) load(i, r);
      }
      multiply_and_step(i);
      for (std::size_t r = 0; r < rows_; ++r) store(i, r);
    }
  }

 private:
  using Row = std::span<float>;

  void start(const float* states, bool shared, MatrixView<float> to) const {
    for (std::size_t r = 0; r < rows_; ++r) {
      if (states == nullptr) {
        std::ranges::fill(to.row(r), 0.0F);
      } else {
        const std::size_t sample = shared ? 0 : first_ + r;
        std::copy_n(states + sample * width_, width_, to.row(r).begin());
      }
    }
  }

  [[nodiscard]] std::size_t length(std::size_t r) const {
    if (memory_.lengths == nullptr) return extents_.steps;
    const std::int32_t found = memory_.lengths[first_ + r];
    return std::min(static_cast<std::size_t>(std::max(found, 0)), extents_.steps);
  }
  /// Row of the gates and the output for the i-th step of a sample.
  [[nodiscard]] std::size_t row(std::size_t i, std::size_t r) const {
    const std::size_t step = op_.reverse && i < length(r) ? length(r) - 1 - i : i;
    return extents_.row(step, first_ + r);
  }
  [[nodiscard]] std::span<const float> projected(std::size_t i, std::size_t r) const {
    return {memory_.gates + row(i, r) * extents_.gates, extents_.gates};
  }
  [[nodiscard]] bool is_linear_gru() const { return op_.linear_before_reset; }

  /// Loads the values to which the products are added.
  void load(std::size_t i, std::size_t r) const {
    const auto x = projected(i, r);
    const Row to = gates_.row(r);
    std::ranges::copy(x, to.begin());
    if (!is_linear_gru()) return;
    const Row n = to.last(width_);
    if (memory_.bias == nullptr) {
      std::ranges::fill(n, 0.0F);
    } else {
      std::copy_n(memory_.bias, width_, n.begin());
    }
  }

  void store(std::size_t i, std::size_t r) const {
    const Row y(memory_.output + row(i, r) * extents_.output, extents_.output);
    if (i >= length(r) && (!op_.carry || length(r) == 0)) {
      std::ranges::fill(y, 0.0F);
      return;
    }
    std::ranges::copy(h_.row(r), y.begin());
    if (op_.with_cell) {
      std::ranges::copy(c_.row(r), y.begin() + static_cast<std::ptrdiff_t>(width_));
    }
  }

  void activate(std::size_t function, Row values) const {
    if (op_.clip != 0) {
      for (float& value : values) value = ir::clipped(value, op_.clip);
    }
    apply_activation(op_.activations[function], values, values);
  }

  [[nodiscard]] Row gate(std::size_t g, std::size_t r) const {
    return gates_.row(r).subspan(g * width_, width_);
  }

  void multiply_and_step(std::size_t i) {
    const bool splits = layer_.products.size() > 1;
    const MatrixView<float> early(gates_.data_handle(), rows_, splits ? 2 * width_ : extents_.gates,
                                  extents_.gates);
    layer_.products[0].add(h_, early, scratch_);
    if (splits) {
      for (std::size_t r = 0; r < rows_; ++r) reset(r);
      const MatrixView<float> late(gates_.data_handle() + 2 * width_, rows_, width_,
                                   extents_.gates);
      layer_.products[1].add(spare_, late, scratch_);
    }
    for (std::size_t r = 0; r < rows_; ++r) {
      if (i < length(r)) step(i, r);
    }
  }

  void step(std::size_t i, std::size_t r) const {
    switch (op_.kind) {
      case ir::RecurrentKind::kRnn:
        activate(0, gates_.row(r));
        std::ranges::copy(gates_.row(r), h_.row(r).begin());
        return;
      case ir::RecurrentKind::kGru:
        return step_gru(i, r);
      case ir::RecurrentKind::kLstm:
        return step_lstm(r);
    }
  }

  /// Activates z and r, and scales the states by r for the next product.
  void reset(std::size_t r) const {
    activate(0, gates_.row(r).first(2 * width_));
    const Row reset = gate(ir::kGruReset, r);
    for (std::size_t j = 0; j < width_; ++j) spare_(r, j) = reset[j] * h_(r, j);
  }

  void step_gru(std::size_t i, std::size_t r) const {
    const Row n = gate(ir::kGruNew, r);
    if (is_linear_gru()) {
      activate(0, gates_.row(r).first(2 * width_));
      const auto x = projected(i, r).last(width_);
      const Row reset = gate(ir::kGruReset, r);
      for (std::size_t j = 0; j < width_; ++j) n[j] = x[j] + reset[j] * n[j];
    }
    activate(1, n);
    const Row z = gate(ir::kGruUpdate, r);
    const Row h = h_.row(r);
    for (std::size_t j = 0; j < width_; ++j) h[j] = ir::gru_state(z[j], n[j], h[j]);
  }

  void add_peephole(std::size_t which, std::span<const float> cell, Row to) const {
    if (memory_.peepholes == nullptr) return;
    const float* weights = memory_.peepholes + which * width_;
    for (std::size_t j = 0; j < width_; ++j) to[j] += weights[j] * cell[j];
  }

  void step_lstm(std::size_t r) const {
    const Row input = gate(ir::kLstmInput, r);
    const Row output = gate(ir::kLstmOutput, r);
    const Row forget = gate(ir::kLstmForget, r);
    const Row candidate = gate(ir::kLstmNew, r);
    const Row c = c_.row(r);
    const bool peeps = memory_.peepholes != nullptr;
    add_peephole(ir::kLstmInput, c, input);
    add_peephole(ir::kLstmForget, c, forget);
    if (peeps) {
      activate(0, input);
      activate(0, forget);
    } else {
      activate(0, gates_.row(r).first(3 * width_));  // all gates together
    }
    activate(1, candidate);
    if (op_.input_forget) {
      for (std::size_t j = 0; j < width_; ++j) forget[j] = 1 - input[j];
    }
    for (std::size_t j = 0; j < width_; ++j) {
      c[j] = ir::lstm_cell(op_, forget[j], c[j], input[j], candidate[j]);
    }
    if (peeps) {
      add_peephole(ir::kLstmOutput, c, output);
      activate(0, output);
    }
    const Row shown = spare_.row(r);
    apply_activation(op_.activations[2], c, shown);
    const Row h = h_.row(r);
    for (std::size_t j = 0; j < width_; ++j) h[j] = output[j] * shown[j];
  }

  const RecurrentSteps& layer_;
  const ir::Recurrent& op_;
  const RecurrentBuffers& memory_;
  const ir::RecurrentExtents& extents_;
  std::size_t first_;
  std::size_t rows_;
  std::size_t width_;
  MatrixView<float> gates_;
  MatrixView<float> h_;
  MatrixView<float> c_;
  MatrixView<float> spare_;
  std::byte* scratch_ = nullptr;
};

}  // namespace

std::size_t RecurrentSteps::share_scratch_bytes() const {
  const std::size_t rows = (extents.batch + shares - 1) / shares;
  std::size_t product = 0;
  for (const StateProduct& each : products) product = std::max(product, each.scratch_bytes(rows));
  return AlignedBuffer::rounded_up(rows * extents.gates * sizeof(float)) +
         3 * AlignedBuffer::rounded_up(rows * extents.hidden * sizeof(float)) + product;
}

void RecurrentSteps::run(const RecurrentBuffers& memory, std::size_t share,
                         std::byte* scratch) const noexcept {
  Share(*this, memory, share, scratch).run();
}

}  // namespace halftone::runtime
