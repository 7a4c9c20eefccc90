// SPDX-License-Identifier: Apache-2.0
// Samples for fitting, evaluating and training: from files, from memory, from a function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "halftone/export.hpp"
#include "halftone/tensor.hpp"
#include "halftone/types/data.hpp"  // IWYU pragma: export

namespace halftone {
HALFTONE_VERSIONED namespace v0 {
  /// The samples of one input, made by a function when they are needed.
  struct SampleFunction {
    std::string input{};  ///< the name of the network's input; empty: inputs are in order
    Extents shape;        ///< of one sample
    /// Writes samples [first, first + count), one after another, as elements of `type`, of which a
    /// sample has the product of `shape`. Equal arguments must give equal samples: work reads them
    /// more than once, in any order. It is called by one thread at a time, but not always the same.
    /// What it throws leaves the work.
    std::function<void(std::size_t first, std::size_t count, void* elements)> read;
    Type type = Type::kFloat32;
  };

  /// A data set. Copies share it. Three extents of a sample are those of an image if the first or
  /// the last is at most 4: then they are converted to the order of axes of the network.
  class HALFTONE_CPP_API Data {
   public:
    /// Opens files: a folder with the IDX files of MNIST, "x.npy", "x.npy,y.npy" with labels,
    /// "x.npz", "x.h5" or "x.bin" (CIFAR-10); a folder of .npy and .npz files, whose samples may
    /// have several sizes; or a .npy file for each input of the network.
    /// @throws Error kIo if a file is missing or unreadable; kFormat if it is malformed or empty;
    ///         kUnsupported for other kinds of files; kUsage if an option is out of range
    static Data open(const std::string& path, const DataOptions& options = {});
    /// The same, a file for each input.
    static Data open(const std::vector<std::string>& paths, const DataOptions& options = {});

    /// Samples in memory: a tensor [N, ...] for each input of the network, in order.
    /// @param labels  the classes, one for each sample; or none
    /// @throws Error kFormat if there are no samples, or tensors or labels have different numbers
    /// of
    ///         them; kUnsupported for bfloat16
    static Data from(std::vector<Tensor> inputs, std::vector<std::int64_t> labels = {},
                     const DataOptions& options = {});
    /// Samples of a function for each input of the network.
    /// @param num_samples  N, at least 1
    /// @throws Error as for tensors; kUsage if a function is empty
    static Data from(std::size_t num_samples, std::vector<SampleFunction> inputs,
                     std::vector<std::int64_t> labels = {}, const DataOptions& options = {});

    /// The samples of several data sets, one after another. They may have several sizes, if the
    /// network leaves extents open: work runs them size by size. Their inputs and types are the
    /// same, and all or none have labels. One of them may have functions.
    /// @param limit  only so many samples, from the front
    /// @throws Error kFormat if the data sets differ in more than sizes; kUsage if there are none,
    ///         several have functions, or the limit is 0
    static Data joined(const std::vector<Data>& pieces, std::optional<std::size_t> limit = {});

    [[nodiscard]] std::size_t size() const;  ///< the number of samples
    [[nodiscard]] bool has_labels() const;   ///< whether each sample has a class

   private:
    friend struct Internals;
    struct State;
    explicit Data(std::shared_ptr<const State> state);
    std::shared_ptr<const State> state_;  // shared by the copies
  };

}  // namespace v0
}  // namespace halftone
