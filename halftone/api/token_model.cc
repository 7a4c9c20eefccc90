// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/token_model.h"

#include <algorithm>
#include <optional>
#include <string>

#include "halftone/base/error.h"
#include "halftone/base/memory.h"
#include "halftone/base/parallel.h"
#include "halftone/lm/decode/decoder.h"
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

/// @throws Error kUsage "cache: expected 'float32', 'float16' or 'int8', found 'int4'"
ir::CacheNumbers cache_named(const std::string& name) {
  for (const auto each :
       {ir::CacheNumbers::kFloat32, ir::CacheNumbers::kFloat16, ir::CacheNumbers::kInt8}) {
    if (name == to_string(each)) return each;
  }
  fail(ErrorKind::kUsage, "cache: expected 'float32', 'float16' or 'int8', found '" + name + "'");
}

/// Bytes of the angles of all positions, and of the keys and values of all sequences.
std::size_t context_bytes(const lm::Description& d, std::size_t context,
                          const OpenOptions& options) {
  const std::size_t number = options.cache == "float32" ? 4 : options.cache == "float16" ? 2 : 1;
  const std::size_t tables = d.positions == lm::Positions::kRotary ? d.rotary_dims * 4 : 0;
  const std::size_t kept = d.cache_width() * number;
  return context * (tables + kept * options.sequences);
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
  const ir::CacheNumbers cache = cache_named(options.cache);
  const lm::ModelParts model = lm::open_model(path);
  const std::size_t context = options.context.value_or(0) != 0
                                  ? *options.context
                                  : std::min(kUsualContext, model.description.context);
  const bool uses_processor = options.device.empty() || options.device == "cpu";
  if (context <= std::size_t{1} << 31 && uses_processor) {
    require_memory(context_bytes(model.description, context, options),
                   path.string() + ": a context of " + std::to_string(context) + " tokens");
  }
  std::optional<lm::Adapter> adapter;
  if (!options.lora.empty()) adapter = lm::Adapter::open(options.lora, model.description);
  const auto open = [&](const std::string& device) -> std::unique_ptr<lm::TokenModel> {
    lm::DecoderGraphs graphs = with_context(path.string(), [&] {
      return lm::build_decoder(model.description, model.weights,
                               {options.sequences, context, cache, adapter ? &*adapter : nullptr});
    });
    const int threads = options.threads != 0 ? options.threads : num_threads();
    return std::make_unique<lm::Decoder>(
        std::move(graphs),
        lm::DecoderOptions{.threads = threads,
                           .execution = {.int8_activations = !options.float_activations,
                                         .float_order = options.float_order},
                           .device = device});
  };
  OpenedTokenModel opened;
  if (options.device == "auto") {
    opened = open_on_chosen(gpu::choose_device(), open, options.on_device);
  } else {
    opened = {.model = open(uses_processor ? "" : options.device),
              .device = uses_processor ? "cpu" : options.device};
  }
  opened.trained_context = model.description.context;
  return opened;
}

}  // namespace halftone
