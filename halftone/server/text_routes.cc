// SPDX-License-Identifier: Apache-2.0
#include "halftone/server/text_routes.h"

#include <chrono>

#include "halftone/base/error.h"
#include "halftone/server/json_body.h"

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
