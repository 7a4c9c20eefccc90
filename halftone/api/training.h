// SPDX-License-Identifier: Apache-2.0
// Trains and distills networks. Link halftone::api_training, which needs libtorch, for the
// functions; the structs work without it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "halftone/accel/crossbar/network.h"
#include "halftone/api/data_source.h"
#include "halftone/api/network.h"
#include "halftone/compress/recipe.h"
#include "halftone/formats/options.h"
#include "halftone/train/options/student_options.h"
#include "halftone/train/options/train_options.h"

namespace halftone {

/// How a network learns.
struct TrainingSettings {
  train::LearnOptions options{};
  train::StudentOptions student{};
  /// Called once everything was read and checked, before the work starts.
  std::function<void()> on_start = nullptr;
};

/// How a student learns from its teachers.
struct DistillSettings {
  bool fresh = false;  ///< give the student, a float network, initial values
  /// Quantizes the student before it learns.
  /// nullopt: the student is trained as it is.
  std::optional<compress::Recipe> recipe{};
  /// From the front, for the quantization.
  std::size_t calibration_samples = v0::TeachingOptions{}.calibration;
  std::optional<std::uint64_t> memory_bytes{};  ///< as in compress::QuantizeSettings
  std::vector<train::Stage> stages{};           ///< in more bits, before those of the recipe
  /// The student's layers of bits see weights as arrays of this device represent them at the age
  /// device.seconds: freshly programmed in every step, with the seed of options and step. Rounding
  /// by converters and noise of single reads are left out. nullopt: as their codes.
  std::optional<crossbar::CrossbarDevice> crossbar{};
};

/// The common part of jobs that train.
struct TrainingJob : TrainingSettings {
  std::filesystem::path output;  ///< file to write
  DataSource data;
  formats::ImportOptions import{};  ///< shapes and values for inputs
};

/// A network to train on labels.
struct TrainJob {
  std::filesystem::path network;
  bool keeps_values = false;  ///< start from the values of the file, else from initial ones
  TrainingJob training{};
};

/// A network to train on the answers of teachers.
struct DistillJob : DistillSettings {
  std::vector<std::filesystem::path> teachers{};  ///< at least one; their answers are averaged
  std::filesystem::path student{};                ///< empty: the first teacher
  TrainingJob training{};
};

struct TrainReport {
  std::uintmax_t input_bytes = 0;   ///< of the network, student or teacher, with external data
  std::uintmax_t output_bytes = 0;  ///< of the file written
  double seconds = 0;
  std::vector<train::EpochResult> epochs{};
  std::optional<std::size_t> best{};  ///< epoch that was written, if there is a validation split
  bool has_teacher = false;  ///< whether agreement is with teachers, else it is the accuracy
  /// Whether stop_requested() ended the run. Then no file was written, and the checkpoint, if there
  /// is one, can resume it.
  bool interrupted = false;
  std::vector<crossbar::LayerUse> layers{};  ///< of the student, with DistillJob::crossbar
};

/// A network that was trained; not to be used if the report says that the run was interrupted.
struct Trained {
  ir::Graph graph;
  TrainReport report;  ///< its sizes of files are 0
};

/// Trains a float network on labels. The label weight of the options becomes 1. All ranks of the
/// devices call this.
/// @param keeps_values  start from the values of the network, else from initial ones
/// @throws Error kDevice if the device is missing; else as prepared(), train::check_training(),
///         train::with_initial_values() and train::train()
[[nodiscard]] Trained train_network(Network network, const data::Dataset& data, bool keeps_values,
                                    const TrainingSettings& settings);

/// Trains a student on the averaged answers of teachers; ranks as in train_network().
/// @param teachers  at least one
/// @param student   nullopt: the first teacher
/// @throws Error kUsage if there is no teacher, there are stages but no recipe, or the recipe
///         equalizes layers while features compare values; kUnsupported "student: no layer can be
///         mapped ..." if all layers stay digital on the crossbar; else as train_network(),
///         quantize(), crossbar::CrossbarDevice::check() and train::train_in_stages()
[[nodiscard]] Trained distill_network(std::vector<Network> teachers, std::optional<Network> student,
                                      const data::Dataset& data, const DistillSettings& how,
                                      const TrainingSettings& settings);

/// Trains a network of a file as train_network() does, and writes it. All ranks of the devices call
/// this; the first one writes the file, and only its report has the sizes of files.
/// @throws Error as train_network(), check_output(), load(), save() and data::open_dataset()
[[nodiscard]] TrainReport train_file(const TrainJob& job);

/// Distills teachers of files into a student as distill_network() does, and writes it; ranks as in
/// train_file().
/// @throws Error as distill_network() and train_file()
[[nodiscard]] TrainReport distill_files(const DistillJob& job);

}  // namespace halftone
