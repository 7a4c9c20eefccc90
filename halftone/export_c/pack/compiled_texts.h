// SPDX-License-Identifier: Apache-2.0
// The kernels of text/, compiled by a C compiler of this machine. Only tests include this.
#pragma once

#include <cstdint>
#include <string>

namespace halftone::export_c {

/// The parameters of ht_window, in the order of text/window.c.
struct Window {
  std::int32_t height, width, channels, out_height, out_width, outputs;
  std::int32_t kernel_height, kernel_width, stride_y, stride_x, dilation_y, dilation_x;
  std::int32_t pad_top, pad_left;
};

using LevelsFunction = void (*)(const std::int8_t* x, const std::uint32_t* w, std::uint32_t inputs,
                                std::uint32_t outputs, std::int32_t* sums);

/// The functions of the library that compiled_texts() makes; see the comments of text/.
struct CompiledTexts {
  void (*bits)(const std::uint32_t* x, std::uint32_t x_planes, const std::uint32_t* w,
               std::uint32_t w_planes, std::uint32_t words, std::uint32_t outputs,
               std::uint32_t* counts);
  void (*signs)(const std::uint32_t* x, std::uint32_t words, std::uint32_t total,
                const std::uint32_t* w, std::uint32_t columns, std::int32_t* sums);
  std::uint32_t (*digits)(const std::uint32_t* first, const std::uint32_t* second,
                          std::uint32_t words, const std::int8_t* multiples, std::uint32_t* digits);
  void (*planes)(const std::uint32_t* x, std::uint32_t words, std::uint32_t reach,
                 std::uint32_t total, const std::uint32_t* w, std::uint32_t columns,
                 std::int32_t* sums);
  void (*digits_2)(const std::uint32_t* x, std::uint32_t words, std::int32_t total,
                   std::int32_t shift, const std::uint32_t* w, std::uint32_t outputs,
                   std::int32_t factor, std::int32_t* sums);
  LevelsFunction levels_1, levels_1_1, levels_2, levels_4, level_table, bytes;
  void (*gather_bits)(const std::uint32_t* x, std::uint32_t planes, std::uint32_t plane_bits,
                      const Window* at, std::int32_t oy, std::int32_t ox, std::uint32_t first,
                      std::uint32_t count, std::uint32_t* to);
  void (*gather_bytes)(const std::int8_t* x, std::int8_t outside, const Window* at, std::int32_t oy,
                       std::int32_t ox, std::uint32_t first, std::uint32_t count, std::int8_t* to);
};

/// Compiles all files of text/ that multiply or gather as strict C99, where undefined behaviour
/// ends the program. The library stays open until the program ends.
/// @param compiler  a command
/// @return null if there is no such command
/// @throws Error kInternal if it finds fault with the texts
const CompiledTexts* compiled_texts(const std::string& compiler);

}  // namespace halftone::export_c
