// SPDX-License-Identifier: Apache-2.0
// Writes every operator that TFLite files can hold as a file of its own, with inputs and outputs,
// for tests that run them in other runtimes.
//
// Usage: operator_files FOLDER
//
// For each case of halftone/ir/testing/operator_cases.h that can be written: FOLDER/NAME.tflite,
// NAME.in0.npy, ..., NAME.out.npy. Prints "NAME TOLERANCE" for each, and "NAME refused: REASON".
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <string>

#include "halftone/api/tensor_files.h"
#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/formats/circle/export.h"
#include "halftone/ir/testing.h"
#include "halftone/ir/testing/operator_cases.h"

namespace halftone {
namespace {

void write_case(const std::filesystem::path& folder, const ir::test::OperatorCase& test) {
  const ir::test::CaseGraph made = ir::test::graph_of(test, {.constants = true});
  SharedBytes file;
  try {
    file = formats::circle_file(made.graph, formats::CircleFlavor::kTflite);
  } catch (const Error& error) {
    std::cout << test.name << " refused: " << error.what() << "\n";
    return;
  }
  write_file(folder / (test.name + ".tflite"), file.bytes);
  for (std::size_t i = 0; i < made.inputs.size(); ++i) {
    write_tensor(folder / (test.name + ".in" + std::to_string(i) + ".npy"), made.inputs[i]);
  }
  const auto outputs = ir::test::run_reference(made.graph, made.inputs);
  write_tensor(folder / (test.name + ".out.npy"), outputs[0]);
  std::cout << test.name << " " << ir::test::tolerance_of(made) << "\n";
}

}  // namespace
}  // namespace halftone

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: operator_files FOLDER\n";
    return 2;
  }
  for (const auto& test : halftone::ir::test::operator_cases()) {
    halftone::write_case(argv[1], test);
  }
  return 0;
}
