// SPDX-License-Identifier: Apache-2.0
#include "halftone/server/text_routes.h"

#include <bit>
#include <chrono>
#include <optional>

#include "halftone/base/base64.h"
#include "halftone/base/error.h"
#include "halftone/server/json_body.h"
#include "halftone/server/request_members.h"

namespace halftone::server {
namespace {

Json model_json(const TextService& service) {
  static const auto kStart = std::chrono::duration_cast<std::chrono::seconds>(
                                 std::chrono::system_clock::now().time_since_epoch())
                                 .count();
  return {{"id", service.name()},
          {"object", "model"},
          {"created", kStart},
          {"owned_by", "halftone"},
          {"max_model_len", service.model().model().context()},
          {"has_chat_template", service.has_chat_template()}};
}

bool flag(const Json& request, const char* name, bool otherwise) {
  const Json value = request.value(name, Json(otherwise));
  if (!value.is_boolean()) {
    throw RequestError(400, std::string(name) + ": expected a boolean", name);
  }
  return value.get<bool>();
}

/// Runs `work`; an error of a model or its tokenizer is the fault of a member.
template <typename Work>
auto blame(const char* member, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    throw RequestError(400, error.what(), member);
  }
}

constexpr std::size_t kMaxEmbedded = 2048;  // as OpenAI has it

std::string_view bytes_of(const std::vector<float>& values) {
  static_assert(std::endian::native == std::endian::little);
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

/// The tokens of what is to be embedded.
std::vector<std::vector<lm::TokenId>> embedded_texts(const TextModel& model,
                                                     const std::optional<Json>& input) {
  if (!input) internal::fail_member("input", "a text, tokens, or a list of these");
  std::vector<std::vector<lm::TokenId>> texts;
  for (const Prompt& prompt : prompts_of(*input, "input", kMaxEmbedded)) {
    texts.push_back(blame("input", [&] {
      if (const auto* tokens = std::get_if<std::vector<lm::TokenId>>(&prompt)) return *tokens;
      return model.tokenize(std::get<std::string>(prompt));
    }));
  }
  return texts;
}

}  // namespace

std::string list_models(TextService& service, std::string_view /*none*/) {
  return dump({{"object", "list"}, {"data", Json::array({model_json(service)})}});
}

std::string describe_model(TextService& service, std::string_view name) {
  service.check_name(std::string(name));
  return dump(model_json(service));
}

std::string report_health(TextService& service, std::string_view /*none*/) {
  if (service.is_draining()) throw RequestError(503, "the server is about to end", {}, "ending");
  const lm::ServeCounts counts = service.counts();
  return dump({{"status", "ok"}, {"running", counts.running}, {"waiting", counts.waiting}});
}

std::string report_metrics(TextService& service, std::string_view /*none*/) {
  return service.metrics().text(service.counts());
}

std::string embeddings(TextService& service, std::string_view body) {
  Json request = parse_body(body);
  service.check_name(internal::take_text(request, "model"));
  const std::string format = internal::take_text(request, "encoding_format");
  if (!format.empty() && format != "float" && format != "base64") {
    internal::fail_member("encoding_format", "float or base64");
  }
  const std::size_t dimensions =
      internal::take_count(request, "dimensions", 1, 1 << 24).value_or(0);
  const auto texts = embedded_texts(service.model(), internal::take(request, "input"));
  const auto vectors = blame(dimensions == 0 ? "input" : "dimensions",
                             [&] { return service.embed(texts, dimensions); });
  Json data = Json::array();
  for (const std::vector<float>& each : vectors) {
    // Numbers of float32 in their shortest form, or their bytes, the lowest first.
    Json embedding = format == "base64" ? Json(to_base64(bytes_of(each))) : Json(each);
    data.push_back(
        {{"object", "embedding"}, {"index", data.size()}, {"embedding", std::move(embedding)}});
  }
  std::size_t tokens = 0;
  for (const auto& text : texts) tokens += text.size();
  return dump({{"object", "list"},
               {"data", std::move(data)},
               {"model", service.name()},
               {"usage", {{"prompt_tokens", tokens}, {"total_tokens", tokens}}}});
}

std::string tokenize(TextService& service, std::string_view body) {
  const Json request = parse_body(body);
  const char* name = request.contains("content") ? "content" : "prompt";
  const Json text = request.value(name, Json());
  if (!text.is_string()) throw RequestError(400, std::string(name) + ": expected a text", name);
  const lm::EncodeOptions options{.begin = flag(request, "add_special", true),
                                  .control = flag(request, "parse_special", false)};
  const std::vector<lm::TokenId> tokens = blame(
      name, [&] { return service.model().tokenize(text.get_ref<const std::string&>(), options); });
  return dump({{"tokens", tokens},
               {"count", tokens.size()},
               {"max_model_len", service.model().model().context()}});
}

std::string detokenize(TextService& service, std::string_view body) {
  const Json request = parse_body(body);
  const Json tokens = request.value("tokens", Json());
  const bool is_good =
      tokens.is_array() && std::all_of(tokens.begin(), tokens.end(), [](auto& t) {
        return t.is_number_unsigned() && t.template get<std::uint64_t>() < 1U << 31U;
      });
  if (!is_good) throw RequestError(400, "tokens: expected a list of tokens", "tokens");
  return dump({{"content", blame("tokens", [&] {
                  return service.model().detokenize(tokens.get<std::vector<lm::TokenId>>());
                })}});
}

}  // namespace halftone::server
