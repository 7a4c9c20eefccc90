// SPDX-License-Identifier: Apache-2.0
// Runs networks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "halftone/export.hpp"
#include "halftone/model.hpp"
#include "halftone/options.hpp"
#include "halftone/tensor.hpp"
#include "halftone/types/defaults.hpp"

namespace halftone {
HALFTONE_VERSIONED namespace v0 {
  /// How layers are computed.
  struct Execution {
    /// Layers of 8-bit arithmetic compute in float32 instead, without rounding their inputs.
    bool float_activations = false;
    /// Sums of float layers in one order, so that all processors give the same bits; else the
    /// fastest.
    bool fixed_order = false;
    /// A graphics card as devices() names it, such as "opencl:0", which runs the steps that it
    /// has kernels for, with the same bits. ErrorKind::kDevice if it is missing or fails.
    std::string device = "cpu";
  };

  /// For plans and run().
  struct PlanOptions {
    std::size_t batch = 0;              ///< samples per run; 0: 1, or that of the network
    Resources resources{.threads = 1};  ///< of each run
    Execution execution{};
  };

  /// A part of a run.
  struct Step {
    std::string name;
    std::string op;
    std::string kernel;      ///< what computes it: "bits", "onednn", ...
    std::string arithmetic;  ///< "bits", "integers", "float"; empty for steps without weights
    std::string reason;      ///< why not faster; may be empty
  };

  /// How a network without open extents is computed for one batch. Copies share it; any number of
  /// threads may use it.
  class HALFTONE_CPP_API Plan {
   public:
    /// @throws Error kUsage if the network is fixed to another batch, or an option is out of range;
    ///         kUnsupported if there is no way to compute an operator; kMemory beyond the limit
    explicit Plan(const Model& model, const PlanOptions& options = {});

    [[nodiscard]] std::vector<Port> inputs() const;   ///< without open extents
    [[nodiscard]] std::vector<Port> outputs() const;  ///< codes are decoded to float32
    [[nodiscard]] std::vector<Step> steps() const;    ///< in order of execution

   private:
    friend class Session;
    struct State;
    std::shared_ptr<const State> state_;  // shared by copies and sessions
  };

  /// The memory of one run at a time. Each thread needs its own; they may share a plan.
  class HALFTONE_CPP_API Session {
   public:
    /// @throws Error kMemory if there is not enough
    explicit Session(const Plan& plan);
    /// As Session(Plan(model, options)). A model with open extents is planned when it runs.
    explicit Session(const Model& model, const PlanOptions& options = {});
    ~Session();
    Session(Session&& other) noexcept;             ///< `other` may only be destroyed or assigned
    Session& operator=(Session&& other) noexcept;  ///< likewise

    /// Runs once. What the network remembers, which is no input, goes on from run to run. Inputs of
    /// another size than before, where the network leaves it open, are planned for: once for each
    /// size, in a cache of 512 MiB beside the size in use.
    /// @param inputs  one for each input, of its type and a shape that the network takes
    /// @return        one for each output
    /// @throws Error kShape if an input does not fit
    [[nodiscard]] std::vector<Tensor> run(std::span<const Tensor> inputs);
    /// The same for a network with one input.
    [[nodiscard]] std::vector<Tensor> run(const Tensor& input) { return run(std::span(&input, 1)); }

    /// Plans for inputs of these shapes, for run() on memory. A size seen before is kept.
    /// @throws Error as Plan(); kShape if the network does not take them
    void resize(std::span<const Extents> inputs);

    /// Runs on the caller's memory, row-major, without a copy where it is aligned to its elements.
    /// A run on the addresses of the last one starts sooner.
    /// @param inputs   one for each input, of its size
    /// @param outputs  one for each output, of its size; none overlaps another or an input
    /// @throws Error kShape if a number or a size differs; kUsage if memory overlaps
    void run(std::span<const std::span<const std::byte>> inputs,
             std::span<const std::span<std::byte>> outputs);

    /// Makes the session forget: the next run begins as the first one did.
    void reset();

   private:
    struct State;
    std::unique_ptr<State> state_;
  };

  /// Runs a network once, with the batch of the inputs.
  /// @param inputs  one for each input, of its type; their first extent is the batch
  /// @param options  its batch has no effect
  /// @return        one for each output
  /// @throws Error as Plan() and Session::run()
  HALFTONE_CPP_API std::vector<Tensor> run(const Model& model, std::span<const Tensor> inputs,
                                           const PlanOptions& options = {});

  /// For measure().
  struct MeasureOptions {
    std::optional<std::size_t> batch{};  ///< samples per run; nullopt: 1, or that of the network
    double seconds = kMeasureSeconds;    ///< measure at least this long
    Resources resources{};
    Execution execution{};
    Progress progress{};  ///< may be empty
    /// Hardware whose estimate is wanted beside what was measured, as estimate() takes it; empty:
    /// none.
    std::string accelerator{};
  };

  /// Latencies in microseconds.
  struct Measurement {
    std::size_t batch = 0;
    std::size_t runs = 0;
    double median_us = 0;
    double p10_us = 0;  ///< 10 % of the runs took at most this long
    double p99_us = 0;
    std::vector<Step> steps;
    std::vector<double> step_us;              ///< the median of each step, from separate runs
    std::optional<double> predicted_us{};     ///< of a run on the hardware that was given
    std::vector<double> predicted_step_us{};  ///< of each step; empty: no hardware was given
  };

  /// Measures how long a network takes, on pseudo-random inputs.
  /// @throws Error as Plan(); kUsage if seconds is negative or not finite; as estimate()
  HALFTONE_CPP_API Measurement measure(const Model& model, const MeasureOptions& options = {});

}  // namespace v0
}  // namespace halftone
