// SPDX-License-Identifier: Apache-2.0
// Multiplies matrices on a verilated `array` (array.sv) and counts clock cycles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace accelerator {

/// A of m x k times B of k x n, row by row. With one or two bits the elements are sums of +-1 and
/// +-2: -1, 1, or -3, -1, 1, 3. With eight they are int8.
struct Product {
  std::size_t m = 0, n = 0, k = 0;
  std::vector<int> a, b;
};

inline Product random_product(std::size_t m, std::size_t n, std::size_t k, int bits) {
  Product product{m, n, k, std::vector<int>(m * k), std::vector<int>(k * n)};
  std::uint32_t state = 1;
  const auto next = [&] {
    state = state * 1664525U + 1013904223U;
    const int code = static_cast<int>(state >> (32 - bits));
    return bits == 8 ? code - 128 : 2 * code - (1 << bits) + 1;
  };
  for (int& element : product.a) element = next();
  for (int& element : product.b) element = next();
  return product;
}

inline std::vector<int> plain_product(const Product& product) {
  std::vector<int> c(product.m * product.n, 0);
  for (std::size_t x = 0; x < product.m; ++x) {
    for (std::size_t t = 0; t < product.k; ++t) {
      for (std::size_t j = 0; j < product.n; ++j) {
        c[x * product.n + j] += product.a[x * product.k + t] * product.b[t * product.n + j];
      }
    }
  }
  return c;
}

struct Run {
  std::vector<int> c;        ///< m x n
  std::uint64_t cycles = 0;  ///< clock edges from the first word, or weight, to the last sum
};

/// @tparam Array  the class that verilator makes
template <typename Array>
class Driver {
 public:
  static constexpr std::size_t kRows = std::extent_v<std::remove_reference_t<decltype(Array::a)>>;
  static constexpr std::size_t kCols = std::extent_v<std::remove_reference_t<decltype(Array::b)>>;

  /// @param bits, lanes  the parameters BITS and LANES of the array
  Driver(int bits, std::size_t lanes) : bits_(bits), lanes_(lanes) {}

  /// Words of `lanes` elements that k elements need.
  [[nodiscard]] std::size_t num_words(std::size_t k) const { return (k + lanes_ - 1) / lanes_; }

  /// For each tile of C, words of A enter from the left and words of B from the top.
  Run output_stationary(const Product& product) {
    Run run = begin(product, false);
    for (std::size_t x = 0; x < product.m; x += kRows) {
      for (std::size_t j = 0; j < product.n; j += kCols) {
        multiply_tile(product, x, j, run.cycles);
        for (std::size_t r = 0; r < kRows && x + r < product.m; ++r) {
          for (std::size_t c = 0; c < kCols && j + c < product.n; ++c) {
            run.c[(x + r) * product.n + j + c] = static_cast<int>(array_.sums[r][c]);
          }
        }
      }
    }
    return run;
  }

  /// For each tile of B, its words enter from the top and stay; then rows of A enter from the left,
  /// and the sums so far from the top.
  Run weight_stationary(const Product& product) {
    Run run = begin(product, true);
    for (std::size_t t = 0; t < num_words(product.k); t += kRows) {
      for (std::size_t j = 0; j < product.n; j += kCols) {
        load_tile(product, t, j, run.cycles);
        stream_rows(product, t, j, run);
      }
    }
    return run;
  }

 private:
  Run begin(const Product& product, bool weight_stationary) {
    array_.weight_stationary = weight_stationary;
    array_.load = 0;
    for (std::size_t i = 0; i < kRows; ++i) send_row(i, 0, 0, 0);
    for (std::size_t j = 0; j < kCols; ++j) array_.sum_in[j] = 0;
    // What an earlier run left in the array moves out.
    for (std::size_t i = 0; i < kRows + kCols; ++i) tick();
    return {std::vector<int>(product.m * product.n, 0), 0};
  }

  void tick() {
    array_.clk = 0;
    array_.eval();
    array_.clk = 1;
    array_.eval();
  }

  /// What enters row i in this cycle.
  void send_row(std::size_t i, std::uint32_t word, std::uint32_t mask, unsigned flags) {
    array_.a[i] = static_cast<std::remove_reference_t<decltype(array_.a[i])>>(word);
    array_.mask[i] = static_cast<std::remove_reference_t<decltype(array_.mask[i])>>(mask);
    array_.first[i] = flags & kFirst;
    array_.last[i] = (flags & kLast) != 0;
  }
  void send_column(std::size_t j, std::uint32_t word) {
    array_.b[j] = static_cast<std::remove_reference_t<decltype(array_.b[j])>>(word);
  }

