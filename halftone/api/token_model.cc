// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/token_model.h"

#include <algorithm>
#include <optional>
#include <string>

#include "halftone/api/cache_numbers.h"
#include "halftone/base/error.h"
#include "halftone/base/memory.h"
#include "halftone/base/parallel.h"
#include "halftone/lm/decode/decoder.h"
#include "halftone/lm/decode/ranks/rank_rows.h"
#include "halftone/lm/model/build.h"
#include "halftone/lm/model/open_model.h"

namespace halftone {
namespace {

/// Caches of long contexts take much memory: more than this is to be asked for.
constexpr std::size_t kUsualContext = 4096;

/// @throws Error kUsage
void check_sequences(std::size_t count) {
  constexpr std::size_t kMaxSequences = std::size_t{1} << 20;
  if (count >= 1 && count <= kMaxSequences) return;
  fail(ErrorKind::kUsage, "sequences: expected 1 to " + std::to_string(kMaxSequences) + ", found " +
                              std::to_string(count));
}

/// Bytes of the angles of all positions, and of the keys and values of all sequences.
std::size_t context_bytes(const lm::Description& d, std::size_t context,
                          const OpenOptions& options) {
  const std::size_t tables = d.positions == lm::Positions::kRotary ? d.rotary_dims * 4 : 0;
  const std::size_t ranks = options.ranks == nullptr ? 1 : options.ranks->num_ranks();
  const std::size_t bits = d.cache_width() * cache_bits(cache_named(options.cache));
  const std::size_t kept = bits / 8 / std::min(ranks, d.kv_heads);
  return context * (tables + kept * options.sequences);
}

bool uses_processor(const OpenOptions& options) {
  return options.device.empty() || options.device == "cpu";
}

lm::DecoderOptions decoder_options(const OpenOptions& options, const std::string& device) {
  return {.threads = options.threads != 0 ? options.threads : num_threads(),
          .execution = {.int8_activations = !options.float_activations,
                        .float_order = options.float_order},
          .device = device};
}

/// The files of a model and how it runs, of which decoders are made that share weights.
class ModelSource {
 public:
  /// @throws Error as open_token_model()
  ModelSource(std::filesystem::path path, const OpenOptions& options)
      : path_(std::move(path)),
        cache_(cache_named(options.cache)),
        model_(lm::open_model(path_, options.bits)),
        context_(options.context.value_or(0) != 0
                     ? *options.context
                     : std::min(kUsualContext, model_.description.context)),
        options_(options) {
    if (uses_processor(options)) require_memory_of(options.sequences);
    if (!options.lora.empty()) adapter_ = lm::Adapter::open(options.lora, model_.description);
  }

  [[nodiscard]] std::size_t trained_context() const { return model_.description.context; }
  lm::DecoderGraphs graphs() { return graphs(options_.sequences, false); }
  std::unique_ptr<lm::TokenModel> decoder(const std::string& device) {
    return decoder(graphs(), device);
  }
  /// @throws Error as open_token_model()
  std::unique_ptr<TextEmbedder> embedder() {
    const lm::Pooling pooling = lm::pooling_of(path_);
    return std::make_unique<TextEmbedder>(decoder(embedder_graphs(), ""), model_.description.width,
                                          pooling);
  }
  /// @throws Error kMemory if there is too little for their sequences
  lm::DecoderGraphs embedder_graphs() {
    require_memory_of(kEmbeddedTexts);
    return graphs(kEmbeddedTexts, true);
  }

 private:
  static constexpr std::size_t kEmbeddedTexts = 4;  ///< at once

  /// @throws Error kMemory if there is too little for the sequences
  void require_memory_of(std::size_t sequences) const {
    if (context_ > std::size_t{1} << 31) return;
    OpenOptions options = options_;
    options.sequences = sequences;
    require_memory(context_bytes(model_.description, context_, options),
                   path_.string() + ": a context of " + std::to_string(context_) + " tokens");
  }
  lm::DecoderGraphs graphs(std::size_t sequences, bool gives_rows) {
    return with_context(path_.string(), [&] {
      return lm::build_decoder(
          model_.description, model_.weights,
          {sequences, context_, cache_, adapter_ ? &*adapter_ : nullptr, &constants_, gives_rows});
    });
  }
  std::unique_ptr<lm::TokenModel> decoder(lm::DecoderGraphs graphs, const std::string& device) {
    lm::DecoderOptions options = decoder_options(options_, device);
    options.execution.packed_weights = packed_;
    return std::make_unique<lm::Decoder>(std::move(graphs), std::move(options));
  }

