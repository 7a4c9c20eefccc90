// SPDX-License-Identifier: Apache-2.0
// For number_systems_test.py: what the number systems make of numbers. Reads float32 from standard
// input and writes binary numbers to standard output:
//
//     number_codes levels SYSTEM BITS        the levels by code, float32
//     number_codes encode SYSTEM BITS        the codes of the numbers, uint16
//     number_codes overflow FORMAT           the same for a format "eXmY" that does not saturate
//     number_codes blocks SYSTEM BITS COLS   the scales, float32, then the codes, uint16, of rows
//                                            of COLS numbers in the system's own blocks
#include <cstdint>
#include <exception>
#include <iostream>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "halftone/numerics/minifloat.h"
#include "halftone/numerics/systems.h"

namespace {

using halftone::MatrixView;
using halftone::numerics::BitPlanes;
using halftone::numerics::Code;
using halftone::numerics::MatrixEncoding;
using halftone::numerics::NumberSystem;

std::vector<float> read_floats() {
  const std::string bytes{std::istreambuf_iterator<char>(std::cin), {}};
  std::vector<float> numbers(bytes.size() / sizeof(float));
  bytes.copy(reinterpret_cast<char*>(numbers.data()), numbers.size() * sizeof(float));
  return numbers;
}

template <typename Number>
void write(std::span<const Number> numbers) {
  std::cout.write(reinterpret_cast<const char*>(numbers.data()),
                  static_cast<std::streamsize>(numbers.size_bytes()));
}

void write_codes(const NumberSystem& system, int bits) {
  const auto codebook = halftone::numerics::codebook_of(system, bits);
  std::vector<Code> codes;
  for (const float x : read_floats()) codes.push_back(codebook->encode(x));
  write<Code>(codes);
}

void write_overflow(const std::string& name) {
  const auto format = halftone::numerics::minifloat_from(name).value();
  std::vector<Code> codes;
  for (const float x : read_floats()) {
    codes.push_back(static_cast<Code>(
        halftone::numerics::encode(format, x, halftone::numerics::Overflow::kSpecial)));
  }
  write<Code>(codes);
}

void write_blocks(const NumberSystem& system, int bits, std::size_t cols) {
  const std::vector<float> numbers = read_floats();
  const MatrixView<const float> values(numbers, numbers.size() / cols, cols);
  const MatrixEncoding encoding =
      halftone::numerics::encoding_by_rule(system, bits, system.blocks, values);
  const BitPlanes planes = halftone::numerics::encode(values, encoding);
  std::vector<float> scales(encoding.scales.size());
  for (std::size_t i = 0; i < scales.size(); ++i) scales[i] = encoding.scales[i];
  std::vector<Code> codes;
  for (std::size_t r = 0; r < values.rows(); ++r) {
    for (std::size_t c = 0; c < cols; ++c) codes.push_back(planes.code(r, c));
  }
  write<float>(scales);
  write<Code>(codes);
}

void run(const std::vector<std::string>& arguments) {
  const std::string& command = arguments.at(0);
  if (command == "overflow") return write_overflow(arguments.at(1));
  const NumberSystem& system = halftone::numerics::find_system(arguments.at(1));
  const int bits = std::stoi(arguments.at(2));
  if (command == "levels") return write(halftone::numerics::codebook_of(system, bits)->levels());
  if (command == "encode") return write_codes(system, bits);
  if (command == "blocks") return write_blocks(system, bits, std::stoul(arguments.at(3)));
  throw std::invalid_argument("unknown command " + command);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
