// SPDX-License-Identifier: Apache-2.0
// Multiplies random matrices on the verilated array and prints its clock cycles.
// Usage: simulate os|ws M N K
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "Varray.h"
#include "driver.h"

#ifndef BITS
#define BITS 2
#define LANES 1
#endif

int main(int argc, char** argv) {
  if (argc != 5 || (std::strcmp(argv[1], "os") != 0 && std::strcmp(argv[1], "ws") != 0)) {
    std::fprintf(stderr, "usage: %s os|ws M N K\n", argv[0]);
    return 2;
  }
  const auto size = [&](int i) { return static_cast<std::size_t>(std::atol(argv[i])); };
  if (size(2) == 0 || size(3) == 0 || size(4) == 0) {
    std::fprintf(stderr, "M, N and K must be positive\n");
    return 2;
  }
  const auto product = accelerator::random_product(size(2), size(3), size(4), BITS);
  accelerator::Driver<Varray> driver(BITS, LANES);
  const accelerator::Run run = std::strcmp(argv[1], "os") == 0 ? driver.output_stationary(product)
                                                               : driver.weight_stationary(product);
  if (run.c != accelerator::plain_product(product)) {
    std::fprintf(stderr, "the array computed a wrong product\n");
    return 1;
  }
  std::printf("%llu\n", static_cast<unsigned long long>(run.cycles));
  return 0;
}