  std::filesystem::path path_;
  ir::CacheNumbers cache_;
  lm::ModelParts model_;
  std::size_t context_;
  OpenOptions options_;
  std::optional<lm::Adapter> adapter_;
  lm::SharedConstants constants_;
  std::shared_ptr<runtime::PackedWeights> packed_ =
      std::make_shared<runtime::PackedWeights>();  // shared by plans
};

/// This rank's part of a model; nothing if the first rank has left.
std::optional<lm::RankModel> open_part(const std::filesystem::path& path,
                                       const OpenOptions& options, std::size_t& trained_context) {
  const lm::DecoderOptions how = decoder_options(options, "");
  const auto make = [&] {
    if (options.device != "auto" && !uses_processor(options)) {
      fail(ErrorKind::kUnsupported,
           "device: ranks compute on their processors, found '" + options.device + "'");
    }
    ModelSource source(path, options);
    trained_context = source.trained_context();
    return source.graphs();
  };
  auto part =
      lm::open_on_ranks(options.ranks, make, {.threads = how.threads, .execution = how.execution});
  if (part) {
    part->rows->set_companion(
        [path, options] { return ModelSource(path, options).embedder_graphs(); });
  }
  return part;
}

OpenedTokenModel open_on_all_ranks(const std::filesystem::path& path, const OpenOptions& options) {
  OpenedTokenModel opened{.device = "cpu"};
  std::optional<lm::RankModel> part = open_part(path, options, opened.trained_context);
  lm::RankRows* const rows = part->rows.get();  // the model owns them
  opened.model = std::make_unique<lm::Decoder>(std::move(part->graphs),
                                               decoder_options(options, ""), std::move(part->rows));
  opened.open_embedder = [rows, path, options] {
    const lm::Pooling pooling = lm::pooling_of(path);
    const std::size_t width = lm::open_model(path).description.width;
    lm::RankModel rank = rows->open_companion();
    auto model = std::make_unique<lm::Decoder>(std::move(rank.graphs), decoder_options(options, ""),
                                               std::move(rank.rows));
    return std::make_unique<TextEmbedder>(std::move(model), width, pooling);
  };
  return opened;
}

}  // namespace

OpenedTokenModel open_on_chosen(const gpu::ChosenDevice& choice, const OpenOnDevice& open,
                                const std::function<void(const std::string&)>& say) {
  OpenedTokenModel opened{.device = choice.id};
  std::string reason = choice.reason;
  if (choice.id != "cpu") {
    try {
      opened.model = open(choice.id);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kUnsupported && error.kind() != ErrorKind::kDevice) throw;
      reason = choice.id + " does not run this model: " + error.what();
      opened.device = "cpu";
    }
  }
  if (opened.model == nullptr) opened.model = open("");
  if (say) say("device: " + opened.device + ": " + reason);
  return opened;
}

OpenedTokenModel open_token_model(const std::filesystem::path& path, const OpenOptions& options) {
  check_sequences(options.sequences);
  if (options.ranks != nullptr) return open_on_all_ranks(path, options);
  const auto source = std::make_shared<ModelSource>(path, options);  // kept for embedders
  const auto open = [&](const std::string& device) { return source->decoder(device); };
  OpenedTokenModel opened;
  if (options.device == "auto") {
    opened = open_on_chosen(gpu::choose_device(), open, options.on_device);
  } else {
    const std::string device = uses_processor(options) ? "" : options.device;
    opened = {.model = open(device), .device = device.empty() ? "cpu" : device};
  }
  opened.trained_context = source->trained_context();
  opened.open_embedder = [source] { return source->embedder(); };
  return opened;
}

void follow_model(const std::filesystem::path& path, const OpenOptions& options) {
  std::size_t trained_context = 0;
  if (const auto part = open_part(path, options, trained_context)) part->rows->follow();
}

}  // namespace halftone
