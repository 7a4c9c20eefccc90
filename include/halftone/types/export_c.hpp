// SPDX-License-Identifier: Apache-2.0
// A network as C: how it is written, and what it takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "halftone/export.hpp"

namespace halftone {
HALFTONE_VERSIONED namespace v0 {
  /// For export_c() and export_wasm().
  struct ExportCOptions {
    std::string name = "net";     ///< of the files, functions and types; a C identifier
    std::uint64_t ram_bytes = 0;  ///< limit of the arena; 0: none
    std::uint64_t vectors = 3;    ///< runs that the program of the test repeats, 1 to 100
    /// Kernels are those with the fewest instructions there; the program runs on any processor.
    /// Of export_c() alone: "cortex-m0", -m3, -m4, -m7, -m33, -m55, "rv32" or "rv32-zbb".
    std::string core = "cortex-m4";
    /// Inputs of float32 that the network encodes at once are its codes of 8 bits. Of export_c()
    /// alone.
    bool input_codes = false;
    /// Inputs and outputs stay in the memory of the caller, who passes pointers to each run. Of
    /// export_c() alone.
    bool pointers = false;
  };

  /// A function of the C program: a node of the network, with conversions around it.
  struct CLayer {
    std::string name;
    std::string op;                ///< "FullyConnected", "Conv2D", ...
    std::string kernel;            ///< the C function that it calls; empty: none
    std::size_t weight_bytes = 0;  ///< of flash: weights, bias and multipliers
    std::size_t table_bytes = 0;   ///< of flash: tables of functions
    std::size_t ram_bytes = 0;     ///< of values and scratch that live while it runs
    /// Estimate for a run on CExport::core: instructions, no cycles.
    std::uint64_t instructions = 0;
  };

  /// An input or output of the C program, for one sample.
  struct CPort {
    std::string name;
    std::string type;                 ///< of its elements: "float32", "int8", "uint8", ...
    std::vector<std::int64_t> shape;  ///< channels last
    double scale = 0;                 ///< value = scale (code - zero_point) + offset; 0: no codes
    std::int32_t zero_point = 0;
    double offset = 0;          ///< of an input of codes
    std::vector<float> levels;  ///< that the network rounds an input of float32 to; empty: none
  };

  /// What export_c() has written.
  struct CExport {
    std::vector<std::string> files;  ///< names in the folder
    std::vector<CLayer> layers;      ///< in order of execution
    std::vector<CPort> inputs;
    std::vector<CPort> outputs;
    std::string core;                ///< that kernels were chosen for; "wasm" of export_wasm()
    std::size_t module_bytes = 0;    ///< of the module of export_wasm(); 0: C
    std::size_t weight_bytes = 0;    ///< sum over the layers
    std::size_t table_bytes = 0;     ///< likewise
    std::size_t code_bytes = 0;      ///< an estimate for Cortex-M with -Os
    std::size_t arena_bytes = 0;     ///< of RAM: values and scratch; a stack comes on top
    std::uint64_t instructions = 0;  ///< sum over the layers; of "wasm" those of RV32 with Zbb

    /// Weights, tables and code.
    [[nodiscard]] std::size_t flash_bytes() const {
      return weight_bytes + table_bytes + code_bytes;
    }
  };

}  // namespace v0
}  // namespace halftone
