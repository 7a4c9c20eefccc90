// SPDX-License-Identifier: Apache-2.0
// For calibrators_test.py: reads counts of magnitudes, int64, from standard input and writes the
// Kullback-Leibler divergences of the candidate thresholds, float64, to standard output:
//
//     kl_divergences LEVELS
#include <cstdint>
#include <exception>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "halftone/compress/fit/range.h"

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    const std::string bytes{std::istreambuf_iterator<char>(std::cin), {}};
    std::vector<std::int64_t> bins(bytes.size() / sizeof(std::int64_t));
    bytes.copy(reinterpret_cast<char*>(bins.data()), bins.size() * sizeof(std::int64_t));
    const std::vector<double> divergences =
        halftone::compress::kl_divergences(bins, std::stoul(arguments.at(0)));
    std::cout.write(reinterpret_cast<const char*>(divergences.data()),
                    static_cast<std::streamsize>(divergences.size() * sizeof(double)));
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
