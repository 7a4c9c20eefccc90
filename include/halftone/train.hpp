// SPDX-License-Identifier: Apache-2.0
// Trains networks on labels, and students on the answers of teachers. Link Halftone::train.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "halftone/data.hpp"
#include "halftone/export.hpp"
#include "halftone/model.hpp"
#include "halftone/options.hpp"
#include "halftone/recipe.hpp"
#include "halftone/types/train.hpp"

namespace halftone {
HALFTONE_VERSIONED namespace v0 {
  /// How the learning rate changes.
  struct ScheduleOptions {
    std::string kind = "cosine";  ///< "constant", "cosine" or "step"
    std::vector<double> milestones{0.5,
                                   0.75};  ///< of "step": rising shares of the steps, in (0, 1)
    double decay = 0.1;                    ///< of "step", in (0, 1]
    double warm_up = 0;                    ///< epochs of linear increase from 0
  };

  /// Options that training and distilling share: those of `halftone train`, see docs/training.md.
  struct TrainOptions {
    std::size_t epochs = 1;
    std::size_t batch = 128;  ///< samples of a step, a multiple of parts
    std::size_t parts = 2;    ///< of a batch, which threads share; changes the bits of the result
    std::string optimizer = "adam";  ///< or "sgd"
    double rate = 1e-3;              ///< learning rate before the schedule
    double momentum = 0.9;           ///< Nesterov momentum of SGD
    double weight_decay = 0;
    double clip_grad_norm = 0;  ///< maximum norm of the gradient; 0: no clipping
    ScheduleOptions schedule{};
    /// Number systems of float weights and activations as layers multiply them, and of gradients
    /// with respect to layer outputs: "fp32", "bf16", "int8", "mxfp8_e4m3", ...
    std::string precision = "fp32";
    std::string gradient_format = "fp32";
    std::string gradient_rounding = "stochastic";  ///< or "nearest"
    double loss_scale = 1;   ///< a power of two that lifts gradients into the range of their format
    bool normalises = true;  ///< normalise the outputs of layers while they learn
    double freeze_from = 1;  ///< share of the steps after which layers are frozen in turn; 1: none
    bool flip = false;       ///< augment images: left to right, with probability 1/2
    std::size_t padding = 0;  ///< augment images: zeros around, of which a random window is kept
    std::uint64_t seed = 0;
    double validation_split = 0;  ///< share of validation samples; the seed selects them
    std::size_t patience = 0;     ///< stop after so many epochs without improvement; 0: never
    /// Where the run is saved, to be resumed; empty: nowhere.
    std::filesystem::path checkpoint{};
    double checkpoint_minutes = 10;  ///< between two saves; 0: before every step
    bool resume = false;             ///< continue from the checkpoint; if false, it must not exist
    bool cuda = false;               ///< compute on a CUDA device
    Resources resources{};
    /// Called after every epoch with all that are finished; may be empty.
    std::function<void(const std::vector<EpochResult>& epochs)> on_epoch{};
    /// May be empty. If it returns false, the run ends after its step, with a checkpoint if there
    /// is one: TrainResult::interrupted.
    Progress progress{};
  };

  /// What train() and distill() return.
  struct TrainResult {
    std::optional<Model> model{};  ///< nothing if interrupted
    std::vector<EpochResult> epochs;
    std::optional<std::size_t> best{};  ///< epoch whose network this is, with a validation split
    bool interrupted = false;
    double seconds = 0;
  };

  /// Trains a float network on labels.
  /// @param keeps_values  start from the values of the network, else from initial ones
  /// @throws Error kUsage if an option is out of range or there are no labels; kShape if the
  /// samples
  ///         do not fit; kUnsupported for operators without a gradient; kDevice without the device
  HALFTONE_CPP_API TrainResult train(const Model& model, const Data& samples,
                                     const TrainOptions& options = {}, bool keeps_values = false);

  /// For distill().
  struct DistillOptions {
    /// Quantizes the student before it learns; nullopt: it is trained as it is.
    std::optional<Recipe> recipe{};
    std::optional<Model> student{};          ///< nullopt: the first teacher
    bool fresh = false;                      ///< give the student, a float network, initial values
    std::size_t calibration_samples = 2000;  ///< from the front, for the quantization
    std::vector<Stage> stages{};
    double label_weight = 0;    ///< lambda in the loss, 0 to 1
    double temperature = 4;     ///< T > 0 of the softened outputs
    std::string loss = "auto";  ///< "kl": probabilities, "mse": scores, or "auto"
    std::vector<FeatureMatch> features{};
    std::filesystem::path
        teacher_cache{};              ///< file of the teachers' answers; made where it is missing
    std::string levels = "gradient";  ///< how bases learn: or "average", of closed forms
    double level_rate = 1;            ///< learning rate of levels, relative to that of training
    /// Crossbars whose cells the student's layers of bits learn with, as crossbar() takes them;
    /// empty: none. They are programmed anew in every step.
    std::string crossbar{};
    std::optional<double> crossbar_seconds{};            ///< as CrossbarOptions::seconds
    std::optional<std::uint64_t> sample_memory_bytes{};  ///< as in QuantizeOptions
    TrainOptions train{};
  };

  /// Trains a student on the averaged answers of teachers.
  /// @param teachers  at least one
  /// @throws Error as quantize() and train(); kUsage for stages without a recipe
  HALFTONE_CPP_API TrainResult distill(const std::vector<Model>& teachers, const Data& samples,
                                       const DistillOptions& options = {});

}  // namespace v0
}  // namespace halftone
