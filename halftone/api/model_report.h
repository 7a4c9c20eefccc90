// SPDX-License-Identifier: Apache-2.0
// Everything that the page about a network shows: sizes, errors, kernels, times, values, samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "halftone/api/data_source.h"
#include "halftone/api/inspection.h"
#include "halftone/api/measure.h"
#include "halftone/api/network.h"
#include "halftone/compress/evaluate.h"
#include "halftone/compress/layer_errors.h"
#include "halftone/data/dataset.h"
#include "halftone/types/defaults.hpp"

namespace halftone {

/// A histogram of equal bins over [low, high].
struct ValueHistogram {
  double low = 0;
  double high = 0;
  std::vector<std::int64_t> counts;  ///< of each bin
  std::int64_t num_zeros = 0;        ///< values of exactly zero that `counts` omits
  std::vector<float> levels;         ///< what the values become, ascending; empty: not known here
  std::vector<float> thresholds;     ///< between neighbouring levels
  std::size_t num_levels = 0;        ///< also where they are too many for `levels`; 0: no codes
  /// Whether the values of each block are shifted and scaled so that its levels span [-1, 1]. The
  /// levels are then their means over the blocks.
  bool is_relative = false;
};

/// A layer of a network, and what was measured of it.
struct LayerFigures {
  LayerInfo info;
  std::string reference_name;                   ///< of the same layer in the reference; empty: none
  std::optional<compress::LayerError> error{};  ///< relative to the reference, on the data
  std::optional<double> weight_sqnr_db{};       ///< relative to the weights of the reference
  std::optional<double> loss{};                 ///< estimated, as LossCauses says
  std::optional<std::size_t> eight_bit_bytes{};  ///< of its weights in codes of 8 bits, by rule
  std::optional<ValueHistogram> weights{};       ///< of the reference if there is one
  bool weights_are_reference = false;            ///< whether they are those of the reference
  std::optional<ValueHistogram> inputs{};        ///< of the values that it reads, on the data
  std::optional<std::size_t> step{};             ///< of the plan: the one of the same name
};

/// A node of the simplified graph; the network's inputs are nodes too.
struct NodeFigures {
  std::string name;
  std::string op;                      ///< "Input" for an input of the network
  std::string type;                    ///< of its output
  std::vector<std::size_t> inputs;     ///< earlier nodes whose outputs it reads
  std::optional<std::size_t> layer{};  ///< index in NetworkFigures::layers
};

/// How often the samples of each class got each answer.
struct Confusion {
  std::size_t num_classes = 0;
  std::vector<std::int64_t> counts{};  ///< [label * num_classes + answer]
};

/// Which layers cause what a network loses: by LayerFigures::loss, the loss of the network with the
/// layer as the only one in codes, estimated to second order.
struct LossCauses {
  std::string kind;             ///< "kl": divergence in nats per sample; "error": relative error
  std::size_t num_samples = 0;  ///< the first of the data, on which losses are estimated
  /// The layers in codes that lose most, as indices of NetworkFigures::layers; at most three.
  std::vector<std::size_t> worst{};
};

struct NetworkFigures {
  std::string name;                    ///< of its file, without folders
  Inspection inspection;               ///< of the file
  std::vector<LayerFigures> layers{};  ///< of the simplified network, in order of execution
  std::vector<NodeFigures> nodes{};    ///< of the simplified network, in order of execution
  std::optional<compress::Evaluation> evaluation{};
  std::optional<Confusion> confusion{};         ///< of a classifier on data with labels
  std::optional<LossCauses> causes{};           ///< of the model, with data and a reference
  std::shared_ptr<const runtime::Plan> plan{};  ///< its kernels; null where no times were asked for
                                                ///< and it is not the model itself
  std::optional<runtime::Profile> profile{};    ///< of that plan, if times were asked for
};

/// The pixels of a sample, row by row.
struct SamplePicture {
  std::size_t width = 0;
  std::size_t height = 0;
  std::size_t channels = 1;  ///< 1: grey, 3: red, green, blue
  std::vector<std::uint8_t> pixels;
};

/// What makes a sample bad.
enum class SampleMeasure : std::uint8_t {
  kDivergence,    ///< sum p log(p / q) of the reference's probabilities p and the network's q
  kSquaredError,  ///< sum (y - z)^2 of the reference's outputs y and the network's z
  kLoss,          ///< -log of the label's probability
};
std::string to_string(SampleMeasure measure);

struct SampleFigures {
  std::size_t index = 0;
  double badness = 0;  ///< by the measure
  std::int64_t predicted = 0;
  std::optional<std::int64_t> reference_predicted{};
  std::optional<std::int64_t> label{};
  std::optional<SamplePicture> picture{};  ///< if the input is an image
};

struct ModelReport {
  NetworkFigures model;
  std::vector<NetworkFigures> beside{};
  std::optional<NetworkFigures> reference{};
  std::string data;                    ///< name of the data set, without folders; empty: none
  std::size_t num_samples = 0;         ///< of the data set
  std::vector<std::string> classes{};  ///< their names, from class 0; may be fewer, or none
  SampleMeasure measure = SampleMeasure::kDivergence;
  std::vector<SampleFigures> worst{};  ///< the worst first
  std::vector<std::string> missing{};  ///< what could not be shown, and why
};

/// Networks that a report shows beside its model.
inline constexpr std::size_t kMaxBeside = 4;

/// The networks of a report.
struct ReportedNetworks {
  const Network& model;
  const Network* reference = nullptr;    ///< the float network; null: none
  std::vector<const Network*> beside{};  ///< others to compare with, at most kMaxBeside
};

struct ModelReportOptions {
  compress::EvaluateSettings evaluation{};       ///< its progress is that of the whole work
  std::optional<std::size_t> samples_per_run{};  ///< of kernels and times, as in TimingSettings
  bool measures_times = false;
  double min_seconds = v0::kMeasureSeconds;   ///< measure at least this long
  std::size_t num_worst = v0::kWorstSamples;  ///< samples to list
  std::vector<std::string> classes{};         ///< names of the classes, from class 0; may be empty
};

/// Collects what is known of a network: from its file alone, more with data, most with a reference
/// too. Evaluations are those of evaluate(), times and kernels those of measure(). Apart from
/// times, the result does not depend on the number of threads or devices. Runs in one process.
/// Losses are those of all samples; extents, times and kernels are those of the size that most
/// samples have.
/// Size and format of a network that comes from no file are those of a .circle file.
/// @param data  null: none
/// @throws Error as evaluate(), measure() and compress::value_histograms(); kUsage if a batch is
///         given that the network does not take, or more than kMaxBeside networks
ModelReport report_model(const ReportedNetworks& networks, const data::Dataset* data,
                         const ModelReportOptions& options);

/// The names of classes in a text file in UTF-8, a line for each from class 0; blanks at the end of
/// a line do not count.
/// @throws Error kIo if it cannot be read; kFormat if it is empty or has a line without a name
std::vector<std::string> read_class_names(const std::filesystem::path& path);

struct ModelReportJob {
  std::filesystem::path model;
  std::filesystem::path reference{};  ///< empty: none
  std::vector<std::filesystem::path> beside{};
  std::filesystem::path classes{};  ///< read_class_names(); empty: none
  formats::ImportOptions import{};  ///< shapes and values for inputs
  std::optional<DataSource> data{};
  ModelReportOptions options{};
};

/// The same of files.
/// @throws Error as report_model(), load_all(), read_class_names() and DataSource::open()
ModelReport report_files(const ModelReportJob& job);

}  // namespace halftone
