// SPDX-License-Identifier: Apache-2.0
// Runs networks on tensors and on NumPy files.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "halftone/api/network.h"
#include "halftone/runtime/execute/session.h"

namespace halftone {

struct RunOptions {
  int threads = 1;  ///< of a run; with one, results do not depend on their number
  runtime::ExecutionOptions execution{};
};

/// How a network is computed. Several sessions may run a plan at the same time.
/// @param batch  samples per run; without effect if the network is fixed to a number of samples
/// @throws Error as prepared() and runtime::make_plan()
std::shared_ptr<const runtime::Plan> make_plan(Network network, std::size_t batch,
                                               const RunOptions& options = {});

/// A network that is ready to run any number of times.
/// @param batch  samples per run; without effect if the network is fixed to a number of samples
/// @throws Error as make_plan() and runtime::Session
runtime::Session make_session(Network network, std::size_t batch, const RunOptions& options = {});

/// Runs a network once.
/// @param inputs  one per input of the network, of its type; their first extent is the batch
/// @return        one per output; codes are decoded to float32
/// @throws Error  kUsage if the number of inputs differs; kShape if an input does not fit; else as
///                make_session(); messages start with the network's name
std::vector<ir::Tensor> run(Network network, std::span<const ir::Tensor> inputs,
                            const RunOptions& options = {});

/// An input of a network that takes what an output gave in the run before.
struct TiedNames {
  std::string input;
  std::string output;
};

/// Files for one run.
struct RunJob {
  std::filesystem::path network;
  std::vector<std::filesystem::path> inputs;  ///< a .npy file for each input, in order
  std::filesystem::path folder;               ///< for out0.npy, out1.npy, ...; created if missing
  RunOptions options{};
  formats::ImportOptions import{};  ///< shapes and values for inputs
  /// If set, the inputs are streams, and these their states beside those that run_stream() finds.
  std::optional<std::vector<TiedNames>> stream{};
};

struct OutputFile {
  std::string file;
  ir::ValueType type;
};

/// Runs a network once on NumPy files, converted to the types of its inputs.
/// @throws Error as load(), read_tensor(), run() and write_tensor(); kIo if the folder cannot be
///         created
std::vector<OutputFile> run_files(const RunJob& job);

}  // namespace halftone
