// SPDX-License-Identifier: Apache-2.0
// What may be wrong with the samples that a model is fitted to.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "halftone/lm/quantize/samples.h"

namespace halftone::lm {

/// A text of which samples were taken.
struct SampleText {
  std::string name;
  std::size_t characters = 0;
  std::size_t tokens = 0;
};

/// Samples as a model sees them.
struct MeasuredSamples {
  const Samples& samples;
  std::span<const SampleText> texts;  ///< one at least
  std::span<const double> losses;     ///< SampleWalk::losses()
};

/// Means of the losses, in nats per token.
struct SampleLosses {
  double fit = 0;
  double held_out = 0;  ///< 0 without such samples
};
SampleLosses mean_losses(const MeasuredSamples& measured);

/// If there are fewer rows than a matrix has inputs, their second moments are singular: in some
/// directions errors seem to cost nothing.
/// @param inputs  of the widest matrix that is fitted
/// @param matrix  its name
std::vector<std::string> warn_of_few_tokens(const Samples& samples, std::size_t inputs,
                                            const std::string& matrix);

/// A fit to few documents, or to one stretch of a text, is worth less for other texts. A line for
/// each of these:
///  - samples to fit that are four times as many as their documents, or more;
///  - samples to fit of which three quarters adjoin: see Samples::adjoining.
std::vector<std::string> warn_of_narrow_samples(const Samples& samples);

/// One line for each of these:
///  - a text whose mean loss is not below the entropy of its own tokens' frequencies: the model
///    predicts it no better than if it ignored what comes before a token;
///  - a text of fewer characters than tokens: the tokenizer knows bytes of its characters only;
///  - a text whose loss differs from the other ones', or samples held out whose loss differs from
///    that of those to fit, by more than a nat and three standard errors. Errors come from the
///    variance of samples within texts.
std::vector<std::string> warn_of_strange_texts(const MeasuredSamples& measured);

}  // namespace halftone::lm