  /// Word `t` of the elements values[0], values[step], ...; 0 beyond the k-th.
  [[nodiscard]] std::uint32_t word_of(const int* values, std::size_t step, std::size_t k,
                                      std::size_t t) const {
    std::uint32_t word = 0;
    for (std::size_t lane = 0; lane < lanes_ && t * lanes_ + lane < k; ++lane) {
      const int value = values[(t * lanes_ + lane) * step];
      if (bits_ == 8) return static_cast<std::uint32_t>(value) & 0xFFU;
      const auto code = static_cast<std::uint32_t>((value + (1 << bits_) - 1) / 2);
      for (int bit = 0; bit < bits_; ++bit) {
        word |= (code >> bit & 1U) << (static_cast<std::size_t>(bit) * lanes_ + lane);
      }
    }
    return word;
  }
  [[nodiscard]] std::uint32_t mask_of(std::size_t k, std::size_t t) const {
    std::uint32_t mask = 0;
    for (std::size_t lane = 0; lane < lanes_ && t * lanes_ + lane < k; ++lane) mask |= 1U << lane;
    return mask;
  }

  /// Row r of the array gets row x + r of A, delayed by r cycles; column c column j + c of B.
  void multiply_tile(const Product& product, std::size_t x, std::size_t j, std::uint64_t& cycles) {
    const std::size_t words = num_words(product.k);
    for (std::size_t cycle = 0; cycle == 0 || array_.last_out == 0; ++cycle, ++cycles) {
      for (std::size_t r = 0; r < kRows; ++r) {
        const std::size_t t = cycle - r;  // wraps to beyond the end before the row begins
        const unsigned flags = (t == 0 ? kFirst : 0U) | (t == words - 1 ? kLast : 0U);
        if (t < words && x + r < product.m) {
          send_row(r, word_of(&product.a[(x + r) * product.k], 1, product.k, t),
                   mask_of(product.k, t), flags);
        } else {
          send_row(r, 0, 0, flags);
        }
      }
      for (std::size_t c = 0; c < kCols; ++c) {
        const std::size_t t = cycle - c;
        const bool has_word = t < words && j + c < product.n;
        send_column(c, has_word ? word_of(&product.b[j + c], product.n, product.k, t) : 0);
      }
      tick();
    }
  }

  /// Words t + kRows - 1 to t of columns j, j + 1, ... move down, one row a cycle.
  void load_tile(const Product& product, std::size_t t, std::size_t j, std::uint64_t& cycles) {
    array_.load = 1;
    for (std::size_t r = 0; r < kRows; ++r) send_row(r, 0, 0, 0);
    for (std::size_t r = kRows; r-- > 0; ++cycles) {
      for (std::size_t c = 0; c < kCols; ++c) {
        const bool has_word = j + c < product.n;
        send_column(c, has_word ? word_of(&product.b[j + c], product.n, product.k, t + r) : 0);
      }
      tick();
    }
    array_.load = 0;
  }

  /// Row r of the array gets word t + r of rows of A, delayed by r cycles. The sum of row x and
  /// column c enters c cycles after x and leaves kRows - 1 cycles later.
  void stream_rows(const Product& product, std::size_t t, std::size_t j, Run& run) {
    for (std::size_t cycle = 0; cycle == 0 || array_.last_out == 0; ++cycle, ++run.cycles) {
      for (std::size_t r = 0; r < kRows; ++r) {
        const std::size_t x = cycle - r;
        const unsigned flags = x == product.m - 1 ? kLast : 0U;
        if (x < product.m) {
          send_row(r, word_of(&product.a[x * product.k], 1, product.k, t + r),
                   mask_of(product.k, t + r), flags);
        } else {
          send_row(r, 0, 0, flags);
        }
      }
      for (std::size_t c = 0; c < kCols; ++c) {
        const std::size_t x = cycle - c;
        const bool has_sum = x < product.m && j + c < product.n;
        array_.sum_in[c] = has_sum ? static_cast<std::uint32_t>(run.c[x * product.n + j + c]) : 0;
      }
      tick();
      for (std::size_t c = 0; c < kCols && j + c < product.n; ++c) {
        const std::size_t x = cycle - c - (kRows - 1);
        if (x < product.m) {
          run.c[x * product.n + j + c] = static_cast<int>(array_.sums[kRows - 1][c]);
        }
      }
    }
  }

  static constexpr unsigned kFirst = 1;
  static constexpr unsigned kLast = 2;

  int bits_;
  std::size_t lanes_;
  Array array_;
};

}  // namespace accelerator
