// SPDX-License-Identifier: Apache-2.0
// How networks learn: options, epochs, stages, and features to match.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "halftone/export.hpp"
#include "halftone/types/resources.hpp"

namespace halftone {
HALFTONE_VERSIONED namespace v0 {
  /// A finished epoch.
  struct EpochResult {
    double loss = 0;       ///< mean over the samples
    double agreement = 0;  ///< share of samples that agree with the teachers, or else the labels
    std::optional<double> validation_accuracy{};
    double rate = 0;  ///< learning rate of the last step
    double seconds = 0;
  };

  /// A stage in more bits, before those of the recipe.
  struct Stage {
    int bits = 8;
    std::size_t epochs = 1;

    bool operator==(const Stage& other) const = default;
  };

  /// A value of the first teacher and the student's value that should match it, by name.
  struct FeatureMatch {
    std::string teacher;
    std::string student;
    double weight = 1;  ///< in the loss; above 0
  };

  /// Options that training and distilling share: those of `halftone train`, see docs/training.md.
  /// Ranges and words that are allowed stand there and in the reference of Python.
  struct TrainOptions {
    std::size_t epochs = 1;
    std::size_t batch = 128;  ///< samples of a step, a multiple of parts
    std::size_t parts = 2;    ///< of a batch, which threads share; changes the bits of the result
    std::string optimizer = "adam";  ///< or "sgd"
    double learning_rate = 1e-3;     ///< before the schedule
    double momentum = 0.9;           ///< Nesterov momentum of SGD
    double weight_decay = 0;
    double clip_grad_norm = 0;                  ///< maximum norm of the gradient; 0: no clipping
    std::string schedule = "cosine";            ///< of the learning rate: or "constant", "step"
    std::vector<double> milestones{0.5, 0.75};  ///< of "step": rising shares of the steps
    double schedule_decay = 0.1;                ///< of "step", in (0, 1]
    double warmup_epochs = 0;                   ///< of linear increase from 0
    /// Number systems of float weights and activations as layers multiply them, and of gradients
    /// with respect to layer outputs: "fp32", "bf16", "int8", "mxfp8_e4m3", ...
    std::string precision = "fp32";
    std::string gradient_format = "fp32";
    std::string gradient_rounding = "stochastic";  ///< or "nearest"
    double loss_scale = 1;   ///< a power of two that lifts gradients into the range of their format
    bool batch_norm = true;  ///< normalise the outputs of layers while they learn
    double freeze_from = 1;  ///< share of the steps after which layers are frozen in turn; 1: none
    bool flip = false;       ///< augment images: left to right, with probability 1/2
    std::size_t crop = 0;    ///< augment images: zeros around, of which a random window is kept
    std::uint64_t seed = 0;
    double validation_split = 0;  ///< share of validation samples; the seed selects them
    std::size_t patience = 0;     ///< stop after so many epochs without improvement; 0: never
    /// Where the run is saved, to be resumed; empty: nowhere.
    std::filesystem::path checkpoint{};
    double checkpoint_minutes = 10;  ///< between two saves; 0: before every step
    bool resume = false;             ///< continue from the checkpoint; if false, it must not exist
    std::string device = "cpu";      ///< or "cuda"
    Resources resources{};
    /// Called after every epoch with all that are finished; may be empty.
    std::function<void(const std::vector<EpochResult>& epochs)> on_epoch{};
    /// May be empty. If it returns false, the run ends after its step, with a checkpoint if there
    /// is one: TrainResult::interrupted.
    Progress progress{};
  };

  /// What students learn from teachers, and how.
  struct TeachingOptions {
    bool fresh = false;              ///< give the student, a float network, initial values
    std::size_t calibration = 2000;  ///< samples from the front, for the quantization
    std::vector<Stage> stages{};
    double label_weight = 0;    ///< lambda in the loss, 0 to 1
    double temperature = 4;     ///< T > 0 of the softened outputs
    std::string loss = "auto";  ///< "kl": probabilities, "mse": scores, or "auto"
    std::vector<FeatureMatch> features{};
    std::filesystem::path teacher_cache{};  ///< of the teachers' answers; made where it is missing
    std::string levels = "gradient";        ///< how bases learn: or "average", of closed forms
    double level_rate_factor = 1;           ///< learning rate of levels, relative to learning_rate
    /// Crossbars whose cells the student's layers of bits learn with, as crossbar() takes them;
    /// empty: none. They are programmed anew in every step.
    std::string crossbar{};
    std::optional<double> crossbar_seconds{};            ///< as CrossbarOptions::seconds
    std::optional<std::uint64_t> sample_memory_bytes{};  ///< as in QuantizeOptions
  };

}  // namespace v0
}  // namespace halftone
