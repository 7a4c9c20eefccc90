// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/worst_samples.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "halftone/base/elementary.h"
#include "halftone/compress/feed.h"
#include "halftone/ir/ops/traits.h"

namespace halftone {
namespace {

/// -log of the probability of a label.
/// @param are_probabilities  whether the scores are probabilities, else their softmax is; a single
///                           score is the probability of class 1
double label_loss(std::span<const float> scores, std::size_t label, bool are_probabilities) {
  // So that a probability of zero has a finite loss.
  constexpr double kLeast = std::numeric_limits<float>::min();
  if (scores.size() == 1) {
    const double one = scores[0];
    return -elementary::log(std::clamp(label == 1 ? one : 1 - one, kLeast, 1.0));
  }
  if (are_probabilities) return -elementary::log(std::max<double>(scores[label], kLeast));
  const double largest = *std::ranges::max_element(scores);
  double sum = 0;
  for (const float score : scores) sum += elementary::exp(score - largest);
  return largest + elementary::log(sum) - scores[label];
}

/// A stored image: extents and the order of its elements.
struct Image {
  std::size_t channels;
  std::size_t height;
  std::size_t width;
  bool channels_last;

  [[nodiscard]] std::size_t index(std::size_t c, std::size_t y, std::size_t x) const {
    return channels_last ? (y * width + x) * channels + c : (c * height + y) * width + x;
  }
};

std::optional<Image> image_of(const data::SampleShape& shape) {
  std::vector<std::size_t> extents = shape.extents;
  if (extents.size() == 3 && shape.layout == data::SampleLayout::kChw) {
    return Image{extents[0], extents[1], extents[2], false};
  }
  if (extents.size() == 3 && shape.layout == data::SampleLayout::kHwc) {
    return Image{extents[2], extents[0], extents[1], true};
  }
  std::erase(extents, std::size_t{1});
  // A row or a curve of numbers is no picture.
  constexpr std::size_t kLeastSide = 8;
  const bool is_flat = extents.size() == 2 && std::ranges::min(extents) >= kLeastSide;
  return is_flat ? std::optional(Image{1, extents[0], extents[1], false}) : std::nullopt;
}

/// The elements of a sample, in [0, 255].
std::vector<double> grey_levels(const data::Dataset& data, std::size_t sample) {
  const data::DatasetInput& input = data.inputs()[0];
  const std::size_t size = input.shape.num_elements();
  if (input.type == data::Scalar::kUInt8) {
    std::vector<std::int64_t> pixels(size);
    data.read_integers(0, sample, 1, pixels);
    return {pixels.begin(), pixels.end()};
  }
  std::vector<float> values(size);
  data.read(0, sample, 1, values);
  const auto [low, high] = std::ranges::minmax(values);
  const double range = double{high} - low;
  std::vector<double> levels;
  for (const float x : values) levels.push_back(range > 0 ? 255 * (double{x} - low) / range : 0);
  return levels;
}

}  // namespace

std::string to_string(SampleMeasure measure) {
  switch (measure) {
    case SampleMeasure::kDivergence:
      return "divergence";
    case SampleMeasure::kSquaredError:
      return "squared_error";
    case SampleMeasure::kLoss:
      break;
  }
  return "loss";
}

bool gives_probabilities(const ir::Graph& graph) {
  std::optional<ir::NodeId> producer = graph.producer(graph.outputs()[0]);
  while (producer) {
    const ir::Node& node = graph.node(*producer);
    if (const auto* softmax = std::get_if<ir::Softmax>(&node.op)) return !softmax->log;
    const bool keeps_numbers =
        ir::traits_of(node.op).pattern == ir::Pattern::kConvert || ir::permutes_elements(node.op);
    if (!keeps_numbers) return false;
    producer = graph.producer(node.inputs[0]);
  }
  return false;
}

SampleRanking::SampleRanking(const data::Dataset& data, const ir::Graph& graph,
                             const ir::Graph* reference)
    : data_(data), gives_probabilities_(gives_probabilities(graph)), samples_(data.size()) {
  if (reference == nullptr) return;
  const std::size_t batch =
      compress::make_feed(data.parts()[0], *reference).fixed_batch.value_or(1);
  loss_.emplace(*reference, data, compress::default_loss(*reference, data),
                compress::scores_per_sample(*reference, batch, "reference"));
  loss_->allow_rounding_of(graph);
}

SampleMeasure SampleRanking::measure() const {
  if (!loss_) return SampleMeasure::kLoss;
  return loss_->kind() == compress::LossKind::kDivergence ? SampleMeasure::kDivergence
                                                          : SampleMeasure::kSquaredError;
}

void SampleRanking::add(std::size_t sample, std::span<const float> scores,
                        std::span<const float> reference) {
  SampleFigures& figures = samples_[sample];
  figures.index = sample;
  figures.predicted = compress::predicted_class(scores);
  if (data_.has_labels()) figures.label = data_.label(sample);
  if (loss_) {
    figures.reference_predicted = compress::predicted_class(reference);
    figures.badness = loss_->of(sample, reference, scores).loss;
  } else if (figures.label) {
    figures.badness =
        label_loss(scores, static_cast<std::size_t>(*figures.label), gives_probabilities_);
  }
  // An answer that is no number is the worst.
  if (std::isnan(figures.badness)) figures.badness = std::numeric_limits<double>::infinity();
}

std::vector<SampleFigures> SampleRanking::worst(std::size_t count) const {
  std::vector<SampleFigures> result = samples_;
  std::ranges::stable_sort(
      result, [](const SampleFigures& a, const SampleFigures& b) { return a.badness > b.badness; });
  result.resize(std::min(count, result.size()));
  for (SampleFigures& sample : result) sample.picture = picture_of(data_, sample.index);
  return result;
}

std::optional<Confusion> SampleRanking::confusion() const {
  if (!data_.has_labels()) return std::nullopt;
  std::int64_t largest = 0;
  for (const SampleFigures& each : samples_) {
    largest = std::max({largest, each.predicted, each.label.value_or(0)});
  }
  Confusion found{static_cast<std::size_t>(largest) + 1, {}};
  found.counts.resize(found.num_classes * found.num_classes);
  for (const SampleFigures& each : samples_) {
    const auto label = static_cast<std::size_t>(each.label.value_or(0));
    ++found.counts[label * found.num_classes + static_cast<std::size_t>(each.predicted)];
  }
  return found;
}

std::optional<SamplePicture> picture_of(const data::Dataset& all, std::size_t sample) {
  auto part = all.parts().begin();
  for (; sample >= part->size(); ++part) sample -= part->size();
  const data::Dataset& data = *part;
  constexpr std::size_t kMaxSide = 64;
  const std::optional<Image> image = image_of(data.inputs()[0].shape);
  if (!image || (image->channels != 1 && image->channels != 3)) return std::nullopt;
  const std::vector<double> levels = grey_levels(data, sample);
  const std::size_t side = std::max(image->height, image->width);
  const std::size_t factor = (side + kMaxSide - 1) / kMaxSide;
  SamplePicture picture{std::max<std::size_t>(image->width / factor, 1),
                        std::max<std::size_t>(image->height / factor, 1),
                        image->channels,
                        {}};
  for (std::size_t y = 0; y < picture.height; ++y) {
    for (std::size_t x = 0; x < picture.width; ++x) {
      for (std::size_t c = 0; c < picture.channels; ++c) {
        double sum = 0;  // over the pixels that become one
        const std::size_t rows = std::min(factor, image->height - y * factor);
        const std::size_t cols = std::min(factor, image->width - x * factor);
        for (std::size_t i = 0; i < rows; ++i) {
          for (std::size_t j = 0; j < cols; ++j) {
            sum += levels[image->index(c, y * factor + i, x * factor + j)];
          }
        }
        picture.pixels.push_back(
            static_cast<std::uint8_t>(std::lround(sum / static_cast<double>(rows * cols))));
      }
    }
  }
  return picture;
}

}  // namespace halftone
