// SPDX-License-Identifier: Apache-2.0
// What networks take on described hardware.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "halftone/export.hpp"
#include "halftone/types/defaults.hpp"
#include "halftone/types/recipe.hpp"
#include "halftone/types/resources.hpp"

namespace halftone {
HALFTONE_VERSIONED namespace v0 {
  /// Bytes that cross the boundary below a memory, and the time they take.
  struct LevelTraffic {
    std::size_t memory = 0;  ///< index in HardwareEstimate::memories
    double bytes_read = 0;
    double bytes_written = 0;
    double seconds = 0;
  };

  /// `count` matrix products y[rows, cols] = x[rows, inner] w[inner, cols].
  struct ProductShape {
    std::size_t count = 0;
    std::size_t rows = 0;
    std::size_t inner = 0;
    std::size_t cols = 0;
    std::string inputs{};   ///< the format of x: "float16", "int8"
    std::string weights{};  ///< and of w
  };

  /// An operation of a network on described hardware.
  struct OperationEstimate {
    std::string name;
    std::string op;
    std::string unit{};   ///< that computes it; "-" for what only moves bytes
    std::string bound{};  ///< "compute", the name of a memory, "link" or "overhead"
    double seconds = 0;
    double compute_s = 0;
    double overhead_s = 0;
    double link_s = 0;
    double energy_j = 0;
    double products = 0;
    double utilization = 0;                ///< products over those at the peak rate in `seconds`
    double intensity = 0;                  ///< products per byte that crosses the outermost memory
    std::size_t tiles = 1;                 ///< pieces that are loaded from the outermost memory
    std::vector<LevelTraffic> traffic{};   ///< by memory
    std::optional<ProductShape> matrix{};  ///< nothing: an operation without products
  };

  /// A bar of a timeline.
  struct TimelineBar {
    std::string lane;  ///< a memory, a unit and its number, the link
    std::string name;
    double start_s = 0;
    double end_s = 0;
  };

  /// Bytes that have to be kept in the outermost memory of each chip.
  struct Footprint {
    double weights = 0;
    double activations = 0;  ///< the largest inputs and outputs of one operation
    double states = 0;
    double training = 0;  ///< gradients and states of the optimizer
    /// The sum of all.
    [[nodiscard]] double total() const { return weights + activations + states + training; }
  };

  /// What estimate() returns: a network on described hardware.
  struct HardwareEstimate {
    std::string workload;
    std::string accelerator;
    std::string comparison;  ///< the error measured against real hardware; empty: not measured
    std::string method{};    ///< this and the next two: as in EstimateOptions
    std::size_t devices = 1;
    std::string split{};
    std::vector<std::string> memories{};  ///< of the hardware, outermost first
    std::size_t batch = 1;
    double seconds = 0;     ///< of all operations, one after another
    double interval_s = 0;  ///< between batches: `seconds`, or the slowest stage of a pipeline
    double host_s = 0;  ///< to bring the first inputs and fetch the last outputs, beside `seconds`
    double energy_j = 0;
    double idle_j = 0;    ///< part of `energy_j`: of the power that flows all the time
    double active_j = 0;  ///< part of `energy_j`: of leakage and clocks while chips work
    /// The mean power.
    [[nodiscard]] double watts() const { return seconds > 0 ? energy_j / seconds : 0; }
    Footprint footprint{};
    std::vector<TimelineBar> timeline{};
    std::vector<OperationEstimate> operations{};  ///< in order of execution
  };

  /// For estimate().
  struct EstimateOptions {
    std::optional<std::size_t> batch{};  ///< samples; nullopt: 1, or that of the network
    /// Codes for the layers of a float network, without data: their bits count, not their values.
    std::optional<Recipe> recipe{};
    bool training = false;         ///< a training step: also the way back and the update
    std::string method = "tiles";  ///< closed forms; "roofline": a lower bound; "events": simulated
    std::size_t devices = 1;       ///< chips that share the work
    std::string split = "data";    ///< what they share: "data", "tensor" or "pipeline"
  };

  /// For language_estimate(). Numbers of 16 bits and more are floats.
  struct LanguageEstimateOptions {
    /// Of a model by its shape; nullopt: 16. A file has its own.
    std::optional<int> weight_bits{};
    std::optional<std::size_t> bits{};  ///< of a file of two precisions, as in LanguageModelOptions
    int activation_bits = 16;
    int cache_bits = 16;           ///< of keys and values
    std::size_t group_size = 0;    ///< weights that share a scale of 16 bits; 0: none is counted
    std::size_t batch = 1;         ///< sequences
    std::size_t prompt = 512;      ///< tokens of the prompt
    std::size_t context = 1024;    ///< tokens in the cache when one is generated
    std::string method = "tiles";  ///< this and the rest: as in EstimateOptions
    std::size_t devices = 1;
    std::string split = "data";
  };

  /// The speed for a number of sequences.
  struct BatchPoint {
    std::size_t batch = 1;
    double seconds = 0;  ///< of one step, a token for each sequence
    /// Of all sequences together.
    [[nodiscard]] double tokens_per_s() const { return static_cast<double>(batch) / seconds; }
  };

  /// What language_estimate() returns.
  struct LanguageEstimate {
    double parameters = 0;           ///< matrices and the embedding table, without norms and biases
    double active_parameters = 0;    ///< those that a token is multiplied with
    std::string weights;             ///< "int4"; "4.85 bits in the file"
    std::string activations{};       ///< likewise
    std::string cache{};             ///< of keys and values, likewise
    std::size_t prompt_tokens = 0;   ///< of each sequence
    std::size_t context_tokens = 0;  ///< in the cache when a token is generated
    std::size_t devices_needed = 1;  ///< whose memory holds weights, cache and activations
    HardwareEstimate prompt{};
    HardwareEstimate token{};
    std::vector<BatchPoint> batches{};  ///< powers of two, as far as the memory goes
  };

  /// Bits of a layer.
  struct BitPair {
    int weights = 0;
    int inputs = 0;
    auto operator<=>(const BitPair&) const = default;
  };

  /// Limits of a design, inclusive.
  struct HardwareBudget {
    double accuracy_drop = 0.01;
    std::optional<double> area_mm2{};
    std::optional<double> seconds{};
    std::optional<double> energy_j{};
  };

  /// What explore() looks for, and how.
  struct ExploreSearch {
    std::string objective = "time";  ///< what is least: "time", "energy" or "edp", their product
    HardwareBudget budget{};
    std::string method = "tiles";        ///< as in EstimateOptions
    std::optional<std::size_t> batch{};  ///< samples of an estimated run, as in EstimateOptions
    std::size_t tries = 6;               ///< designs that are quantized to verify them, at least 1
    /// Keeps what was measured, so that the same call continues after an interruption; empty: none.
    std::filesystem::path state{};
    std::uint64_t seed = 0;
    std::optional<std::uint64_t> sample_memory_bytes{};  ///< as for quantize()
  };

  /// Hardware and bits for each layer.
  struct HardwareDesign {
    std::size_t hardware = 0;     ///< index of the combination of the parameters of the space
    std::vector<BitPair> bits{};  ///< of each layer
    double seconds = 0;
    double energy_j = 0;
    double area_mm2 = 0;
    double noise = 0;  ///< predicted: the sum over layers
    double drop = 0;   ///< of accuracy, predicted from the noise
  };

  /// A design that was quantized, and what it really loses.
  struct VerifiedDesign {
    HardwareDesign design{};
    double measured_noise = 0;
    double measured_drop = 0;        ///< of accuracy
    double drop_standard_error = 0;  ///< the budget limits the drop with it
    /// What has to be within the budget.
    [[nodiscard]] double drop_bound() const { return measured_drop + drop_standard_error; }
  };

  /// For crossbar().
  struct CrossbarOptions {
    std::size_t seeds = 10;           ///< devices to program, with seeds from `seed` on, at least 1
    std::optional<double> seconds{};  ///< from programming to reading; nullopt: as described
    std::size_t batch = kRunBatch;    ///< samples per run
    std::uint64_t seed = 0;
    Resources resources{};
    Progress progress{};  ///< may be empty
  };

  /// A layer on memristive crossbars, or why it is not on them.
  struct CrossbarLayer {
    std::string name;
    std::string op;          ///< "FullyConnected", "Conv", ...
    std::string digital;     ///< why the layer is not on arrays; empty: it is, and the rest is set
    std::size_t inputs = 0;  ///< of an output
    std::size_t outputs = 0;
    int weight_bits = 0;
    int input_bits = 0;
    std::size_t arrays = 0;
    std::size_t cells = 0;   ///< occupied
    double conversions = 0;  ///< per sample
    double joules = 0;       ///< per sample: of all cells in each read, and of conversions
    double seconds = 0;      ///< per sample: of the conversions that follow one another
  };

  /// A network whose layers of bits are on crossbars, over all seeds.
  struct CrossbarResult {
    std::string metric;  ///< "accuracy" with labels, else "agreement"
    std::size_t samples = 0;
    std::optional<double> digital;  ///< accuracy of the digital network, if there are labels
    std::vector<double> values;     ///< by seed
    double mean = 0;                ///< of values
    double deviation = 0;           ///< standard deviation of values, of a sample; 0 for one seed
    double agreement = 0;           ///< mean fraction of samples with the class of the digital one
    bool is_equal = false;          ///< whether all outputs have the bits of the digital network
    std::vector<CrossbarLayer> layers;
  };

}  // namespace v0
}  // namespace halftone
