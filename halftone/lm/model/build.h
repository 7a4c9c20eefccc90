// SPDX-License-Identifier: Apache-2.0
// The graphs of a language model.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "halftone/ir/ops/sequence.h"
#include "halftone/lm/model/adapter.h"
#include "halftone/lm/model/decoder_graphs.h"
#include "halftone/lm/model/description.h"
#include "halftone/lm/model/weights.h"

namespace halftone::lm {

/// Constants by name, which several graphs share.
using SharedConstants = std::map<std::string, std::shared_ptr<const ir::Constant>>;

struct BuildOptions {
  std::size_t sequences = 1;  ///< that the states hold
  std::size_t context = 0;    ///< tokens of a sequence at most; 0: as many as the description says
  ir::CacheNumbers cache = ir::CacheNumbers::kFloat32;  ///< how keys and values are kept
  const Adapter* adapter = nullptr;                     ///< changes matrices; null: none
  SharedConstants* constants = nullptr;  ///< shared with other graphs of the model; null: none
  /// The head gives the rows behind the final norm in place of logits, with zeros behind them as
  /// far as logits go.
  bool gives_rows = false;
};

/// The graphs that lm::Decoder runs. The final norm is in the head. Weights are float32 constants
/// with the names of the file, those of a tied table shared by both.
/// @throws Error kUsage for a context that the positions of the model do not reach, or no
///         sequences; as Weight::decode()
DecoderGraphs build_decoder(const Description& description, const Weights& weights,
                            const BuildOptions& options = {});

/// The same network on whole samples, without states, as fitting reads it: the body maps "ids",
/// int32 [N, tokens], to hidden rows [N, tokens, d], the head maps these to logits. Token t of a
/// sample sees tokens 0 to t.
/// @param tokens  of a sample
/// @throws Error as build_decoder()
DecoderGraphs build_samples(const Description& description, const Weights& weights,
                            std::size_t tokens);

/// The input of matrices: rows that one or several of them multiply.
struct ProductInput {
  std::size_t output = 0;  ///< of the graph, which gives these rows
  std::vector<WeightId> matrices{};
  /// What each of the matrices gives, with its bias, before a function; kAbsent if the part ends
  /// before it.
  std::vector<ir::ValueId> products{};
};

/// A part of a model on whole samples, as fitting reads it.
struct SamplePart {
  ir::Graph graph;
  std::vector<ProductInput> inputs;
};

/// The embedding alone: "ids", int32 [N, tokens], to the rows that the first block reads: hidden
/// rows [N, tokens, d], wider if blocks have inputs of their own.
/// @throws Error as build_samples()
ir::Graph build_sample_embedding(const Description& description, const Weights& weights,
                                 std::size_t tokens);
/// What follows from rows of the embedding, as build_sample_embedding() gives it, but for what
/// tables add to the inputs of blocks: hidden rows "rows" [N, tokens, d] to the rows that the first
/// block reads.
/// @throws Error as build_samples()
SamplePart build_sample_start(const Description& description, const Weights& weights,
                              std::size_t tokens);
/// One block: rows "rows" to those that the next block reads, output 0: hidden rows [N, tokens, d],
/// behind them the inputs of the remaining blocks and the keys and values that they share. The
/// matrices of experts
/// appear as expert 0: those of gate and up have the rows of all experts as input, those of down
/// [N, tokens, active experts, inner].
/// @throws Error as build_samples()
SamplePart build_sample_block(const Description& description, const Weights& weights,
                              std::size_t tokens, std::size_t block);
/// The final norm: hidden rows "rows" to what the head multiplies, the only output.
/// @throws Error as build_samples()
SamplePart build_sample_head(const Description& description, const Weights& weights,
                             std::size_t tokens);
/// The final norm and the head: hidden rows "rows" to logits, output 0. Rows do not see each other.
/// @throws Error as build_samples()
SamplePart build_sample_logits(const Description& description, const Weights& weights,
                               std::size_t tokens);

}  // namespace halftone::lm
